"""Zeros for kernels that leave them as they found them: one array per entity, kept by each thread.

On a graph of millions of entities it takes longer to clear such arrays than to ground a chunk of queries.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class _Kept(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[tuple[str, np.dtype[Any]], NDArray[Any]] = {}


_KEPT = _Kept()


@contextmanager
def zeros(purpose: str, size: int, dtype: DTypeLike = np.float64) -> Iterator[NDArray[Any]]:
    """Inside `with`, an array of zeros, which must be zeros again at its end; after an error it is dropped.

    The last one of each purpose and type is kept.
    """
    key = purpose, np.dtype(dtype)
    found = _KEPT.arrays.pop(key, None)
    if found is None or len(found) != size:
        found = np.zeros(size, dtype)
    yield found
    _KEPT.arrays[key] = found
