"""What the student is asked and what it shall answer; questions of one relation, grounded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.features.kernels import held_results
from rnnlogic.features.table import Candidates
from rnnlogic.fit.compact.types import Columns, Floats, Grounded, Ids, Imitation, Teacher
from rnnlogic.predictors.loglinear.kernels import held_candidates

VALUE = 1 << 62  # a bit that tells the value of a feature from every number of paths


def sampled_heads(teacher: Teacher, relation: int) -> NDArray[np.int32]:
    """Entities to ask about: all, or a random sample in which those with facts of the relation come first."""
    rng = np.random.default_rng([teacher.seed, relation, 2])
    has_facts = np.zeros(teacher.graph.num_entities, bool)
    has_facts[teacher.graph.edges(relation)[0]] = True
    heads = [rng.permutation(np.flatnonzero(has_facts)), rng.permutation(np.flatnonzero(~has_facts))]
    return np.concatenate(heads)[: teacher.settings.queries_per_relation].astype(np.int32)


def is_functional(graph: Graph, relation: int) -> bool:
    """Whether most facts of the relation are the only ones of their head."""
    facts = np.bincount(graph.edges(relation)[0])
    return 2 * int((facts == 1).sum()) > int(facts.sum())


class Questions(NamedTuple):
    """What the student is asked: heads, and the answers that are hidden meanwhile (-1: none)."""

    heads: NDArray[np.int32]  # [q]
    hidden: NDArray[np.int32]  # [q]
    weights: Floats  # [q]


def questions(teacher: Teacher, relation: int) -> Questions:
    """Questions like those to be answered later.

    Mostly these are about heads with further answers: heads, nothing hidden. But if a head has one answer as
    a rule, or an answer one head, then what is not known is hardly ever true: training facts, each hidden.
    """
    if not any(is_functional(teacher.graph, r) for r in (relation, teacher.graph.inverse(relation))):
        heads = sampled_heads(teacher, relation)
        return Questions(heads, np.full(len(heads), -1, np.int32), head_weights(teacher, relation, heads))
    heads, tails = teacher.graph.edges(relation)
    rng = np.random.default_rng([teacher.seed, relation, 2])
    picked = rng.permutation(len(heads))[: teacher.settings.queries_per_relation]
    return Questions(heads[picked], tails[picked], np.ones(len(picked)))


def head_weights(teacher: Teacher, relation: int, heads: NDArray[np.int32]) -> Floats:
    """How much each head [q] counts: more if it has facts of the relation, as those are asked about."""
    facts = np.bincount(teacher.graph.edges(relation)[0], minlength=teacher.graph.num_entities)
    return teacher.settings.unasked + np.sqrt(facts[heads])


def imitation(teacher: Teacher, weights: Floats, grounded: Grounded) -> Imitation:
    """What the student learns: the full model's distribution over candidates, none of them known already."""
    query, many = query_of(grounded.query_ptr), grounded.multiplicity
    weights = np.where(np.diff(grounded.query_ptr) < 2, 0.0, weights[: len(grounded.heads)])  # 1: trivial
    weights /= max(weights.sum(), 1e-300)
    share = softmax(grounded.query_ptr, teacher.settings.temperature * grounded.score + np.log(many))
    return Imitation(grounded.query_ptr, share * weights[query], many, grounded.rest, grounded.columns)


def softmax(query_ptr: NDArray[np.int64], scores: Floats) -> Floats:
    """Softmax of scores [c] within each query."""
    query = query_of(query_ptr)
    highest = np.full(len(query_ptr) - 1, -np.inf)
    np.maximum.at(highest, query, scores)
    odds = np.exp(scores - highest[query])
    share: Floats = odds / np.bincount(query, odds, minlength=len(query_ptr) - 1)[query]
    return share


