"""Honest signs: a rule that reaches answers more often than chance does never counts against an answer.

The lift of a rule is the number of answers it reaches over the number that chance would reach: so many
candidates of each query, drawn at random. Rules of small lift may speak against an answer, those of a large
one only for it; a rule between may do either. Entities that are linked at all are answers more often than
others, so a relation that excludes an answer but for exceptions is compared with chance among linked pairs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rnnlogic.features.table import Candidates
from rnnlogic.predictors.loglinear.kernels import answers_reached
from rnnlogic.rules.ruleset import RuleSet

Signs = NDArray[np.int8]  # [rules] 1: at least 0, -1: at most 0, 0: free
Lifts = NDArray[np.float64]  # [rules] nan where nothing is known

CAUTION = 1.0  # answers more than a rule reaches, and as many more by chance: few cases say little


def lifts_of(found: Candidates, is_feature: NDArray[np.bool_]) -> Lifts:
    """The lift of each rule [k] in training examples; nan for rules that reach nothing.

    What a rule reaches counts once, however many paths lead there; features count by their values, in
    units of their mean.
    """
    right, chance, total = answers_reached(found.examples, found.multiplicity, is_feature)
    is_known = total[0] > 0
    is_known &= ~is_feature | (total[1] > 0)
    unit = np.where(is_feature & is_known, total[1] / np.maximum(total[0], 1e-300), 1.0)
    lift = (right + CAUTION * unit) / (chance + CAUTION * unit)
    return np.where(is_known, lift, np.nan)


def among_linked(lift: Lifts, rules: RuleSet, seldom: Mapping[tuple[int, int], float]) -> Lifts:
    """Lifts [k]; those of rules of one step whose relation seldom goes with the head are told by `seldom`."""
    found = lift.copy()
    for i in np.flatnonzero(rules.are_chains & (rules.lengths == 1)).tolist():
        pair = int(rules.heads[i]), int(rules.body[rules.body_ptr[i]])
        found[i] = min(found[i], seldom.get(pair, np.inf))  # nan stays
    return found


def signs_of(lift: Lifts, margin: float | None) -> Signs:
    """Which sign the weight of each rule must have; all are free where there is no margin."""
    signs = np.zeros(len(lift), np.int8)
    if margin is not None:
        signs[lift <= 1 / margin] = -1  # comparisons with nan are false
        signs[lift >= margin] = 1
    return signs


def clipped(weights: NDArray[np.float64], signs: Signs) -> NDArray[np.float64]:
    """Weights, 0 where they have the wrong sign."""
    return np.where(weights * signs < 0, 0.0, weights)


def limits_of(signs: Signs, most: float | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the greatest weight [k] of each rule, with |weight| at most so much."""
    limit = np.inf if most is None else most
    return np.where(signs > 0, 0.0, -limit), np.where(signs < 0, 0.0, limit)
