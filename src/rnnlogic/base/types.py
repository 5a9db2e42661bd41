"""Types that many rooms share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]  # arrays by name, as they are kept on disk
Queries = NDArray[np.int32]  # [n, 3] head, relation in 0..2R-1, answer
PathKind = Literal["simple", "walks"]  # what grounds a chain: paths that visit no entity twice, or all walks
Feature = Literal["count", "log1p", "binary"]  # of n paths: n, log(1 + n), or 1 if there is any


class Progress(Protocol):
    """Reports the progress of work that has several stages."""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` steps of a stage are finished; the note gives the current metric."""


class Tick(Protocol):
    """Reports the progress of one stage."""

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """`done` of `total` steps are finished; the note gives the current metric."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Show no progress."""
    del stage, done, total, note


def no_tick(done: int, total: int, note: str = "") -> None:
    """Show no progress of one stage."""
    del done, total, note


Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Keeps the `most` values used last, by key. Two threads may make the same value; only one is kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key; `make` creates it if it is missing."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            value = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value

    def __reduce__(self) -> tuple[type[Recent[Value]], tuple[int]]:
        return Recent, (self._most,)
