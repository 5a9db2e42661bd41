"""What the weight of a rule multiplies where an embedding scores its paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Feature, Recent
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.table import Candidates
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.predictors.eta import voices
from rnnlogic.predictors.paths.model import PathModel, Turns
from rnnlogic.predictors.paths.settings import PathSettings
from rnnlogic.predictors.values import RuleValues
from rnnlogic.rules.ruleset import RuleSet


class PathValues(RuleValues):
    """Values of rules whose paths an embedding scores."""

    scores_paths = True

    def __init__(self, rules: RuleSet, feature: Feature, paths: PathModel) -> None:
        super().__init__(rules, feature)
        self.paths = paths
        self._turns: Recent[Turns] = Recent(8)  # relations whose turns are held in memory

    def phi(self, candidates: Candidates) -> NDArray[np.float32]:
        """phi [n] of the paths of each rule to each candidate."""
        if not len(candidates.rule):
            return np.empty(0, np.float32)
        relation = candidates.relation
        turns = self._turns.get(relation, lambda: self.paths.turns(self.rules, relation))
        return self.paths.phi(turns, candidates)

    def of(self, rules: RuleSet) -> PathValues:
        """The same for other rules."""
        return PathValues(rules, self.feature, self.paths)

    def scorer(self, weights: NDArray[np.float64], threads: int | None) -> AnswerScorer:
        """Weighted rules as something that answers, without a say of the embedding itself."""
        from rnnlogic.predictors.paths.predictor import PathRuleScorer

        return PathRuleScorer(self.rules, weights, self.feature, self.paths, 0.0, threads)


def path_model(embedding: Scorer | None, settings: PathSettings) -> PathModel | None:
    """How an embedding scores paths by these settings; None if none is a RotatE, as no other can."""
    embedding = next((part for part in voices(embedding) if isinstance(part, RotatE)), None)
    if embedding is None:
        return None
    delta = embedding.margin + settings.shift if settings.delta is None else settings.delta
    return PathModel(embedding, delta, settings.temperature, settings.distance)
