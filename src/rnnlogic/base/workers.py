"""Threads for work that comes one by one, such as requests; inside them `map_ordered` uses no further ones.

Work that is there all at once belongs to `map_ordered`. Here each piece is whole and independent, so they run
side by side, and splitting one among threads that are busy anyway would only cost.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from rnnlogic.base.executor import enter_unit

Result = TypeVar("Result")


class Workers:
    """A fixed number of threads."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "worker", initializer=enter_unit)

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        """Run a function as soon as a thread is free."""
        return self._pool.submit(function)

    def close(self) -> None:
        """Drop what has not begun; what has begun comes to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
