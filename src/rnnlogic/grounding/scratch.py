"""Zeros for kernels that leave them as they found them: one array per entity, kept by each thread.

On a graph of millions of entities it takes longer to clear such arrays than to ground a chunk of queries.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class _Kept(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[tuple[str, np.dtype[Any]], NDArray[Any]] = {}


_KEPT = _Kept()


def zeros(purpose: str, size: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """An array of zeros, which its user must leave as zeros; the last of each purpose and type is kept."""
    key = purpose, np.dtype(dtype)
    found = _KEPT.arrays.get(key)
    if found is None or len(found) != size:
        found = _KEPT.arrays[key] = np.zeros(size, dtype)
    return found
