"""How far weights are regularised: features less than rules, of which there are thousands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rnnlogic.features.table import Candidates
from rnnlogic.rules.ruleset import RuleSet


def feature_scale(rules: RuleSet, ids: NDArray[np.int64], decay: float) -> NDArray[np.float64]:
    """What values of rules [ids] are multiplied with while weights are learned: then these cost less.

    Features bear a share of the weight decay, and `itself`, which has to speak against all rules that
    lead back to X, the square of that.
    """
    scale = np.where(rules.are_features[ids], 1 / np.sqrt(decay), 1.0)
    scale[rules.are_feature("itself")[ids]] *= 1 / np.sqrt(decay)
    return scale


def scaled(found: Candidates, scale: NDArray[np.float64]) -> Candidates:
    """The examples with the values of each rule [k] multiplied."""
    if (scale == 1).all():
        return found
    return replace(found, value=found.value * scale.astype(np.float32)[found.rule])