def without_twins(
    hashes: NDArray[np.uint64], lengths: Ids, pinned: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Mask [k] of the rules that reach something, and not exactly what a shorter or earlier one reaches.

    Pinned rules stay anyway, so others make way for them.
    """
    gives_way = np.zeros(len(lengths), bool) if pinned is None else ~pinned
    order = np.lexsort((np.arange(len(lengths)), lengths, gives_way))
    first = order[np.unique(hashes[order], return_index=True)[1]]
    mask = np.zeros(len(lengths), bool)
    mask[first] = True
    mask &= hashes != 0
    return mask


class Most(NamedTuple):
    """How much is held; None: everything."""

    results: int | None = None  # (query, entity, rule) in all
    candidates: int | None = None  # of each query: none that is known, the best, and a sample of the others


ALL = Most()


def grounded_heads(
    grounder: Grounder,
    relation: int,
    heads: NDArray[np.int32],
    teacher: Teacher,
    looked_at: NDArray[np.bool_],
    hidden: NDArray[np.int32] | None = None,
    most: Most = ALL,
) -> Grounded:
    """Candidates of heads [q], scored by the full model, and what the rules looked at reach.

    Heads are taken in the order given until enough results are held. Facts of heads and `hidden` [q] tails
    are hidden.
    """
    most_results, most_candidates = most
    own = np.full(len(heads), -1, np.int32) if hidden is None else hidden
    ids = teacher.rules.by_head(relation)
    place = np.full(len(ids), -1, np.int32)
    place[looked_at] = np.arange(int(looked_at.sum()))
    hashes = np.zeros(len(ids), np.uint64)
    parts: list[_Part] = []
    results, used = 0, len(heads)
    for found in grounder.candidates(heads, relation, own):
        if most_candidates is not None:  # only questions are searched for twins
            _add_hashes(found, teacher, hashes)
        parts.append(_part(found, teacher, own, place, most_candidates))
        results += len(parts[-1].rule)
        if most_results is not None and results >= most_results:
            used = int(found.queries[-1]) + 1
            break
    return _joined(parts, heads[:used], hashes[looked_at])


class _Part(NamedTuple):
    query: NDArray[np.int64]  # [c]
    entity: NDArray[np.int32]  # [c]
    score: Floats  # [c]
    rest: Floats  # [c] the part of the score that no rule adds
    multiplicity: Floats  # [c]
    size: NDArray[np.int64]  # [c] rules looked at that reach the candidate
    rule: NDArray[np.int32]  # [n] place among the rules looked at
    value: NDArray[np.float32]  # [n]


def _keys(found: Candidates, teacher: Teacher) -> Ids:
    """head * E + tail of each candidate [c]."""
    head = np.repeat(found.heads, np.diff(found.query_ptr)).astype(np.int64)
    return head * teacher.graph.num_entities + found.entity


def _part(
    found: Candidates,
    teacher: Teacher,
    hidden: NDArray[np.int32],
    place: NDArray[np.int32],
    most: int | None,
) -> _Part:
    """A chunk of queries, grounded: all candidates, or at most so many of each query, none of them known."""
    value, phi = teacher.values.features(found), teacher.values.phi(found)
    value = value if phi is None else value * phi
    rest = _rest(found, teacher)
    score = rest.copy()
    candidate = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
    np.add.at(score, candidate, teacher.weights[found.rule_id] * value)
    many = np.ones(len(found)) if most is None else _sampled(found, teacher, hidden, score, most)
    held = np.flatnonzero(many)
    ptr, rule, kept = held_results(found.candidate_ptr, found.rule, value, held, place)
    columns = found.query[held], found.entity[held], score[held], rest[held], many[held]
    return _Part(*columns, np.diff(ptr), rule, kept)


def _sampled(
    found: Candidates, teacher: Teacher, hidden: NDArray[np.int32], score: Floats, most: int
) -> Floats:
    """How many candidates of their query each one [c] stands for; 0 if it is known or left out."""
    is_known = _are_facts(teacher.graph, found.relation, _keys(found, teacher))
    is_known &= found.entity != hidden[found.query]
    first = int(found.queries[0]) if len(found) else 0
    luck = np.random.default_rng([teacher.seed, first]).random(len(found))
    return held_candidates(found.query_ptr, score, ~is_known, luck, most // 2, most - most // 2)


def _rest(found: Candidates, teacher: Teacher) -> Floats:
    """The part of the score [c] that no rule adds."""
    rows = None if teacher.rest is None else teacher.rest(teacher.graph, found.heads, found.relation)
    if rows is None:
        return np.zeros(len(found.entity))
    query = np.repeat(np.arange(len(found.heads)), np.diff(found.query_ptr))
    rest: Floats = rows[query, found.entity]
    return rest


def reach_hashes(
    grounder: Grounder, relation: int, heads: NDArray[np.int32], teacher: Teacher
) -> NDArray[np.uint64]:
    """Hashes [k] of what the rules of a relation reach from heads, nothing hidden."""
    hashes = np.zeros(len(grounder.rules.by_head(relation)), np.uint64)
    for found in grounder.candidates(heads, relation):
        _add_hashes(found, teacher, hashes)
    return hashes


def _add_hashes(found: Candidates, teacher: Teacher, hashes: NDArray[np.uint64]) -> None:
    """Add to hashes [k], the same for rules with the same candidates and counts."""
    size = np.diff(found.candidate_ptr)
    mixed = np.repeat(_mixed(_keys(found, teacher).astype(np.uint64)), size)
    odd = np.uint64(2) * _counts(found, teacher).astype(np.uint64) + np.uint64(1)
    np.add.at(hashes, found.rule, mixed * odd)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random (the end of splitmix64)."""
    x = numbers * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _counts(found: Candidates, teacher: Teacher) -> Ids:
    """Walks [n], as far as the feature tells them apart."""
    is_binary, count = teacher.values.feature == "binary", found.count
    if teacher.graph.weights is not None:  # numbers of paths are fractions, too
        return (count * 2.0**24).astype(np.int64) | np.where(found.counts_paths[found.rule], 0, VALUE)
    if count.dtype.kind == "f":  # with values of features, which are fractions
        paths = np.ones(len(count)) if is_binary else count
        fractions = (count * 2.0**20).astype(np.int64) | VALUE
        return np.where(found.counts_paths[found.rule], paths.astype(np.int64), fractions)
    return np.ones(len(found.rule), np.int64) if is_binary else count.astype(np.int64)


def _joined(parts: list[_Part], heads: NDArray[np.int32], hashes: NDArray[np.uint64]) -> Grounded:
    if not parts:
        nothing = np.zeros(0, np.int64)
        ones = np.ones(0)
        ids, values = nothing.astype(np.int32), ones.astype(np.float32)
        parts = [_Part(nothing, ids, ones, ones, ones, nothing, ids, values)]
    query, entity, score, rest, many, size, rule, value = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    query_ptr = np.searchsorted(query, np.arange(len(heads) + 1)).astype(np.int64)
    columns = _columns(np.append(0, np.cumsum(size)), rule, value, len(hashes))
    return Grounded(heads, query_ptr, entity, score, rest, many, columns, hashes)


def _columns(
    candidate_ptr: Ids, rule: NDArray[np.int32], value: NDArray[np.float32], num_rules: int
) -> Columns:
    """Results ordered by candidate turned into results ordered by rule."""
    from scipy.sparse import csr_array

    shape = len(candidate_ptr) - 1, num_rules
    turned = csr_array((value, rule, candidate_ptr), shape=shape).tocsc()
    return Columns(turned.indptr.astype(np.int64), turned.indices.astype(np.int32), turned.data)


def query_of(query_ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """The query of each candidate [c]."""
    return np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))


def _are_facts(graph: Graph, relation: int, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs, given as head * E + tail [c], are facts of a relation."""
    heads, tails = graph.edges(relation)
    facts = heads.astype(np.int64) * graph.num_entities + tails  # ascending
    if not len(facts):
        return np.zeros(len(keys), bool)
    are_facts: NDArray[np.bool_] = facts[np.minimum(np.searchsorted(facts, keys), len(facts) - 1)] == keys
    return are_facts
