"""Chains as a source: the numbers of paths along their bodies.

Where facts have weights, a path counts the product of the weights of its facts. Within a budget, on very
large graphs, every path counts 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.graph import WEIGHT_BITS, Graph
from rnnlogic.features.base import Answers, Batch, Ids, Mask, Place, Rows, Source, Stage, zeros
from rnnlogic.features.chains import kernels
from rnnlogic.features.chains.kernels import Trie
from rnnlogic.rules.ruleset import RuleSet


class Chains(Source):
    """All chains of a relation, in one trie."""

    stage = Stage.REACHES
    counts_paths = True
    weighs_facts = True

    def owns(self, rules: RuleSet) -> Mask:
        """The chains."""
        return rules.are_chains

    def on(self, place: Place) -> ReadyChains:
        """The trie of the bodies."""
        steps = place.rules.steps(np.arange(len(place.rules)))
        trie = build_trie(steps)
        paths = kernels.Paths(place.graph.path_kind == "simple", turning_steps(trie, place.graph))
        dtype = _count_dtype(place.graph, steps, place.budget is None)
        return ReadyChains(place, trie, paths, dtype, (steps >= 0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class ReadyChains:
    """The chains of one relation on one graph."""

    place: Place
    trie: Trie
    paths: kernels.Paths
    dtype: np.dtype[Any]  # wide enough for every count; float64 if no integer type is
    length: Ids  # [bodies] steps of each

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """Numbers of paths; exact, or right on average where there is a budget."""
        del answers
        places, dtype = self.place.place[self.trie.body], self.dtype
        if self.place.budget is not None:
            with zeros("sums", self.place.graph.num_entities) as sums:
                entity, count, ptr, cuts = kernels.ground_within(
                    self.place.graph.arrays, self.trie, batch, sums, most, self.paths, self.place.budget
                )
            return Rows(places, ptr, entity, count, cuts) if len(ptr) else None
        if dtype == np.float64:
            self._refuse_overflow(batch, most)
            dtype = np.dtype(np.int64)
        entity, count, ptr = self._count(batch, dtype, most)
        if self.place.graph.weights is not None and len(ptr):
            # One unit for each step
            steps = np.repeat(self.length[self.trie.body], np.diff(ptr[:: len(batch.heads)]))
            count = np.ldexp(count.astype(np.float64), -WEIGHT_BITS * steps)
        return Rows(places, ptr, entity, count) if len(ptr) else None

    def _count(
        self, batch: Batch, dtype: np.dtype[Any], most: int
    ) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
        graph = self.place.graph
        with zeros("sums", graph.num_entities, dtype) as sums:
            return kernels.ground_counts(
                graph.arrays, self.trie, batch, sums, most, self.paths, graph.weights
            )

    def _refuse_overflow(self, batch: Batch, most: int) -> None:
        for q in range(len(batch.heads)):
            one = Batch(
                batch.positions[q : q + 1], batch.relation, batch.heads[q : q + 1], batch.hidden[q : q + 1]
            )
            _, count, _ = self._count(one, np.dtype(np.float64), most)
            if count.max(initial=0) >= 2.0**62:
                raise RNNLogicError(
                    f"a rule of relation id {batch.relation} has more than 2^62 grounding paths from entity "
                    f"id {one.heads[0]}: use shorter rules"
                )


def _count_dtype(graph: Graph, steps: NDArray[np.int32], is_exact: bool) -> np.dtype[Any]:
    bounds = _count_bounds(graph, steps)
    if graph.weights is not None and is_exact:
        units = np.ldexp(bounds, WEIGHT_BITS * (steps >= 0).sum(axis=1))
        return np.dtype(np.int64 if units.max(initial=0) < 1 << 62 else np.float64)
    largest = bounds.max(initial=0)
    return np.dtype(np.int32 if largest < 1 << 31 else np.int64 if largest < 1 << 62 else np.float64)


def _count_bounds(graph: Graph, steps: NDArray[np.int32]) -> NDArray[np.float64]:
    """Upper bounds [n] on the walks along bodies [n, longest] between two entities, by largest degrees."""
    out_degree = np.append(graph.max_degree, 1).astype(np.float64)  # -1, after the end, changes nothing
    in_degree = np.append(np.roll(graph.max_degree, graph.num_relations), 1).astype(np.float64)
    to_one, in_all = np.ones(len(steps)), np.ones(len(steps))  # walks to any one entity, to all entities
    for relation in steps.T:
        to_one, in_all = np.minimum(to_one * in_degree[relation], in_all), in_all * out_degree[relation]
    return to_one


def build_trie(steps: NDArray[np.int32]) -> Trie:
    """Trie of distinct bodies: relation ids [bodies, longest], -1 after the end of a body."""
    order = np.lexsort(steps.T[::-1]) if steps.size else np.arange(len(steps))
    rows = steps[order]
    length = (rows >= 0).sum(axis=1)
    shared = _shared_prefixes(rows, length)
    if len(again := rows[1:][(rows[1:] == rows[:-1]).all(axis=1)]):
        raise ValueError(f"body {tuple(again[0][again[0] >= 0].tolist())} is given twice")
    new = length - shared  # nodes that a body adds to those before it
    last = np.cumsum(new)  # the node that each body ends in
    row = np.repeat(np.arange(len(rows)), new)
    position = np.arange(len(row)) - np.repeat(last - new, new) + shared[row]
    depth = np.append(0, position + 1).astype(np.int32)
    ends = np.full(len(depth), -1, np.int32)
    ends[last] = np.arange(len(rows))
    relation = np.append(-1, rows[row, position]).astype(np.int32)
    return Trie(relation, depth, _subtree_ends(depth), ends, order.astype(np.int64))


def turning_steps(trie: Trie, graph: Graph) -> NDArray[np.bool_]:
    """At which nodes [nodes] a simple path could step straight back; none if walks are counted.

    From x to y and back to x: then the step before and the inverse of the step both join x to y. The first
    two steps could only step back to the head, which simple paths never enter again.
    """
    is_deep = trie.depth > 2
    if graph.path_kind == "walks" or not is_deep.any():
        return np.zeros(len(trie.depth), np.bool_)
    last = np.zeros((int(trie.depth.max()) + 1, len(trie.depth)), np.int64)  # latest node of each depth
    for depth in range(len(last)):
        last[depth] = np.maximum.accumulate(np.where(trie.depth == depth, np.arange(len(trie.depth)), 0))
    parent = last[np.maximum(trie.depth - 1, 0), np.arange(len(trie.depth))]
    relations = 2 * graph.num_relations
    back = (trie.relation.astype(np.int64) + graph.num_relations) % relations
    return is_deep & np.isin(trie.relation[parent].astype(np.int64) * relations + back, graph.linked_alike)


def _shared_prefixes(rows: NDArray[np.int32], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many first steps each row [n] shares with the row before; 0 for the first."""
    same = np.logical_and.accumulate(rows[1:] == rows[:-1], axis=1).sum(axis=1)
    return np.append(np.zeros(min(len(rows), 1), np.int64), np.minimum(same, length[:-1]))


def _subtree_ends(depth: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each node in preorder the index of the next node that is not deeper."""
    after = np.empty(len(depth), np.int32)
    for level in range(int(depth.max()) + 1):
        not_deeper = np.append(np.flatnonzero(depth <= level), len(depth))
        own = np.flatnonzero(depth[not_deeper[:-1]] == level)
        after[not_deeper[own]] = not_deeper[own + 1]
    return after
