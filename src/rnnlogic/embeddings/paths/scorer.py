"""Weighted rules whose paths an embedding scores, and the embedding itself as one more voice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.paths.scores import PathModel, Results
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.grounding.features import Feature, feature_values
from rnnlogic.grounding.ground import CHUNK_QUERIES, CHUNK_RESULTS, Grounder, Grounding, default_threads
from rnnlogic.grounding.scorer import AnswerScorer, Contributions, Scored, reaching
from rnnlogic.parallel import in_order
from rnnlogic.rules.ruleset import RuleSet

TURNS_KEPT = 8  # relations whose turns are held in memory
NOTHING = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))  # query, entity, sum of no candidates


@dataclass(eq=False)
class PathRuleScorer(AnswerScorer):
    """Score of an answer: sum of weight * feature * phi over the rules, plus answer_weight * RotatE's score.

    Without an answer weight, candidates are the entities that a rule reaches; with one, all entities.
    """

    rules: RuleSet
    weights: NDArray[np.float64]  # [rules]
    feature: Feature
    paths: PathModel
    answer_weight: float = 0.0  # eta
    threads: int | None = None
    _grounder: Grounder | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._embedding: RotatE = replace(self.paths.embedding, threads=1)
        self._turns = lru_cache(TURNS_KEPT)(lambda relation: self.paths.turns(self.rules, relation))

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
        return in_order(
            score, pieces_by_relation(relation), threads, lambda part: len(part.entity), CHUNK_RESULTS
        )

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """Each rule adds its weight times its feature times phi."""
        rule, count = reaching(self.on(graph), head, relation, tail, is_hidden)
        weight = self.weights[rule]
        place = np.searchsorted(self.rules.by_head(relation), rule)
        one, ends = np.array([0, 1]), np.array([0, len(rule)])
        results = Results(np.array([head], np.int32), one, np.array([tail], np.int32), ends, place)
        phi = self.paths.phi(self._turns(relation), results) if len(rule) else np.empty(0, np.float32)
        values = weight * feature_values(count, self.feature) * phi
        rest = float(self._embedding_share(graph, np.array([head], np.int32), relation)[0, tail])
        return Contributions(rule, count, weight, phi, values, rest if self.answer_weight else None)

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
            self._sums(part, heads[part.queries], relation)
            for part in grounder.ground(heads, relation, hidden)
        ]
        query, entity, sums = (np.concatenate(column) for column in zip(NOTHING, *parts, strict=True))
        if not self.answer_weight:
            return Scored(piece, np.searchsorted(query, np.arange(len(piece) + 1)), entity, sums)
        rows = self._embedding_share(grounder.graph, heads, relation)
        rows[query, entity] += sums
        everything = np.tile(np.arange(grounder.graph.num_entities, dtype=np.int32), len(piece))
        return Scored(piece, np.arange(len(piece) + 1) * rows.shape[1], everything, rows.ravel())

    def _sums(
        self, grounding: Grounding, heads: NDArray[np.int32], relation: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Query, entity and sum over the rules [c] of every candidate."""
        found = grounding.candidates()
        if not len(found.entity):
            return found.query, found.entity, np.empty(0)
        query_ptr = np.append(np.searchsorted(found.query, grounding.queries), len(found.query))
        place = np.searchsorted(self.rules.by_head(relation), found.rule)
        results = Results(heads, query_ptr, found.entity, found.ptr, place)
        phi = self.paths.phi(self._turns(relation), results)
        values = self.weights[found.rule] * feature_values(found.count, self.feature) * phi
        return found.query, found.entity, np.add.reduceat(values, found.ptr[:-1])

    def _embedding_share(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64]:
        """answer_weight * RotatE's score [B, E]."""
        relations = np.full(len(heads), relation, np.int32)
        return self.answer_weight * self._embedding.score(graph, heads, relations)


def pieces_by_relation(relation: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of the queries, at most CHUNK_QUERIES of one relation in each piece."""
    order = np.argsort(relation, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(relation[order])) + 1)
    starts = [(block, first) for block in blocks for first in range(0, len(block), CHUNK_QUERIES)]
    return [block[first : first + CHUNK_QUERIES] for block, first in starts]
