"""Work that a page does not wait for: it shows a sign of life at once, and the result when it is there."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

from fastapi import Request

Result = TypeVar("Result")

SOON = 0.3  # seconds; people take a page that is blank for longer for broken
KEPT = 64  # results
DESTINATION = "sec-fetch-dest"  # browsers say with it what a page or a script is fetched for


class Later:
    """Results by key; what is under way goes on when the page that began it has been sent."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[Hashable, asyncio.Task[Any]] = OrderedDict()

    async def get(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, Result]], seconds: float | None
    ) -> Result | None:
        """The result if it is there in time, else None; errors of the work are raised and not kept."""
        task: asyncio.Task[Result] | None = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._forget(key, done))
        self._tasks.move_to_end(key)
        while len(self._tasks) > KEPT:
            self._tasks.popitem(last=False)
        return await _in_time(task, seconds)

    def _forget(self, key: Hashable, done: asyncio.Task[Any]) -> None:
        if (done.cancelled() or done.exception() is not None) and self._tasks.get(key) is done:
            del self._tasks[key]


async def _in_time(task: asyncio.Task[Result], seconds: float | None) -> Result | None:
    if not task.done():
        await asyncio.wait({task}, timeout=seconds)
    return task.result() if task.done() else None


def patience(request: Request) -> float | None:
    """How long a page waits for its result: briefly if a browser shows it, else until it is there."""
    return SOON if request.headers.get(DESTINATION) == "document" else None


def is_browser(request: Request) -> bool:
    """Whether a browser asks, for a person or for our script; programs get pages that are complete."""
    return DESTINATION in request.headers
