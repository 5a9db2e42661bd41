"""Weighted rules that answer: RNNLogic without embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.recent import Recent
from rnnlogic.base.types import Arrays, Feature
from rnnlogic.config import Config
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.evidence.surest import SUREST, strengths
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Scored
from rnnlogic.features.transforms import transformed
from rnnlogic.predictors.base import Contributions, Move, Predictor, Task, Weights, reaching
from rnnlogic.predictors.loglinear.fit import learn_weights
from rnnlogic.rules.ruleset import RuleSet


@dataclass(eq=False)
class RuleScorer(Predictor):
    """Score of an answer: the sum of weight times feature over all rules that reach it; -inf if none does."""

    uses_evidence: ClassVar[bool] = True
    uses_constants: ClassVar[bool] = True
    rules: RuleSet
    weights: Weights
    feature: Feature = "log1p"
    threads: int | None = None
    _grounders: Recent[Grounder] = field(default_factory=lambda: Recent(1), init=False, repr=False)

    @classmethod
    def fit(cls, task: Task) -> Self:
        """Learn the weights of all rules: one convex problem per relation."""
        weights = learn_weights(task, cls.values(task.rules, task.config, None))
        return cls(task.rules, weights, task.config.predictor.feature, task.config.threads)

    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of the entities that a rule reaches."""
        return self.on(graph).scores(heads, relations, self.weights, hidden, self.feature)

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """Each rule adds its weight times its feature; the most trusted one also adds what that is worth."""
        found = reaching(self.on(graph), head, relation, tail, is_hidden)
        rule, weight = found.rule_id, self.weights[found.rule_id]
        feature = transformed(found, self.feature)
        is_surest = self.rules.are_feature(SUREST)[rule]
        if not is_surest.any():
            return Contributions(rule, found.count, weight, None, weight * feature, None)
        others = np.flatnonzero(~is_surest)
        best = int(np.argmax(strengths(self.rules, rule[others])))
        weight, more = weight[others], (weight * feature)[is_surest].sum()
        weight[best] += more / feature[others[best]]
        parts = rule[others], found.count[others], weight, None, weight * feature[others], None
        return Contributions(*parts, surest=best)

    def on(self, graph: Graph) -> Grounder:
        """The rules made ready for a graph; the last one is kept."""
        return self._grounders.get(graph, lambda: Grounder(graph, self.rules, self.threads))

    def reduced(self, rules: RuleSet, weights: Weights) -> Self:
        """The predictor with these rules and weights."""
        return replace(self, rules=rules, weights=weights)

    def pack(self) -> Arrays:
        """The weights."""
        return {"weights": self.weights}

    @classmethod
    def unpack(
        cls, arrays: Mapping[str, NDArray[Any]], rules: RuleSet, config: Config, embedding: Scorer | None
    ) -> Self:
        """The predictor that `pack` gave these arrays."""
        del embedding
        return cls(rules, arrays["weights"], config.predictor.feature, config.threads)

    def moved(self, move: Move) -> Self:
        """The rules whose relations the other graph has, with their weights."""
        return type(self)(move.rules, self.weights[move.kept], self.feature, self.threads)
