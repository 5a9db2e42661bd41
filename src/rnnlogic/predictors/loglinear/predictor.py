"""Weighted rules that answer: RNNLogic without embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.types import Arrays, Feature, Recent
from rnnlogic.config import Config
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.aggregates import split_aggregates
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Candidates, Scored, no_candidates, transformed
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
        weights, lift = learn_weights(task, cls.values(task.rules, task.config, None))
        predictor = cls(task.rules, weights, task.config.predictor.feature, task.config.threads)
        predictor.lift = lift
        return predictor

    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of the entities that a rule reaches."""
        return self.on(graph).scores(heads, relations, self.weights, hidden, self.feature)

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """Each rule adds its weight times its feature, and its part of what aggregates add."""
        return self._parts(reaching(self.on(graph), head, relation, tail, is_hidden))

    def scored_with_parts(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> tuple[list[Scored], Contributions]:
        """Both from one grounding."""
        found = list(self.on(graph).ground([head], relation, tail if is_hidden else None))
        reached = found[0].candidates().at(tail) if found else no_candidates(relation, head)
        return [one.scored(self.weights, self.feature) for one in found], self._parts(reached)

    def _parts(self, found: Candidates) -> Contributions:
        """What each rule adds to the only candidate."""
        rule, weight = found.rule_id, self.weights[found.rule_id]
        feature = transformed(found, self.feature)
        kept, weight, best = split_aggregates(self.rules, rule, weight, feature)
        return Contributions(
            rule[kept], found.count[kept], weight, None, weight * feature[kept], None, best=best
        )

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
