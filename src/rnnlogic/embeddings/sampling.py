"""The batches of training: queries, their weights, and wrong answers.

A step depends only on its number and the seed, so a resumed training equals an uninterrupted one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.settings import RotatESettings

ORDER, NEGATIVES = 0, 1  # kinds of random streams
Ids = NDArray[np.int32]


class Piece(NamedTuple):
    """Some queries of a step, and the wrong answers they share."""

    heads: Ids  # [b]
    relations: Ids  # [b] in 0..R-1
    sign: NDArray[np.float32]  # [b] -1 where the relation is the inverse
    answers: Ids  # [b]
    weights: NDArray[np.float32]  # [b] sum to 1 over the step
    graph_rows: NDArray[np.int64]  # [b] rows of the training graph that hold the known answers
    negatives: Ids  # [N] distinct


@dataclass(frozen=True, eq=False)
class Sampler:
    """Training queries (both directions of every fact) and the pieces of every step."""

    graph: Graph
    queries: NDArray[np.int32]  # [2F, 3] head, relation in 0..2R-1, answer
    rows: NDArray[np.int64]  # [2F] row of the graph of each query
    weights: NDArray[np.float32]  # [2F]
    settings: RotatESettings

    @staticmethod
    def of(dataset: Dataset, settings: RotatESettings) -> Sampler:
        """The sampler of a dataset's training facts."""
        graph = dataset.graph("train")
        arrays = graph.arrays
        degrees = np.diff(arrays.row_edges)
        row_of_edge = np.repeat(np.arange(len(degrees)), degrees)
        relation_of_row = np.repeat(np.arange(2 * graph.num_relations), np.diff(arrays.relation_rows))
        queries = np.stack(
            [arrays.row_head[row_of_edge], relation_of_row[row_of_edge], arrays.tails], axis=1
        ).astype(np.int32)
        weights = (
            _weights(graph, queries, degrees[row_of_edge]) if settings.subsampling else np.ones(len(queries))
        )
        return Sampler(graph, queries, row_of_edge, weights.astype(np.float32), settings)

    @property
    def batch_size(self) -> int:
        """Queries per step."""
        return min(self.settings.batch_size, len(self.queries))

    @property
    def negatives(self) -> int:
        """Wrong answers per piece."""
        return min(self.settings.negatives, self.graph.num_entities)

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch; the remaining queries are left out of it."""
        return len(self.queries) // self.batch_size

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return max(1, round(self.settings.epochs * len(self.queries) / self.batch_size))

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The training queries of an epoch in random order."""
        return np.random.default_rng([self.settings.seed, ORDER, epoch]).permutation(len(self.queries))

    def pieces(self, step: int, order: NDArray[np.int64]) -> list[Piece]:
        """The pieces of a step, given the order of its epoch."""
        rng = np.random.default_rng([self.settings.seed, NEGATIVES, step])
        first = step % self.steps_per_epoch * self.batch_size
        batch = order[first : first + self.batch_size]
        total = self.weights[batch].sum()
        starts = range(0, len(batch), self.settings.share)
        return [self._piece(batch[start : start + self.settings.share], total, rng) for start in starts]

    def _piece(self, chosen: NDArray[np.int64], total: float, rng: np.random.Generator) -> Piece:
        heads, relations, answers = np.ascontiguousarray(self.queries[chosen].T)
        is_inverse = relations >= self.graph.num_relations
        negatives = rng.choice(self.graph.num_entities, self.negatives, replace=False, shuffle=False)
        return Piece(
            heads,
            relations - np.int32(self.graph.num_relations) * is_inverse,
            np.where(is_inverse, np.float32(-1), np.float32(1)),
            answers,
            self.weights[chosen] / total,
            self.rows[chosen],
            negatives.astype(np.int32),
        )


def _weights(graph: Graph, queries: NDArray[np.int32], degrees: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 / sqrt(6 + facts of (h, r) + facts of (r, t)) of every query's fact."""
    num_entities, num_relations = graph.num_entities, graph.num_relations
    heads, relations, answers = queries.astype(np.int64).T
    keys = relations * num_entities + heads
    backwards = (relations + num_relations) % (2 * num_relations) * num_entities + answers
    other = degrees[np.searchsorted(keys, backwards)]  # queries are in the order of their keys
    weights: NDArray[np.float64] = 1 / np.sqrt(6.0 + degrees + other)
    return weights
