"""Weighted rules as something that scores answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.grounding.features import Feature
from rnnlogic.grounding.ground import Grounder
from rnnlogic.rules.ruleset import RuleSet


@dataclass(eq=False)
class RuleScorer:
    """Score of an answer: the sum of weight times feature over all rules that reach it; -inf if none does."""

    rules: RuleSet
    weights: NDArray[np.float64]  # [rules]
    feature: Feature = "log1p"
    threads: int | None = None
    _grounder: Grounder | None = field(default=None, init=False, repr=False)

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] of all entities as answers of (head, relation, ?)."""
        grounder = self.on(graph)
        scores = np.full((len(heads), graph.num_entities), -np.inf)
        for chunk in grounder.scores(heads, relations, self.weights, feature=self.feature):
            chunk.fill(scores)
        return scores

    def on(self, graph: Graph) -> Grounder:
        """The rules made ready for a graph; the last one is kept."""
        if self._grounder is None or self._grounder.graph is not graph:
            self._grounder = Grounder(graph, self.rules, self.threads)
        return self._grounder
