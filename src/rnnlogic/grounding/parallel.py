"""Run independent pieces of work on threads and hand back results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # finished results that may wait, per thread: bounds memory when the consumer is slow


def in_order(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> Iterator[Result]:
    """`work` of every item, in order; on several threads when it pays (kernels release the GIL)."""
    if threads <= 1 or len(items) <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                if len(waiting) >= AHEAD * threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(work, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
