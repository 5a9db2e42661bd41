"""The feature that a rule's weight multiplies, computed from its number of walks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rnnlogic.base.types import Feature
from rnnlogic.features.chains.kernels import features_of
from rnnlogic.features.table import Candidates

FEATURE_CODES: dict[Feature, int] = {"count": 0, "log1p": 1, "binary": 2}  # as kernels use them


def codes_of(counts_paths: NDArray[np.bool_], feature: Feature) -> NDArray[np.int8]:
    """The code of what becomes of each rule's value [k]: features that count no paths stay as they are."""
    return np.where(counts_paths, FEATURE_CODES[feature], FEATURE_CODES["count"]).astype(np.int8)


def transformed(found: Candidates, feature: Feature, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """What the weight of each rule multiplies at each candidate [n]."""
    values = np.empty(len(found.count), dtype)
    features_of(found.count, found.rule, codes_of(found.counts_paths, feature), values)
    return values
