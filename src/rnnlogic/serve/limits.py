"""What one request may cost: its size, its answers, its work, its time, and how many run at once.

Work is estimated before it is done (`features/chains/cost.py`). A request that is too expensive is refused at
once with a reason; one that finds all threads and the queue taken is told to retry.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from itertools import islice
from typing import TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rnnlogic.base.executor import Workers, default_threads
from rnnlogic.serve.problems import ProblemError, response_of
from rnnlogic.serve.runs import Limits

Result = TypeVar("Result")

STREAMED = 16  # items of a stream that are made at a time


class Desk:
    """Runs the work of requests on a few threads; each request is whole on one of them."""

    def __init__(self, limits: Limits, threads: int | None = None) -> None:
        self.limits = limits
        self.threads = threads or default_threads()
        self._workers, self._long = Workers(self.threads), Workers(1)
        self._is_long, self._count = threading.Lock(), threading.Lock()
        self.taken = 0  # requests that run or wait

    async def run(self, work: Callable[[], Result]) -> Result:
        """The result of a request's work, in time or not at all."""
        with self._count:
            if self.taken >= self.threads + self.limits.waiting:
                raise ProblemError(
                    503, "server busy, the queue is full; retry in a second", {"Retry-After": "1"}
                )
            self.taken += 1
        future = self._workers.submit(work)
        future.add_done_callback(lambda _: self._leave())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except TimeoutError:
            raise ProblemError(504, f"no answer within {self.limits.seconds:g} s; ask for less") from None

    async def stream(
        self, make: Callable[[Deadline], Iterator[Result]]
    ) -> AsyncGenerator[list[Result], None]:
        """Items of long work as they come, some at a time; only one request does such work at a time."""
        if not self._is_long.acquire(blocking=False):
            raise ProblemError(
                503, "another completion is running; retry when it has ended", {"Retry-After": "10"}
            )
        try:
            deadline = Deadline(self.limits.long_seconds)
            items = make(deadline)
            while part := await self._part(items, deadline):
                yield part
        finally:
            self._is_long.release()

    async def _part(self, items: Iterator[Result], deadline: Deadline) -> list[Result]:
        work = self._long.submit(lambda: list(islice(items, STREAMED)))
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:  # the client is gone
            deadline.now()
            raise

    def close(self) -> None:
        """Take no more work."""
        self._workers.close()
        self._long.close()

    def _leave(self) -> None:
        with self._count:  # threads leave by themselves
            self.taken -= 1


class Deadline:
    """Ends long work from inside: it is given as progress, and raises once time is up."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` steps of a stage are finished."""
        del stage, done, total, note
        if time.monotonic() > self._end:
            raise ProblemError(504, f"not finished within {self._seconds:g} s; ask for one relation")

    def now(self) -> None:
        """Time is up."""
        self._end = 0.0


class BodyLimit:
    """Refuses requests whose body is too long, whatever their headers say."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > self._most:
            await self._refuse(scope, receive, send)
            return
        parts, size, more = [], 0, scope["method"] in ("POST", "PUT", "PATCH", "DELETE")
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False) and message["type"] == "http.request"
            if size > self._most:
                await self._refuse(scope, receive, send)
                return
        await self._app(scope, _replayed(b"".join(parts), receive) if parts else receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = ProblemError(413, f"the body may have at most {self._most:,} bytes")
        await response_of(problem)(scope, receive, send)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receiver that gives a body that was read already, then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
