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
from rnnlogic.features.base import Answers, Batch, Ids, Mask, Place, Rows, Source, Stage
from rnnlogic.features.chains import kernels
from rnnlogic.features.chains.sampling import kernels as sampled
from rnnlogic.features.chains.scratch import zeros
from rnnlogic.features.chains.trie import Trie, build_trie, turning_steps
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
        dtype = _count_dtype(place.graph, steps, place.budget is None)
        return ReadyChains(place, trie, turning_steps(trie, place.graph), dtype, (steps >= 0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class ReadyChains:
    """The chains of one relation on one graph."""

    place: Place
    trie: Trie
    may_turn: Mask  # [nodes] where a simple path could step straight back
    dtype: np.dtype[Any]  # wide enough for every count; float64 if no integer type is
    length: Ids  # [bodies] steps of each

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """Numbers of paths; exact, or right on average where there is a budget."""
        del answers
        places, dtype = self.place.place[self.trie.body], self.dtype
        if self.place.budget is not None:
            entity, count, ptr, cuts = self._count_within(batch, most)
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

    def _count_within(
        self, batch: Batch, most: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        graph, budget = self.place.graph, self.place.budget
        assert budget is not None
        queries = (batch.heads, batch.hidden, batch.relation, self.place.inverse)
        with zeros("sums", graph.num_entities) as sums:
            return sampled.ground_within(
                graph.arrays, self.trie, *queries, sums, most, *self._rules_of_paths(), budget
            )

    def _count(
        self, batch: Batch, dtype: np.dtype[Any], most: int
    ) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
        graph = self.place.graph
        queries = batch.heads, batch.hidden, batch.relation, self.place.inverse
        with zeros("sums", graph.num_entities, dtype) as sums:
            how = most, *self._rules_of_paths(), graph.weights
            return kernels.ground_counts(graph.arrays, self.trie, *queries, sums, *how)

    def _rules_of_paths(self) -> tuple[bool, Mask]:
        """Whether paths are simple, and at which nodes of the trie they could step straight back."""
        return self.place.graph.path_kind == "simple", self.may_turn

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
