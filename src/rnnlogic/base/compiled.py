"""How kernels are compiled: on first use, cached on disk, without the GIL."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from rnnlogic.base.progress import Count

Function = TypeVar("Function", bound=Callable[..., Any])

# Lets the compiler reorder sums and estimate 1 / sqrt (refined once), so that loops use vector instructions.
FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}


class _Compilations(event.Listener):  # type: ignore[misc]
    """Counts compilations; a kernel that another one calls is compiled within that one's time.

    Numba compiles under a lock, so no two threads are at it at once.
    """

    def __init__(self) -> None:
        self._depth, self._began = 0, 0.0

    def on_start(self, event: Any) -> None:
        del event
        if self._depth == 0:
            self._began = time.monotonic()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        del event
        self._depth -= 1
        Count.add(time.monotonic() - self._began if self._depth == 0 else 0.0)


event.register("numba:compile", _Compilations())


def compiled(function: Function) -> Function:
    """Compile with exact arithmetic: the same result on every machine."""
    return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))


def vectorised(function: Function) -> Function:
    """Compile with relaxed arithmetic: faster, but the last bits depend on the machine."""
    return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)(function))


def inlined(function: Function) -> Function:
    """Compile, with relaxed arithmetic, only as a part of the kernels that call it.

    A relaxed function that stays one would exist twice: as compiled for itself, and as optimised once more
    inside its caller. A process that compiles runs the first, one that reads the cache the second, and their
    last bits differ.
    """
    options: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": FAST}
    return cast(Function, numba.njit(**options, forceinline=True)(function))
