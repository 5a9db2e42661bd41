"""Run independent pieces of work on threads and hand back results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

QUEUED = 2  # unfinished pieces per thread: one at work, one ready
AHEAD = 32  # pieces begun before the next result is taken, per thread: a slow piece must not stall the others


def in_order(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    threads: int,
    size: Callable[[Result], int],
    most: int,
) -> Iterator[Result]:
    """`work` of every item, in order; on several threads if allowed (kernels release the GIL).

    No new piece is queued while finished results of more than `most` in size wait to be taken.
    """
    if threads <= 1 or len(items) <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                while waiting and _is_time_to_take(waiting, AHEAD * threads, size, most):
                    yield waiting.popleft().result()
                _wait_for_room(waiting, QUEUED * threads)
                waiting.append(pool.submit(work, item))
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
