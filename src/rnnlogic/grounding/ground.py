"""Apply rules to a graph: which answers they reach for a batch of queries, and over how many paths.

Queries are taken by relation in chunks; a chunk is the unit of work of one thread, and of memory. Chunks do
not depend on the number of threads, and neither do results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads, in_order
from rnnlogic.data.graph import Graph
from rnnlogic.grounding import kernels
from rnnlogic.grounding.features import FEATURE_CODES, Feature
from rnnlogic.grounding.trie import Trie, build_trie
from rnnlogic.rules.ruleset import RuleSet

CHUNK_QUERIES = 64  # queries of one relation that share a pass over its trie
CHUNK_RESULTS = 1 << 24  # (query, entity, rule) results of one chunk at most, unless one query alone has more


@dataclass(frozen=True, eq=False)
class Candidates:
    """Answers reached, ascending by query and entity, each with the rules that reach it in a fixed order."""

    query: NDArray[np.int64]  # [c] position in the batch
    entity: NDArray[np.int32]  # [c]
    ptr: NDArray[np.int64]  # [c+1] rules of candidate i: ptr[i]:ptr[i+1]
    rule: NDArray[np.int64]  # [n] rule id
    count: NDArray[Any]  # [n] walks


@dataclass(frozen=True, eq=False)
class Columns:
    """One row a (query, entity, rule) that grounds, in no particular order."""

    query: NDArray[np.int64]
    entity: NDArray[np.int32]
    rule: NDArray[np.int64]
    count: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Grounding:
    """Walk counts of all rules of one relation for a chunk of queries.

    For query `queries[q]`, rule `rules[k]` reaches entity[ptr[i] : ptr[i + 1]] with i = k * len(queries) + q.
    """

    queries: NDArray[np.int64]  # [q] positions in the batch
    rules: NDArray[np.int64]  # [k] rule ids
    ptr: NDArray[np.int64]  # [k*q+1]
    entity: NDArray[np.int32]  # [n]
    count: NDArray[Any]  # [n] int32, or int64 where 32 bits might not hold a count
    num_entities: int

    def __len__(self) -> int:
        return len(self.entity)

    def columns(self) -> Columns:
        """The results as rows (query, entity, rule, count)."""
        cell = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        width = max(len(self.queries), 1)
        return Columns(self.queries[cell % width], self.entity, self.rules[cell // width], self.count)

    def candidates(self) -> Candidates:
        """The results by candidate answer."""
        query, entity, ptr, body, count = kernels.group_by_candidate(
            self.entity, self.count, self.ptr, len(self.queries), self.num_entities
        )
        return Candidates(self.queries[query], entity, ptr, self.rules[body], count)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the candidates of a chunk of queries: all entities that a rule reaches, at any score."""

    grounding: Grounding
    feature: Feature
    ptr: NDArray[np.int64]  # [q+1] candidates of query i: ptr[i]:ptr[i+1]
    entity: NDArray[np.int32]  # [c]
    values: NDArray[np.float64]  # [c]

    def __len__(self) -> int:
        return len(self.grounding)

    @property
    def queries(self) -> NDArray[np.int64]:
        """Positions of the chunk's queries in the batch [q]."""
        return self.grounding.queries

    def fill(self, dense: NDArray[np.float64]) -> None:
        """Write the scores into dense [batch, E]; other entries stay."""
        dense[np.repeat(self.queries, np.diff(self.ptr)), self.entity] = self.values

    def add_gradient(self, upstream: NDArray[np.float64], gradient: NDArray[np.float64]) -> None:
        """Add d sum(upstream * values) / d weights to gradient [rules]; upstream [c]."""
        g = self.grounding
        gradient[g.rules] += kernels.weight_gradient(
            g.entity,
            g.count,
            g.ptr,
            FEATURE_CODES[self.feature],
            self.ptr,
            self.entity,
            np.ascontiguousarray(upstream, np.float64),
            g.num_entities,
        )


class _Batch(NamedTuple):
    """Queries of one relation; `hidden` is -1 where nothing is hidden."""

    positions: NDArray[np.int64]
    relation: int
    heads: NDArray[np.int32]
    hidden: NDArray[np.int32]

    def halves(self) -> tuple[_Batch, _Batch]:
        middle = len(self.positions) // 2
        first, second = slice(None, middle), slice(middle, None)
        return (
            _Batch(self.positions[first], self.relation, self.heads[first], self.hidden[first]),
            _Batch(self.positions[second], self.relation, self.heads[second], self.hidden[second]),
        )


