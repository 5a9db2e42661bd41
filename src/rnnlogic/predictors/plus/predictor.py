"""RNNLogic+: a network scores an answer by the rules that reach it. Only fitting needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays, Feature, Recent
from rnnlogic.config import Config
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Candidates
from rnnlogic.predictors.base import Contributions, Move, Task, Weights, reaching
from rnnlogic.predictors.eta import spoken, voices
from rnnlogic.predictors.paths.predictor import PathRuleScorer
from rnnlogic.predictors.pieces import PiecePredictor
from rnnlogic.predictors.plus.parameters import PlusParameters, pack_plus, plus_arrays, unpack_plus
from rnnlogic.predictors.values import RuleValues
from rnnlogic.rules.ruleset import RuleSet

LEFT_OUT_RESULTS = 1 << 22  # results that are held at once to leave out each rule of an answer


@dataclass(eq=False)
class PlusScorer(PiecePredictor):
    """Score of an answer: a network over the rules that reach it, plus eta times the embedding's score.

    Where eta of a relation is 0, candidates are the entities that a rule reaches; else all entities.
    """

    uses_evidence: ClassVar[bool] = True
    rules: RuleSet
    weights: Weights  # psi, from which the network started
    parameters: PlusParameters
    rule_values: RuleValues
    embedding: Scorer | None = None
    threads: int | None = None
    _grounders: Recent[Grounder] = field(default_factory=lambda: Recent(1), init=False, repr=False)

    def __post_init__(self) -> None:
        self._voices = voices(self.embedding, threads=1)

    @property
    def feature(self) -> Feature:  # type: ignore[override]
        """The feature of walks that the network sees."""
        return self.rule_values.feature

    @classmethod
    def fit(cls, task: Task) -> Self:
        """Learn psi as RNNLogic does, then the network, then eta."""
        from rnnlogic.predictors.plus.train import train

        return cls(*train(task, cls.values(task.rules, task.config, task.embedding)))

    @classmethod
    def values(cls, rules: RuleSet, config: Config, embedding: Scorer | None) -> RuleValues:
        """Features, times phi if the embedding scores paths."""
        if config.has_embedding and config.plus.path_scores:
            return PathRuleScorer.values(rules, config, embedding)
        return RuleValues(rules, config.predictor.feature)

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """What each rule adds: the score minus the score without it. They need not sum to the score."""
        found = reaching(self.on(graph), head, relation, tail, is_hidden)
        rule, value, phi = found.rule_id, self._features(found), self.rule_values.phi(found)
        whole = self.parameters.rule_scores(relation, np.array([0, len(rule)]), rule, value, phi)
        without = self._left_out(relation, rule, value, phi)
        weight = self.parameters.psi[rule].astype(np.float64)
        rest = self.rest(graph, head, relation, tail)
        return Contributions(rule, found.count, weight, phi, whole - without, rest, "leave-one-out")

    def without_embedding(self) -> PlusScorer:
        """The score by rules alone."""
        alone = replace(self, embedding=None)
        alone._grounders = self._grounders
        return alone

    def sums(self, candidates: Candidates) -> NDArray[np.float64]:
        """The score by rules [c] of every candidate."""
        value, phi = self._features(candidates), self.rule_values.phi(candidates)
        rules = candidates.candidate_ptr, candidates.rule_id
        return self.parameters.rule_scores(candidates.relation, *rules, value, phi)

    def unreached(self, relation: int) -> float:
        """What the network makes of no rules."""
        return self.parameters.unreached_score(relation)

    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """eta * the embedding's score [B, E]; None if it has no say on this relation."""
        return spoken(self._voices, self.parameters.eta, graph, heads, relation) if self._voices else None

    def pack(self) -> Arrays:
        """psi and the network."""
        return {"weights": self.weights} | pack_plus(self.parameters)

    @classmethod
    def arrays(cls, config: Config) -> Declaration:
        """What `pack` gives with these settings."""
        return super().arrays(config) | plus_arrays(config.plus)

    @classmethod
    def unpack(
        cls, arrays: Mapping[str, NDArray[Any]], rules: RuleSet, config: Config, embedding: Scorer | None
    ) -> Self:
        """The predictor that `pack` gave these arrays."""
        values = cls.values(rules, config, embedding)
        return cls(rules, arrays["weights"], unpack_plus(arrays), values, embedding, config.threads)

    def moved(self, move: Move) -> Self:
        """The network on the rules whose relations the other graph has; refused with an embedding."""
        if self.embedding is not None:
            raise RNNLogicError(
                "this model cannot move to another graph: its embedding knows only the entities that it was "
                "trained with; use variant rnnlogic or plus"
            )
        return replace(
            self,
            rules=move.rules,
            weights=self.weights[move.kept],
            parameters=self.parameters.moved(move.kept, move.relations, move.num_relations),
            rule_values=self.rule_values.of(move.rules),
        )

    def _features(self, candidates: Candidates) -> NDArray[np.float32]:
        return self.rule_values.features(candidates).astype(np.float32)

    def _left_out(
        self,
        relation: int,
        rule: NDArray[np.int64],
        value: NDArray[np.float32],
        phi: NDArray[np.float32] | None,
    ) -> NDArray[np.float64]:
        """Scores [n] of a candidate without each of its n rules."""
        number = len(rule)
        scores = [np.empty(0)]
        step = max(1, LEFT_OUT_RESULTS // max(number, 1))
        for first in range(0, number, step):
            out = np.arange(first, min(first + step, number))
            kept = np.nonzero(np.arange(number)[None, :] != out[:, None])[1]
            ptr = np.arange(len(out) + 1) * (number - 1)
            kept_phi = None if phi is None else phi[kept]
            scores.append(self.parameters.rule_scores(relation, ptr, rule[kept], value[kept], kept_phi))
        return np.concatenate(scores)
