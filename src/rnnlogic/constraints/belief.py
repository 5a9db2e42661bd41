"""When a constraint is believed: facts break it far less often than chance would."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

# Facts must break a constraint this much less often than chance, or a weight had better learn it. Chosen on
# validation facts: with 10, those of FB15k-237, WN18RR, UMLS and Kinship break it in 9 of 24,012 cases; with
# 5 in 15, and the validation MRR of Kinship falls by .0002.
RARER = 10
# One with exceptions excludes nothing: it is told, and for two relations it decides the sign of a weight that
# is learned. With 1.5, 2 and 3 the validation MRR of UMLS and Kinship is as without it.
SELDOM = 3
SURE = 0.95  # of the bound on how often facts break it, the usual level


def is_believed(exceptions: ArrayLike, expected: ArrayLike, rarer: float = RARER) -> NDArray[Any]:
    """Whether facts break a constraint at most 1/rarer as often as chance would.

    Exceptions are taken as a Poisson number; its upper bound must be that small. Without exceptions the bound
    is 3 (the rule of three), so chance must break the constraint 3 rarer times. Few facts prove nothing.
    """
    upper = gammaincinv(np.asarray(exceptions, float) + 1, SURE)
    return np.asarray(upper * rarer <= np.asarray(expected, float))


def is_listed(exceptions: ArrayLike, expected: ArrayLike) -> NDArray[Any]:
    """Whether a constraint is believed, or less so if there are exceptions, so that it excludes nothing."""
    told = (np.asarray(exceptions) > 0) & is_believed(exceptions, expected, SELDOM)
    return np.asarray(told | is_believed(exceptions, expected))