class Grounder:
    """Rules made ready to be applied to one graph.

    A query is (head, relation, ?) with relation in 0..2R-1. In training, `hidden` gives the answer whose fact
    (head, relation, hidden) is taken out of the graph in both directions while its own query is grounded.
    """

    def __init__(
        self,
        graph: Graph,
        rules: RuleSet,
        threads: int | None = None,
        chunk_queries: int = CHUNK_QUERIES,
        chunk_results: int = CHUNK_RESULTS,
    ) -> None:
        used = max(rules.heads.max(initial=0), rules.body.max(initial=0))
        if used >= 2 * graph.num_relations:
            raise RNNLogicError(
                f"rules use relation id {used}, the graph has {2 * graph.num_relations} with inverses"
            )
        self.graph, self.rules = graph, rules
        self.threads = threads or default_threads()
        self._chunk_results = chunk_results
        self._chunk_queries = chunk_queries
        self._prepared = lru_cache(maxsize=None)(self._prepare)

    def ground(
        self, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Grounding]:
        """Exact walk counts, a chunk of queries of one relation at a time, in a fixed order.

        `relations` and `hidden` may be one number for all queries; relations without rules give no chunk.
        """
        for parts in self._chunks(heads, relations, hidden, self._ground):
            yield from parts

    def scores(
        self,
        heads: ArrayLike,
        relations: ArrayLike,
        weights: ArrayLike,
        hidden: ArrayLike | None = None,
        feature: Feature = "count",
    ) -> Iterator[Scores]:
        """Sum over rules of weight [rules] times feature for all candidates, a chunk of queries at a time."""
        rule_weights = np.asarray(weights, np.float64)
        if rule_weights.shape != (len(self.rules),) or not np.isfinite(rule_weights).all():
            raise ValueError(f"weights must be {len(self.rules)} finite numbers")

        def score(batch: _Batch) -> list[Scores]:
            return [self._score(part, rule_weights, feature) for part in self._ground(batch)]

        for parts in self._chunks(heads, relations, hidden, score):
            yield from parts

    def _chunks(
        self,
        heads: ArrayLike,
        relations: ArrayLike,
        hidden: ArrayLike | None,
        work: Callable[[_Batch], Any],
    ) -> Iterator[Any]:
        head = np.atleast_1d(np.asarray(heads, np.int32))
        relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
        answer = np.broadcast_to(np.asarray(-1 if hidden is None else hidden, np.int32), head.shape)
        self._check(head, relation)
        batches = []
        order = np.argsort(relation, kind="stable")
        for block in np.split(order, np.flatnonzero(np.diff(relation[order])) + 1):
            if len(block) == 0 or len(self.rules.by_head(int(relation[block[0]]))) == 0:
                continue
            self._prepared(int(relation[block[0]]))
            for start in range(0, len(block), self._chunk_queries):
                part = block[start : start + self._chunk_queries]
                batches.append(_Batch(part, int(relation[part[0]]), head[part], answer[part]))
        # Much work first, so that no thread is left alone with a large piece at the end.
        batches.sort(key=lambda batch: -len(batch.positions) * len(self.rules.by_head(batch.relation)))
        return in_order(work, batches, self.threads, lambda parts: sum(map(len, parts)), self._chunk_results)

    def _check(self, head: NDArray[np.int32], relation: NDArray[np.int64]) -> None:
        if len(head) and not (head.min() >= 0 and head.max() < self.graph.num_entities):
            raise ValueError(f"heads must lie in 0..{self.graph.num_entities - 1}")
        if len(head) and not (relation.min() >= 0 and relation.max() < 2 * self.graph.num_relations):
            raise ValueError(f"relations must lie in 0..{2 * self.graph.num_relations - 1}")

    def _prepare(self, relation: int) -> tuple[NDArray[np.int64], Trie, np.dtype[Any]]:
        """Rule ids in trie order, the trie, and the dtype that surely holds its counts (float64: none)."""
        ids = self.rules.by_head(relation)
        bodies = [self.rules[int(i)].body for i in ids]
        trie = build_trie(bodies)
        return ids[trie.body], trie, _count_dtype(self.graph, bodies)

    def _ground(self, batch: _Batch) -> list[Grounding]:
        rules, trie, dtype = self._prepared(batch.relation)
        if dtype == np.float64:
            self._refuse_overflow(batch, trie)
            dtype = np.dtype(np.int64)
        entity, count, ptr = self._count(batch, trie, dtype, self._chunk_results)
        if len(ptr) == 0:
            return [part for half in batch.halves() for part in self._ground(half)]
        return [Grounding(batch.positions, rules, ptr, entity, count, self.graph.num_entities)]

    def _count(
        self, batch: _Batch, trie: Trie, dtype: np.dtype[Any], limit: int
    ) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
        relation, inverse = batch.relation, self.graph.inverse(batch.relation)
        sums = np.zeros(self.graph.num_entities, dtype)
        return kernels.ground_counts(
            self.graph.arrays, trie, batch.heads, batch.hidden, relation, inverse, sums, limit
        )

    def _refuse_overflow(self, batch: _Batch, trie: Trie) -> None:
        for q in range(len(batch.heads)):
            one = _Batch(
                batch.positions[q : q + 1], batch.relation, batch.heads[q : q + 1], batch.hidden[q : q + 1]
            )
            _, count, _ = self._count(one, trie, np.dtype(np.float64), self._chunk_results)
            if count.max(initial=0) >= 2.0**62:
                raise RNNLogicError(
                    f"a rule of relation id {batch.relation} has more than 2^62 grounding paths from entity "
                    f"id {one.heads[0]}: use shorter rules"
                )

    def _score(self, grounding: Grounding, weights: NDArray[np.float64], feature: Feature) -> Scores:
        g = grounding
        ptr, entity, values = kernels.score_candidates(
            g.entity,
            g.count,
            g.ptr,
            weights[g.rules],
            FEATURE_CODES[feature],
            len(g.queries),
            g.num_entities,
        )
        return Scores(grounding, feature, ptr, entity, values)


def _count_dtype(graph: Graph, bodies: list[tuple[int, ...]]) -> np.dtype[Any]:
    largest = max((_count_bound(graph, body) for body in bodies), default=0)
    return np.dtype(np.int32 if largest < 1 << 31 else np.int64 if largest < 1 << 62 else np.float64)


def _count_bound(graph: Graph, body: tuple[int, ...]) -> int:
    """At most so many walks along `body` lead from one entity to one other, by the largest degrees."""
    to_one, in_all = 1, 1  # walks to any one entity, walks to all entities
    for relation in body:
        in_degree = int(graph.max_degree[graph.inverse(relation)])
        to_one, in_all = min(to_one * in_degree, in_all), in_all * int(graph.max_degree[relation])
    return to_one
