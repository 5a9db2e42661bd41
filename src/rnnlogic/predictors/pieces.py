"""Predictors that score a piece of the queries of one relation at a time, the pieces side by side."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Recent
from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import CHUNK_QUERIES, CHUNK_RESULTS, Grounder
from rnnlogic.features.table import Candidates, Scored
from rnnlogic.predictors.base import Predictor


class _Piece(NamedTuple):
    """Some queries of one relation."""

    positions: NDArray[np.int64]  # [q] in the batch
    relation: int
    heads: NDArray[np.int32]  # [q]
    hidden: NDArray[np.int32] | None  # [q]


class PiecePredictor(Predictor):
    """Candidates are the entities that a rule reaches; all entities where something else has a say too."""

    threads: int | None
    _grounders: Recent[Grounder]

    @abstractmethod
    def sums(self, candidates: Candidates) -> NDArray[np.float64]:
        """The score by rules [c] of every candidate that a rule reaches."""

    @abstractmethod
    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """What is added to the score by rules [B, E]; None if nothing is."""

    def unreached(self, relation: int) -> float:
        """The score by rules of an entity that none reaches, where all are candidates."""
        del relation
        return 0.0

    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of all candidates, a piece of the queries of one relation at a time."""
        pieces = _pieces(heads, relations, hidden)
        return map_ordered(_score, pieces, (self, self.on(graph)), self.threads, _size, CHUNK_RESULTS)

    def on(self, graph: Graph) -> Grounder:
        """The rules made ready for a graph; the last one is kept. Pieces are grounded on one thread each."""
        return self._grounders.get(graph, lambda: Grounder(graph, self.rules, threads=1))

    def rest(self, graph: Graph, head: int, relation: int, tail: int) -> float | None:
        """What is added to the score by rules of one answer."""
        rows = self.elsewhere(graph, np.array([head], np.int32), relation)
        return None if rows is None else float(rows[0, tail])


def _score(shared: tuple[PiecePredictor, Grounder], piece: _Piece) -> Scored:
    predictor, grounder = shared
    parts = list(grounder.candidates(piece.heads, piece.relation, piece.hidden))
    query = np.concatenate([np.empty(0, np.int64), *(part.query for part in parts)])
    entity = np.concatenate([np.empty(0, np.int32), *(part.entity for part in parts)])
    sums = np.concatenate([np.empty(0), *(predictor.sums(part) for part in parts)])
    rows = predictor.elsewhere(grounder.graph, piece.heads, piece.relation)
    size = len(piece.positions)
    if rows is None:
        return Scored(piece.positions, np.searchsorted(query, np.arange(size + 1)), entity, sums)
    unreached = predictor.unreached(piece.relation)
    rows += unreached
    rows[query, entity] += sums - unreached
    everything = np.tile(np.arange(grounder.graph.num_entities, dtype=np.int32), size)
    return Scored(piece.positions, np.arange(size + 1) * rows.shape[1], everything, rows.ravel())


def _size(scored: Scored) -> int:
    return len(scored.entity)


def _pieces(heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None) -> list[_Piece]:
    head = np.atleast_1d(np.asarray(heads, np.int32))
    relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
    answer = None if hidden is None else np.broadcast_to(np.asarray(hidden, np.int32), head.shape)
    return [
        _Piece(piece, int(relation[piece[0]]), head[piece], None if answer is None else answer[piece])
        for piece in positions_by_relation(relation)
    ]


def positions_by_relation(relation: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of the queries, at most CHUNK_QUERIES of one relation in each piece."""
    order = np.argsort(relation, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(relation[order])) + 1)
    starts = [(block, first) for block in blocks for first in range(0, len(block), CHUNK_QUERIES)]
    return [block[first : first + CHUNK_QUERIES] for block, first in starts]
