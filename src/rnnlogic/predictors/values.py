"""What the weight of a rule multiplies: a feature of its walks, and path scores where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Feature
from rnnlogic.features.table import Candidates, transformed
from rnnlogic.rules.ruleset import RuleSet

if TYPE_CHECKING:
    from rnnlogic.predictors.base import AnswerScorer


class RuleValues:
    """Values of rules whose paths all count alike."""

    scores_paths = False  # whether an embedding scores them

    def __init__(self, rules: RuleSet, feature: Feature) -> None:
        self.rules, self.feature = rules, feature

    def features(self, candidates: Candidates) -> NDArray[np.float64]:
        """The feature [n] of each rule at each candidate."""
        return transformed(candidates, self.feature)

    def phi(self, candidates: Candidates) -> NDArray[np.float32] | None:
        """The embedding's score [n] of the paths of each rule to each candidate; None where all are 1."""
        del candidates
        return None

    def examples(self, candidates: Candidates) -> NDArray[np.float32]:
        """Feature times path score [n], to learn weights from."""
        value, phi = transformed(candidates, self.feature, np.float32), self.phi(candidates)
        return value if phi is None else value * phi

    def of(self, rules: RuleSet) -> RuleValues:
        """The same for other rules."""
        return RuleValues(rules, self.feature)

    def scorer(self, weights: NDArray[np.float64], threads: int | None) -> AnswerScorer:
        """Weighted rules as something that answers."""
        from rnnlogic.predictors.loglinear.predictor import RuleScorer

        return RuleScorer(self.rules, weights, self.feature, threads)
