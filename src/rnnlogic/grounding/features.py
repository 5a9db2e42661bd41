"""The feature that a rule's weight multiplies, computed from its number of walks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Feature

FEATURE_CODES: dict[Feature, int] = {"count": 0, "log1p": 1, "binary": 2}  # as kernels use them


def feature_values(counts: NDArray[Any], feature: Feature) -> NDArray[np.float64]:
    """The feature of each number of walks [n]; values of named evidence, given as negative counts, stay."""
    if counts.dtype.kind == "f":
        return np.where(counts < 0, -counts, _of_walks(np.maximum(counts, 0), feature))
    return _of_walks(counts, feature)


def _of_walks(counts: NDArray[Any], feature: Feature) -> NDArray[np.float64]:
    if feature == "binary":
        return np.ones(len(counts))
    return np.log1p(counts, dtype=np.float64) if feature == "log1p" else counts.astype(np.float64)
