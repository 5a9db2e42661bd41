"""Questions of one relation, grounded: candidates by the full model, and what its rules reach."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.grounding.candidates import Candidates
from rnnlogic.grounding.ground import Grounder
from rnnlogic.learning.compact.kernels import add_hashes, by_column
from rnnlogic.learning.compact.types import Columns, Floats, Grounded, Ids, Teacher


def grounded_heads(
    grounder: Grounder,
    relation: int,
    heads: NDArray[np.int32],
    teacher: Teacher,
    looked_at: NDArray[np.bool_],
    hidden: NDArray[np.int32] | None = None,
    most_results: int | None = None,
    most_candidates: int | None = None,
) -> Grounded:
    """Candidates of heads [q], scored by the full model, and what the rules looked at reach.

    Heads are taken in the order given until `most_results` (query, entity, rule) results are held. With
    `most_candidates`, known answers are left out and only so many others of each query are held: the best
    ones, and for the rest a sample that stands for it. Facts of heads and `hidden` [q] tails are hidden.
    """
    own = np.full(len(heads), -1, np.int32) if hidden is None else hidden
    ids = teacher.rules.by_head(relation)
    place = np.full(len(ids), -1, np.int32)
    place[looked_at] = np.arange(int(looked_at.sum()))
    hashes = np.zeros(int(looked_at.sum()), np.uint64)
    parts: list[_Part] = []
    results, used = 0, len(heads)
    for found in grounder.candidates(heads, relation, own):
        whole = _part(found, teacher, own, place, hashes)
        parts.append(whole if most_candidates is None else _thinned(whole, most_candidates, teacher.seed))
        results += len(parts[-1].rule)
        if most_results is not None and results >= most_results:
            used = int(found.queries[-1]) + 1
            break
    return _joined(parts, heads[:used], hashes)


class _Part(NamedTuple):
    query: NDArray[np.int64]  # [c]
    entity: NDArray[np.int32]  # [c]
    score: Floats  # [c]
    rest: Floats  # [c] the part of the score that no rule adds
    is_known: NDArray[np.bool_]  # [c] by training facts
    stands_for: Floats  # [c]
    size: NDArray[np.int64]  # [c] rules looked at that reach the candidate
    rule: NDArray[np.int32]  # [n] place among the rules looked at
    value: NDArray[np.float32]  # [n]


def _part(
    found: Candidates,
    teacher: Teacher,
    hidden: NDArray[np.int32],
    place: NDArray[np.int32],
    hashes: NDArray[np.uint64],
) -> _Part:
    """A chunk of queries, grounded; adds to the hashes [rules looked at]."""
    value, phi, query = teacher.values.features(found), teacher.values.phi(found), found.query
    value = value if phi is None else value * phi
    of = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
    added = teacher.weights[found.rule_id] * value
    rest = _rest(found, teacher)
    score = rest + np.bincount(of, added, minlength=len(found))
    rule = place[found.rule]
    head = np.repeat(found.heads, np.diff(found.query_ptr)).astype(np.int64)
    key = head * teacher.graph.num_entities + found.entity
    add_hashes(found.candidate_ptr, rule, _counts(found, teacher), key, hashes)
    kept = rule >= 0
    size = np.bincount(of[kept], minlength=len(found.entity))
    is_known = _are_facts(teacher.graph, found.relation, key) & (found.entity != hidden[query])
    many = np.ones(len(found.entity))
    values = value[kept].astype(np.float32)
    return _Part(query, found.entity, score, rest, is_known, many, size, rule[kept], values)


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
    hashes = np.zeros(len(teacher.rules.by_head(relation)), np.uint64)
    for found in grounder.candidates(heads, relation):
        head = np.repeat(found.heads, np.diff(found.query_ptr)).astype(np.int64)
        key = head * teacher.graph.num_entities + found.entity
        add_hashes(found.candidate_ptr, found.rule.astype(np.int32), _counts(found, teacher), key, hashes)
    return hashes


def _counts(found: Candidates, teacher: Teacher) -> Ids:
    """Walks [n], as far as the feature tells them apart."""
    is_binary, count = teacher.values.feature == "binary", found.count
    if count.dtype.kind == "f":  # with named evidence, whose values are negative fractions
        whole = np.ones(len(count)) if is_binary else count
        return np.where(count < 0, count * 2.0**20, whole).astype(np.int64)
    return np.ones(len(found.rule), np.int64) if is_binary else count.astype(np.int64)


def _thinned(part: _Part, most: int, seed: int) -> _Part:
    """Without known answers; of each query the best half of `most`, and a sample that stands for the rest."""
    luck = np.random.default_rng([seed, int(part.query[0]) if len(part.query) else 0]).random(len(part.query))
    unknown = np.flatnonzero(~part.is_known)
    by_score = unknown[np.lexsort((-part.score[unknown], part.query[unknown]))]
    is_rest = _place_in_query(part.query[by_score]) >= most // 2
    rest = by_score[is_rest]
    rest = rest[np.lexsort((luck[rest], part.query[rest]))]
    sampled = rest[_place_in_query(part.query[rest]) < most - most // 2]
    many = np.zeros(len(part.query))
    many[by_score[~is_rest]] = 1.0
    in_all = np.bincount(part.query[rest], minlength=int(part.query.max(initial=0)) + 1)
    held = np.bincount(part.query[sampled], minlength=len(in_all))
    many[sampled] = (in_all / np.maximum(held, 1))[part.query[sampled]]
    return _held(part._replace(stands_for=many), many > 0)


def _place_in_query(query: NDArray[np.int64]) -> Ids:
    """0, 1, 2, ... within each run of the same query [c]."""
    start = np.flatnonzero(np.diff(query, prepend=-1))
    return np.arange(len(query)) - np.repeat(start, np.diff(np.append(start, len(query))))


def _held(part: _Part, keep: NDArray[np.bool_]) -> _Part:
    """Only some of the candidates [c]."""
    results = np.repeat(keep, part.size)
    return _Part(
        part.query[keep],
        part.entity[keep],
        part.score[keep],
        part.rest[keep],
        part.is_known[keep],
        part.stands_for[keep],
        part.size[keep],
        part.rule[results],
        part.value[results],
    )


def _joined(parts: list[_Part], heads: NDArray[np.int32], hashes: NDArray[np.uint64]) -> Grounded:
    if not parts:
        nothing = np.zeros(0, np.int64)
        ones = np.ones(0)
        ids, values = nothing.astype(np.int32), ones.astype(np.float32)
        parts = [_Part(nothing, ids, ones, ones, ones > 0, ones, nothing, ids, values)]
    query, entity, score, rest, _, many, size, rule, value = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    query_ptr = np.searchsorted(query, np.arange(len(heads) + 1)).astype(np.int64)
    columns = Columns(*by_column(_ptr(size), rule, value, len(hashes)))
    return Grounded(heads, query_ptr, entity, score, rest, many, columns, hashes)


def _ptr(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def query_of(query_ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """The query of each candidate [c]."""
    return np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))


def known_candidates(graph: Graph, relation: int, grounded: Grounded) -> NDArray[np.bool_]:
    """Which candidates [c] are answers by the facts of a graph."""
    heads = grounded.heads[query_of(grounded.query_ptr)].astype(np.int64)
    return _are_facts(graph, relation, heads * graph.num_entities + grounded.entity)


def _are_facts(graph: Graph, relation: int, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs, given as head * E + tail [c], are facts of a relation."""
    heads, tails = graph.edges(relation)
    facts = heads.astype(np.int64) * graph.num_entities + tails  # ascending
    if not len(facts):
        return np.zeros(len(keys), bool)
    are_facts: NDArray[np.bool_] = facts[np.minimum(np.searchsorted(facts, keys), len(facts) - 1)] == keys
    return are_facts
