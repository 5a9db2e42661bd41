"""Scorers that work on a piece of the queries of one relation at a time, the pieces on threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.executor import default_threads, in_order
from rnnlogic.data.graph import Graph
from rnnlogic.grounding.ground import CHUNK_QUERIES, CHUNK_RESULTS, Grounder, Grounding
from rnnlogic.predictors.loglinear.scorer import AnswerScorer, Scored

Sums = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]  # query, entity, score [c]
NOTHING: Sums = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))


class PieceScorer(AnswerScorer):
    """Candidates are the entities that a rule reaches; all entities where something else has a say too."""

    threads: int | None
    _grounder: Grounder | None

    @abstractmethod
    def sums(self, grounding: Grounding, heads: NDArray[np.int32], relation: int) -> Sums:
        """Query, entity and score by rules [c] of every candidate that a rule reaches."""

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
        head = np.atleast_1d(np.asarray(heads, np.int32))
        relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
        answer = None if hidden is None else np.broadcast_to(np.asarray(hidden, np.int32), head.shape)
        grounder = self.on(graph)

        def score(piece: NDArray[np.int64]) -> Scored:
            out_of_sight = None if answer is None else answer[piece]
            return self._score_piece(grounder, piece, head[piece], int(relation[piece[0]]), out_of_sight)

        threads = self.threads or default_threads()
        pieces = pieces_by_relation(relation)
        return in_order(score, pieces, threads, lambda part: len(part.entity), CHUNK_RESULTS)

    def on(self, graph: Graph) -> Grounder:
        """The rules made ready for a graph; the last one is kept. Pieces are grounded on one thread each."""
        if self._grounder is None or self._grounder.graph is not graph:
            self._grounder = Grounder(graph, self.rules, threads=1)
        return self._grounder

    def _score_piece(
        self,
        grounder: Grounder,
        piece: NDArray[np.int64],
        heads: NDArray[np.int32],
        relation: int,
        hidden: NDArray[np.int32] | None,
    ) -> Scored:
        parts = [
            self.sums(part, heads[part.queries], relation)
            for part in grounder.ground(heads, relation, hidden)
        ]
        query, entity, sums = (np.concatenate(column) for column in zip(NOTHING, *parts, strict=True))
        rows = self.elsewhere(grounder.graph, heads, relation)
        if rows is None:
            return Scored(piece, np.searchsorted(query, np.arange(len(piece) + 1)), entity, sums)
        unreached = self.unreached(relation)
        rows += unreached
        rows[query, entity] += sums - unreached
        everything = np.tile(np.arange(grounder.graph.num_entities, dtype=np.int32), len(piece))
        return Scored(piece, np.arange(len(piece) + 1) * rows.shape[1], everything, rows.ravel())


def pieces_by_relation(relation: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of the queries, at most CHUNK_QUERIES of one relation in each piece."""
    order = np.argsort(relation, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(relation[order])) + 1)
    starts = [(block, first) for block in blocks for first in range(0, len(block), CHUNK_QUERIES)]
    return [block[first : first + CHUNK_QUERIES] for block, first in starts]
