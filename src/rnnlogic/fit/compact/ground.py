"""Questions of one relation, grounded: candidates by the full model, and what its rules reach."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.features.kernels import held_results
from rnnlogic.features.table import Candidates
from rnnlogic.fit.compact.kernels import (
    add_hashes,
    by_column,
    sample_candidates,
    score_results,
)
from rnnlogic.fit.compact.types import Columns, Floats, Grounded, Ids, Teacher

VALUE = 1 << 62  # a bit that tells the value of a feature from every number of paths


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
            add_hashes(
                found.candidate_ptr, found.rule, _counts(found, teacher), _keys(found, teacher), hashes
            )
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
    score_results(found.candidate_ptr, found.rule, value, teacher.weights[found.ids], score)
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
    return sample_candidates(found.query_ptr, score, is_known, luck, most)


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
        add_hashes(found.candidate_ptr, found.rule, _counts(found, teacher), _keys(found, teacher), hashes)
    return hashes


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
