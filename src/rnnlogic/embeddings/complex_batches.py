"""The batches of ComplEx training: distinct queries with all their answers.

A step depends only on its number and the seed, so a resumed training equals an uninterrupted one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.settings import ComplExSettings

Ids = NDArray[np.int32]


class Batch(NamedTuple):
    """Queries with all their answers, sorted by answer."""

    heads: Ids  # [B]
    relations: Ids  # [B] in 0..2R-1
    query: Ids  # [P] of each answer
    answers: Ids  # [P] ascending


@dataclass(frozen=True, eq=False)
class Batches:
    """The rows of a graph, each a query (h, r) with its answers, cut into batches."""

    graph: Graph
    relations: Ids  # [rows]
    settings: ComplExSettings

    @staticmethod
    def of(graph: Graph, settings: ComplExSettings) -> Batches:
        """The batches of a graph's facts."""
        relations = np.repeat(np.arange(2 * graph.num_relations), np.diff(graph.arrays.relation_rows))
        return Batches(graph, relations.astype(np.int32), settings)

    @property
    def batch_size(self) -> int:
        """Queries per step."""
        return min(self.settings.batch_size, len(self.relations))

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch; the remaining queries are left out of it."""
        return len(self.relations) // self.batch_size

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return max(1, round(self.settings.epochs * len(self.relations) / self.batch_size))

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The rows of an epoch in random order."""
        return np.random.default_rng([self.settings.seed, epoch]).permutation(len(self.relations))

    def batch(self, step: int, order: NDArray[np.int64]) -> Batch:
        """The batch of a step, given the order of its epoch."""
        first = step % self.steps_per_epoch * self.batch_size
        rows, arrays = order[first : first + self.batch_size], self.graph.arrays
        starts, ends = arrays.row_edges[rows], arrays.row_edges[rows + 1]
        query = np.repeat(np.arange(len(rows), dtype=np.int32), ends - starts)
        within = np.arange(len(query)) - np.repeat(np.cumsum(ends - starts) - (ends - starts), ends - starts)
        answers = arrays.tails[starts[query] + within]
        by_answer = np.argsort(answers, kind="stable")
        return Batch(arrays.row_head[rows], self.relations[rows], query[by_answer], answers[by_answer])
