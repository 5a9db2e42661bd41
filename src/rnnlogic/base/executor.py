"""The one way to run things side by side.

`map_ordered(function, units, shared)` calls `function(shared, unit)` for every unit and yields the results in
order. The function is defined at module level, units are small, and what all units need (a graph, rules, an
embedding) is handed over once as `shared`: so the same call can run on threads, in processes or on a cluster
with the same results. Threads are the only implementation so far; kernels release the GIL.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TypeVar

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.workers import is_worker

Shared = TypeVar("Shared")
Unit = TypeVar("Unit")
Result = TypeVar("Result")

THREADS_VARIABLE = "RNNLOGIC_THREADS"
QUEUED = 2  # unfinished units per thread: one running, one ready
AHEAD = 32  # units started before the next result is taken, per thread: a slow one must not stall the rest


def default_threads() -> int:
    """Number of threads to use: $RNNLOGIC_THREADS if set, else all cores that this process may use."""
    wanted = os.environ.get(THREADS_VARIABLE, "")
    if wanted and not (wanted.isdigit() and int(wanted)):
        raise RNNLogicError(f"${THREADS_VARIABLE} is {wanted!r}; it must be a whole number of at least 1")
    if wanted:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _nothing(result: object) -> int:
    del result
    return 0


def map_ordered(
    function: Callable[[Shared, Unit], Result],
    units: Sequence[Unit],
    shared: Shared,
    threads: int | None = None,
    size: Callable[[Result], int] = _nothing,
    most: int = 1,
) -> Iterator[Result]:
    """Yield `function(shared, unit)` for every unit, in order, on `threads` threads (default: all cores).

    No new unit is queued while the finished results that wait to be taken exceed `most` in total size.
    """
    threads = 1 if is_worker() else threads or default_threads()
    if threads <= 1 or len(units) <= 1:
        yield from map(partial(function, shared), units)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for unit in units:
                while waiting and _is_time_to_take(waiting, AHEAD * threads, size, most):
                    yield waiting.popleft().result()
                _wait_for_room(waiting, QUEUED * threads)
                waiting.append(pool.submit(function, shared, unit))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _is_time_to_take(
    waiting: deque[Future[Result]], longest: int, size: Callable[[Result], int], most: int
) -> bool:
    finished = [future.result() for future in waiting if future.done()]
    return waiting[0].done() or len(waiting) >= longest or sum(map(size, finished)) > most


def _wait_for_room(waiting: deque[Future[Result]], most: int) -> None:
    unfinished = [future for future in waiting if not future.done()]
    while len(unfinished) >= most:
        unfinished = list(wait(unfinished, return_when=FIRST_COMPLETED).not_done)
