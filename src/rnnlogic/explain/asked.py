"""One question asked once: whoever needs its scores again gets those that were found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.explain.ideas import Question
from rnnlogic.features.table import Scored
from rnnlogic.predictors.base import AnswerScorer, Contributions

NO_CUTS = np.zeros(3, np.int64)


class Asked(AnswerScorer):
    """A scorer that remembers the scores of one question on one graph; a known fact is hidden."""

    def __init__(self, scorer: AnswerScorer, graph: Graph, question: Question) -> None:
        self._scorer, self._graph, self.rules = scorer, graph, scorer.rules
        self.question, self.is_known = question, graph.has(*question)
        head, relation, tail = question
        self._key = head, relation, tail if self.is_known else -1
        self._rows, self.parts = scorer.scored_with_parts(graph, *question, self.is_known)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores [E] of all entities as answers, -inf for those that are none."""
        found = np.full((1, self._graph.num_entities), -np.inf)
        for rows in self._rows:
            rows.fill(found)
        return np.asarray(found[0])

    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of any questions; this one is not asked again."""
        head = np.atleast_1d(np.asarray(heads, np.int32))
        relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
        answer = np.broadcast_to(np.asarray(-1 if hidden is None else hidden, np.int32), head.shape)
        is_same = np.all(np.stack([head, relation, answer]) == np.array(self._key)[:, None], axis=0)
        is_same &= graph is self._graph
        for place in np.flatnonzero(is_same):
            for rows in self._rows:
                yield rows._replace(queries=rows.queries + place)
        others = np.flatnonzero(~is_same)
        if len(others):
            for rows in self._scorer.scored(graph, head[others], relation[others], answer[others]):
                yield rows._replace(queries=others[rows.queries])

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """The parts of any score."""
        return self._scorer.contributions(graph, head, relation, tail, is_hidden)
