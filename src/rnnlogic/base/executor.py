"""The one way to run things side by side.

`map_ordered(function, units, shared)` calls `function(shared, unit)` for every unit and yields the results in
order. The function is defined at module level, units are small, and what all units need (a graph, rules, an
embedding) is handed over once as `shared`: so the same call runs on threads, in other processes or on a Ray
cluster (`clusters.py`), with the same results bit for bit. Kernels release the GIL, so threads are the
default. `Workers` are threads for work that comes one by one, such as requests.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from rnnlogic.base.budget import enforce_until, enforced_until
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.text import whole_number

Shared = TypeVar("Shared")
Unit = TypeVar("Unit")
Result = TypeVar("Result")

THREADS_VARIABLE = "RNNLOGIC_THREADS"
QUEUED = 2  # unfinished units per thread: one running, one ready
AHEAD = 32  # units started before the next result is taken, per thread: a slow one must not stall the rest


def default_threads() -> int:
    """Number of threads to use: $RNNLOGIC_THREADS if set, else all cores that this process may use."""
    wanted = os.environ.get(THREADS_VARIABLE, "")
    if wanted:
        number = whole_number(wanted)
        if not number:
            found = f"${THREADS_VARIABLE} is {wanted[:20]!r}"
            raise RNNLogicError(f"{found}; it must be a whole number of at least 1")
        return number
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _nothing(result: object) -> int:
    del result
    return 0


class _Place(threading.local):
    is_unit = False  # whether this thread runs a unit: what that maps itself is done one after another


_PLACE = _Place()


def map_ordered(
    function: Callable[[Shared, Unit], Result],
    units: Sequence[Unit],
    shared: Shared,
    threads: int | None = None,
    size: Callable[[Result], int] = _nothing,
    most: int = 1,
    here: bool = False,
) -> Iterator[Result]:
    """Yield `function(shared, unit)` for every unit, in order.

    They run on the cluster that `on_cluster` names, if it names one; else, and always if they must stay
    `here`, on `threads` threads (default: all cores). No new unit is queued while the finished results that
    wait to be taken exceed `most` in total size.
    """
    from rnnlogic.base.clusters import Grouping, current_cluster  # which imports this file

    threads = threads or default_threads()
    if len(units) <= 1 or _PLACE.is_unit:
        yield from map(partial(function, shared), units)
        return
    cluster = None if here else current_cluster()
    if cluster is not None:
        with cluster.sharing(function, shared) as submit:
            groups = Grouping(units, submit, cluster.workers)
            for results in _in_order(groups.futures(), cluster.workers, partial(_sizes, size), most):
                yield from groups.measured(results)
    elif threads <= 1:
        yield from map(partial(function, shared), units)
    else:
        unwanted = threading.Event()  # after Ctrl-C or an error the pool waits for units that may take long
        told = enforced_until(), unwanted
        with ThreadPoolExecutor(threads, initializer=enter_unit, initargs=told) as pool:
            futures = (pool.submit(function, shared, unit) for unit in units)
            try:
                yield from _in_order(futures, threads, size, most)
            finally:
                unwanted.set()


def enter_unit(until: float = math.inf, unwanted: threading.Event | None = None) -> None:
    """Say that this thread runs units from now on, within the enforced time and while they are wanted."""
    _PLACE.is_unit = True
    enforce_until(until, unwanted)


def _sizes(size: Callable[[Result], int], done: tuple[list[Result], float]) -> int:
    return sum(map(size, done[0]))


def _in_order(
    futures: Iterator[Future[Result]], workers: int, size: Callable[[Result], int], most: int
) -> Iterator[Result]:
    """Results of futures in order; each step of the iterator submits one."""
    waiting: deque[Future[Result]] = deque()
    try:
        while True:
            while waiting and _is_time_to_take(waiting, AHEAD * workers, size, most):
                yield waiting.popleft().result()
            _wait_for_room(waiting, QUEUED * workers)
            future = next(futures, None)
            if future is None:
                break
            waiting.append(future)
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread inside `with`.

    L-BFGS calls it thousands of times on tiny matrices: threads of its own would mostly wait for each other,
    and the last bits of a sum would depend on their number.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8  # names of glibc's malloc.h
KEPT = 1 << 30  # bytes that may stay with the process when they are free
LARGEST = 1 << 28  # an array larger than this is given back at once


def reuse_memory() -> bool:
    """Ask the C library to keep freed memory; whether it could be asked (glibc only).

    Every large array would otherwise be mapped anew, page by page: a fifth of the processor time of a fit.
    Threads share one arena: those of their own give back every array above 64 MB.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return False
    options = (ARENA_MAX, 1), (MMAP_THRESHOLD, LARGEST), (TRIM_THRESHOLD, KEPT)
    return all(set_option(name, value) for name, value in options)
