"""The feature that a rule's weight multiplies, computed from its number of walks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rnnlogic.base.types import Feature

FEATURE_CODES: dict[Feature, int] = {"count": 0, "log1p": 1, "binary": 2}  # as kernels use them


_LOG1P = np.log1p(np.arange(1024.0))  # most walks are few: looking up is much faster


def feature_values(counts: NDArray[Any], feature: Feature, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """The feature of each number of walks [n]; values of named evidence, given as negative counts, stay."""
    if counts.dtype.kind == "f":
        return np.where(counts < 0, -counts, _of_walks(np.maximum(counts, 0), feature)).astype(dtype)
    return _of_walks(counts, feature, dtype)


def _of_walks(counts: NDArray[Any], feature: Feature, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    if feature == "binary":
        return np.ones(len(counts), dtype)
    if feature == "count":
        return np.asarray(counts.astype(np.float64), dtype)
    if counts.dtype.kind == "f":
        return np.asarray(np.log1p(counts), dtype)
    values: NDArray[Any] = _LOG1P.astype(dtype)[np.minimum(counts, len(_LOG1P) - 1)]
    many = np.flatnonzero(counts >= len(_LOG1P))
    values[many] = np.log1p(counts[many], dtype=np.float64)
    return values
