"""Apply rules to a graph: which answers they reach for a batch of queries, and along how many paths.

The queries of each relation are cut into chunks. A chunk is what one thread works on, and it bounds memory.
Chunks do not depend on the number of threads, and neither do results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.budget import check_time
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads, map_ordered
from rnnlogic.base.types import Feature, Recent
from rnnlogic.data.graph import Graph
from rnnlogic.features.aggregates import Fold, folds_of
from rnnlogic.features.base import (
    NO_CUTS,
    Batch,
    Budget,
    Items,
    Rows,
    default_budget,
    find_items,
    joined,
    may_cut,
    zeros,
)
from rnnlogic.features.kernels import group_by_candidate, score_candidates
from rnnlogic.features.sources import ReadySources, counts_paths
from rnnlogic.features.table import Candidates, Scored, codes_of
from rnnlogic.rules.ruleset import RuleSet

CHUNK_QUERIES = 64  # queries of one relation that share a pass over its trie
CHUNK_RESULTS = 1 << 24  # (query, entity, rule) results of one chunk at most, unless one query alone has more


@dataclass(frozen=True, eq=False)
class Columns:
    """One row for each (query, entity, rule) with a grounding, in no particular order."""

    query: NDArray[np.int64]
    entity: NDArray[np.int32]
    rule: NDArray[np.int64]
    count: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Grounding:
    """Walk counts of all rules of one relation for a chunk of queries, rule by rule.

    For query `queries[q]`, rule `rules[k]` reaches entity[ptr[i] : ptr[i + 1]] with i = k * len(queries) + q.
    """

    relation: int
    queries: NDArray[np.int64]  # [q] positions in the batch
    heads: NDArray[np.int32]  # [q]
    ids: NDArray[np.int64]  # [k] ids of the relation's rules, ascending
    place: NDArray[np.int64]  # [k] position of each grounded rule among them
    ptr: NDArray[np.int64]  # [k*q+1]
    entity: NDArray[np.int32]  # [n]
    count: NDArray[Any]  # [n] paths, or the value of a feature
    counts_paths: NDArray[np.bool_]  # [rules of the relation] whether `count` is a number of paths
    num_entities: int
    cuts: NDArray[np.int64] = field(default_factory=lambda: NO_CUTS)  # [3] what the budget left out
    folds: Sequence[Fold] = ()  # the aggregates among the rules of the relation

    def __len__(self) -> int:
        return len(self.entity)

    @property
    def rules(self) -> NDArray[np.int64]:
        """Ids [k] of the grounded rules, in the order of `ptr`."""
        return self.ids[self.place]

    @property
    def _rows(self) -> Rows:
        return Rows(self.place, self.ptr, self.entity, self.count)

    def columns(self) -> Columns:
        """The results as rows (query, entity, rule, count)."""
        cell = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        width = max(len(self.queries), 1)
        return Columns(self.queries[cell % width], self.entity, self.rules[cell // width], self.count)

    def candidates(self, answers: NDArray[np.int32] | None = None) -> Candidates:
        """The results by candidate answer; none for queries that do not reach their answer, if it is told."""
        asked = np.empty(0, np.int32) if answers is None else answers
        with zeros("size", self.num_entities, np.int64) as size:
            query, entity, ptr, rule, count = group_by_candidate(self._rows, len(self.queries), asked, size)
        return Candidates(
            self.relation,
            self.queries,
            self.heads,
            np.searchsorted(query, np.arange(len(self.queries) + 1)).astype(np.int64),
            entity,
            ptr,
            rule,
            count,
            self.ids,
            self.counts_paths,
            folds=self.folds,
        )

    def scored(self, weights: NDArray[np.float64], feature: Feature) -> Scored:
        """Sum of weight [rules of the whole set] times feature over the rules, for every candidate."""
        code = codes_of(self.counts_paths[self.place], feature)
        told = weights[self.rules], code, len(self.queries)
        with (
            zeros("score", self.num_entities) as sums,
            zeros("reached", self.num_entities, np.bool_) as reached,
        ):
            ptr, entity, values = score_candidates(self._rows, *told, sums, reached)
        return Scored(self.queries, ptr, entity, values, self.cuts)


class _Ready(NamedTuple):
    """The rules of one relation, prepared for grounding."""

    ids: NDArray[np.int64]  # [k] ascending
    sources: ReadySources
    folds: list[Fold]  # the aggregates among the rules
    counts_paths: NDArray[np.bool_]  # [k]


class Grounder:
    """Rules prepared for one graph.

    A query is (head, relation, ?) with relation in 0..2R-1. In training, `hidden` gives the answer whose fact
    (head, relation, hidden) is hidden in both directions while its own query is grounded; -2 - answer
    hides all links between head and answer, by any relation. On large graphs a budget bounds the work of a
    query; counts are then right on average. Which walks count as paths is up to the graph (`path_kind`).
    """

    def __init__(
        self,
        graph: Graph,
        rules: RuleSet,
        threads: int | None = None,
        chunk_queries: int = CHUNK_QUERIES,
        chunk_results: int = CHUNK_RESULTS,
        budget: Budget | None = None,
    ) -> None:
        used = max(rules.heads.max(initial=0), rules.body.max(initial=0))
        if used >= 2 * graph.num_relations:
            raise RNNLogicError(
                f"rules use relation id {used}; the graph has {2 * graph.num_relations} with inverses"
            )
        if max(rules.kinds.constant.max(initial=-1), rules.kinds.other.max(initial=-1)) >= graph.num_entities:
            raise RNNLogicError(
                f"rules with constants name entities beyond the {graph.num_entities:,} of the graph"
            )
        attributes = 0 if graph.values is None else len(graph.values)
        if max(rules.kinds.of_x.max(initial=-1), rules.kinds.of_y.max(initial=-1)) >= attributes:
            raise RNNLogicError(f"rules use attributes beyond the {attributes:,} of the graph")
        self.graph, self.rules = graph, rules
        self.threads = threads or default_threads()
        self._chunk_results = chunk_results
        self._chunk_queries = chunk_queries
        budget = budget or default_budget(graph)
        self.budget = budget if budget is not None and may_cut(budget, graph) else None
        self._ready: Recent[_Ready] = Recent(2 * graph.num_relations)
        self.last_question: Recent[Candidates | None] = Recent(1)  # by head and relation
        self._items: Items | None = None  # found when they are first needed

    def ground(
        self, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Grounding]:
        """Exact counts of paths, a chunk of queries of one relation at a time, in a fixed order.

        `relations` and `hidden` may be one number for all queries; relations without rules yield no chunk.
        """
        batches = self.batches(heads, relations, hidden)
        for parts in map_ordered(_ground, batches, self, self.threads, _results, self._chunk_results):
            yield from parts

    def scores(
        self,
        heads: ArrayLike,
        relations: ArrayLike,
        weights: ArrayLike,
        hidden: ArrayLike | None = None,
        feature: Feature = "count",
    ) -> Iterator[Scored]:
        """Sum over rules of weight [rules] times feature for all candidates, a chunk of queries at a time."""
        rule_weights = np.asarray(weights, np.float64)
        if rule_weights.shape != (len(self.rules),) or not np.isfinite(rule_weights).all():
            raise ValueError(f"weights must be {len(self.rules)} finite numbers")
        batches, shared = self.batches(heads, relations, hidden), (self, rule_weights, feature)
        for parts in map_ordered(_score, batches, shared, self.threads, _candidates, self._chunk_results):
            yield from parts

    def candidates(
        self, heads: ArrayLike, relation: int, hidden: ArrayLike | None = None
    ) -> Iterator[Candidates]:
        """The results for queries of one relation by candidate answer, a chunk of queries at a time."""
        return (part.candidates() for part in self.ground(heads, relation, hidden))

    def ready(self, relation: int) -> _Ready:
        """The rules of a relation as a trie; built once."""
        return self._ready.get(relation, lambda: self._prepare(relation))

    def _prepare(self, relation: int) -> _Ready:
        ids = self.rules.by_head(relation)
        rules = self.rules[ids]
        weighed: Feature | None = None if self.graph.weights is None else "count"
        sources = ReadySources.of(self.graph, relation, rules, self._found_items, self.budget)
        return _Ready(ids, sources, folds_of(self.rules, ids, weighed), counts_paths(rules))

    def _found_items(self) -> Items:
        self._items = self._items or find_items(self.graph.likely)
        return self._items

    def batches(self, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None) -> list[Batch]:
        """The queries in units of work for `ground_batch`, large ones first."""
        head = np.atleast_1d(np.asarray(heads, np.int32))
        relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
        answer = np.broadcast_to(np.asarray(-1 if hidden is None else hidden, np.int32), head.shape)
        self._check(head, relation)
        batches = []
        order = np.argsort(relation, kind="stable")
        for block in np.split(order, np.flatnonzero(np.diff(relation[order])) + 1):
            if len(block) == 0 or len(self.rules.by_head(int(relation[block[0]]))) == 0:
                continue
            self.ready(int(relation[block[0]]))
            for start in range(0, len(block), self._chunk_queries):
                part = block[start : start + self._chunk_queries]
                batches.append(Batch(part, int(relation[part[0]]), head[part], answer[part]))
        # Large batches first, so that no thread is left alone with one at the end.
        batches.sort(key=lambda batch: -len(batch.positions) * len(self.rules.by_head(batch.relation)))
        return batches

    def _check(self, head: NDArray[np.int32], relation: NDArray[np.int64]) -> None:
        if len(head) and not (head.min() >= 0 and head.max() < self.graph.num_entities):
            raise ValueError(f"heads must lie in 0..{self.graph.num_entities - 1}")
        if len(head) and not (relation.min() >= 0 and relation.max() < 2 * self.graph.num_relations):
            raise ValueError(f"relations must lie in 0..{2 * self.graph.num_relations - 1}")

    def ground_batch(self, batch: Batch) -> list[Grounding]:
        """Ground one batch; split it in halves if it has too many results."""
        check_time()
        ready, entities = self.ready(batch.relation), self.graph.num_entities
        parts = ready.sources.rows(batch, self._chunk_results)
        if parts is None:
            return [part for half in batch.halves() for part in self.ground_batch(half)]
        for fold in list(ready.folds):
            taking_part = [rows for rows in parts if (fold.strength[rows.place] > 0).any()]
            parts = [*parts, fold.rows(joined(taking_part), len(batch.heads), entities)]
        rows = joined(parts)
        return [
            Grounding(
                batch.relation,
                batch.positions,
                batch.heads,
                ready.ids,
                rows.place,
                rows.ptr,
                rows.entity,
                rows.value,
                ready.counts_paths,
                entities,
                rows.cuts,
                ready.folds,
            )
        ]


def _ground(grounder: Grounder, batch: Batch) -> list[Grounding]:
    return grounder.ground_batch(batch)


def _score(shared: tuple[Grounder, NDArray[np.float64], Feature], batch: Batch) -> list[Scored]:
    grounder, weights, feature = shared
    return [part.scored(weights, feature) for part in grounder.ground_batch(batch)]


def _results(parts: list[Grounding]) -> int:
    return sum(map(len, parts))


def _candidates(parts: list[Scored]) -> int:
    return sum(len(part.entity) for part in parts)
