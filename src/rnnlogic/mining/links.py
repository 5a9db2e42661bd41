"""Links between the ends of facts: how common they are, and for which training queries they are hidden.

Whether head and answer are linked by other facts can say much, or only how a dataset was made: no validation
fact of FB15k-237 has a pair that a training fact links, but 38 of 100 training facts have. So the links of
some training queries are hidden, until the answers of the others are linked as often as those of
validation facts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Queries
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.rules.features import of_groups
from rnnlogic.rules.ruleset import RuleSet

SHRINKAGE = 10.0  # validation facts that the share of the whole graph counts for in that of a relation


def hidden_of(rules: RuleSet, graph: Graph, valid: Triples, queries: Queries, seed: int) -> NDArray[np.int32]:
    """What is hidden of each training query [n] while rules are applied to it.

    Its own fact; if rules say what links between its ends mean, all of these for some queries.
    """
    if not any(rules.are_feature(name).any() for name in of_groups({"exclusions"})):
        return np.ascontiguousarray(queries[:, 2])
    return hidden_answers(graph, valid, queries, seed)


def hidden_answers(graph: Graph, valid: Triples, queries: Queries, seed: int) -> NDArray[np.int32]:
    """What is hidden of each training query [n]: its own fact, or all links of its ends (-2 - answer)."""
    pairs, times = _pairs(graph.triples(), graph.num_entities)
    linked = _times(queries, pairs, times, graph.num_entities) > 1
    relation = queries[:, 1] % graph.num_relations
    hide = _shares_to_hide(graph, valid, pairs, times)[relation]
    # Both queries of a fact are treated alike, whatever others there are.
    chance = _luck(queries, graph, seed)
    return np.where(linked & (chance < hide), -2 - queries[:, 2], queries[:, 2]).astype(np.int32)


def _shares_to_hide(
    graph: Graph, valid: Triples, pairs: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each relation [R], the share of its linked training facts whose links must be hidden."""
    train, size = graph.triples(), graph.num_relations
    in_train = _times(train, pairs, times, graph.num_entities) > 1
    in_valid = _times(valid, pairs, times, graph.num_entities) > 0
    linked, facts = np.bincount(train[in_train, 1], minlength=size), np.bincount(train[:, 1], minlength=size)
    share = linked / np.maximum(facts, 1)
    asked = np.bincount(valid[:, 1], minlength=size)
    expected = float(share[valid[:, 1]].sum())  # linked validation facts, if they were like training facts
    ratio = min(1.0, float(in_valid.sum()) / expected) if expected > 0 else 1.0
    found = np.bincount(valid[in_valid, 1], minlength=size)
    likely = (found + SHRINKAGE * ratio * share) / (asked + SHRINKAGE)
    return np.clip(1.0 - likely / np.maximum(share, 1e-12), 0.0, 1.0)


def _pairs(facts: Triples, num_entities: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of entities that facts link, ascending, and how many facts link each."""
    return np.unique(_keys(facts, num_entities), return_counts=True)


def _times(
    facts: Triples, pairs: NDArray[np.int64], times: NDArray[np.int64], num_entities: int
) -> NDArray[np.int64]:
    """How many facts link the ends of each fact [n]."""
    if not len(pairs):
        return np.zeros(len(facts), np.int64)
    keys = _keys(facts, num_entities)
    place = np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)
    return np.where(pairs[place] == keys, times[place], 0)


def _keys(facts: Triples, num_entities: int) -> NDArray[np.int64]:
    """One number for each pair of ends, whichever way round."""
    low, high = np.minimum(facts[:, 0], facts[:, 2]), np.maximum(facts[:, 0], facts[:, 2])
    return low.astype(np.int64) * num_entities + high


def _luck(queries: Queries, graph: Graph, seed: int) -> NDArray[np.float64]:
    """A number in 0..1 for each query, the same for both queries of a fact."""
    keys = _keys(queries, graph.num_entities).astype(np.uint64)
    relation = (queries[:, 1] % graph.num_relations).astype(np.uint64)
    mixed = keys + (relation + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    luck: NDArray[np.float64] = (mixed ^ (mixed >> np.uint64(31))) / 2.0**64
    return luck
