"""How far weights are regularised: features less than rules, long rules more than short ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rnnlogic.features.table import Candidates
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from rnnlogic.rules.ruleset import RuleSet


def decay_scale(rules: RuleSet, ids: NDArray[np.int64], settings: LogLinearSettings) -> NDArray[np.float64]:
    """What values of rules [ids] are multiplied with while weights are learned: then these cost less.

    Features bear a share of the weight decay, and `itself`, which has to speak against all rules that
    lead back to X, the square of that. A rule bears more with each step after the first.
    """
    share = 1 / np.sqrt(settings.evidence_decay)
    longer = np.maximum(rules.lengths[ids] - 1, 0)
    scale = np.where(rules.are_features[ids], share, settings.length_decay ** (-longer / 2))
    scale[rules.are_feature("itself")[ids]] *= share
    return scale


def scaled(found: Candidates, scale: NDArray[np.float64]) -> Candidates:
    """The examples with the values of each rule [k] multiplied."""
    if (scale == 1).all():
        return found
    return replace(found, value=found.value * scale.astype(np.float32)[found.rule])
