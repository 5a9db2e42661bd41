"""The feature that a rule's weight multiplies, computed from its number of walks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rnnlogic.base.types import Feature
from rnnlogic.grounding.kernels import features_of

FEATURE_CODES: dict[Feature, int] = {"count": 0, "log1p": 1, "binary": 2}  # as kernels use them


def feature_values(counts: NDArray[Any], feature: Feature, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """The feature of each number of walks [n]; values of named evidence, given as negative counts, stay."""
    values = np.empty(len(counts), dtype)
    features_of(counts, FEATURE_CODES[feature], values)
    return values
