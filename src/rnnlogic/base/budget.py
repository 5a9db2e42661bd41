"""A time budget that is handed down: a stage gets a share of what is left, and says what it cut.

Results that a cut made smaller are kept with the stage, so a resumed fit does not decide again. Within a unit
of work, which may be long, `check_time` ends what an `enforced` budget does not suffice for.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from rnnlogic.base.types import Tick, no_tick

Result = TypeVar("Result")
Cut = Callable[[str, str], None]  # notes what a stage left out


def no_cut(stage: str, what: str) -> None:
    """Note nothing."""
    del stage, what


class TimeIsUp(Exception):  # noqa: N818
    """The time is up for work that leaves nothing behind; who gave the budget goes on without it."""


class Unwanted(BaseException):
    """Nobody waits for this work any more; it ends at once, so nothing on the way may catch this."""


class _Enforced(threading.local):
    until = math.inf
    unwanted: threading.Event | None = None  # set once nobody waits for what this thread does


_HERE = _Enforced()


def check_time() -> None:
    """Raise TimeIsUp if the budget that is enforced in this thread is over, Unwanted if nobody waits."""
    if _HERE.unwanted is not None and _HERE.unwanted.is_set():
        raise Unwanted
    if time.monotonic() >= _HERE.until:
        raise TimeIsUp


def enforced_until() -> float:
    """When the budget that is enforced in this thread is over."""
    return _HERE.until


def enforce_until(until: float, unwanted: threading.Event | None = None) -> None:
    """Enforce in this thread what is enforced in the one that it works for, as long as that one waits."""
    _HERE.until, _HERE.unwanted = until, unwanted


@dataclass(frozen=True)
class Budget:
    """The time that a piece of work may take; without a limit nothing is ever cut."""

    until: float = math.inf  # a value of time.monotonic()
    note: Cut = no_cut

    @staticmethod
    def of_minutes(minutes: float | None, note: Cut = no_cut) -> Budget:
        """From now on so many minutes; no limit if none are given."""
        return Budget(math.inf if minutes is None else time.monotonic() + 60 * minutes, note)

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.until < math.inf

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.until - time.monotonic()) if self.is_limited else math.inf

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.is_limited and time.monotonic() >= self.until

    def share(self, part: float) -> Budget:
        """A budget of this part of the time that is left."""
        return replace(self, until=time.monotonic() + part * self.left) if self.is_limited else self

    @property
    def minutes(self) -> float | None:
        """Minutes that are left; None without a limit."""
        return self.left / 60 if self.is_limited else None

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Inside, `check_time` raises TimeIsUp once the time is up, also in threads that units run on."""
        before = _HERE.until
        _HERE.until = min(before, self.until)
        try:
            yield
        finally:
            _HERE.until = before

    def timely(self, results: Iterable[Result]) -> Iterator[Result]:
        """Results as long as there is time: the first in any case, unless its own work runs out of time."""
        every = iter(results)
        try:
            while True:
                with UNLIMITED.enforced() if self.is_over else self.enforced():
                    result = next(every)
                yield result
                if self.is_over:
                    return
        except (StopIteration, TimeIsUp):
            return

    def check(self) -> None:
        """Raise TimeIsUp if the time is up."""
        if self.is_over:
            raise TimeIsUp

    def guarded(self, tick: Tick) -> Tick:
        """The same reports of progress; they raise TimeIsUp once the time is up."""

        def checked(done: int, total: int, note: str = "") -> None:
            tick(done, total, note)
            if done < total:
                self.check()

        return checked if self.is_limited else tick

    def cut(self, stage: str, what: str) -> None:
        """Note what a stage leaves out."""
        self.note(stage, what)


UNLIMITED = Budget()


class Work(NamedTuple):
    """How a piece of work is done."""

    threads: int | None = None  # all cores if not given
    tick: Tick = no_tick  # is told of the progress
    budget: Budget = UNLIMITED  # the time that it may take


PLAIN_WORK = Work()


def growing(ask: Callable[[int], Result], first: int, total: int, budget: Budget) -> tuple[Result, int]:
    """`ask` of ever larger samples, until all is asked or the next would take too long; and its size.

    The first is asked in any case.
    """
    size, began = min(first, total), time.monotonic()
    found = ask(size)
    while not budget.is_over:
        rate = size / max(time.monotonic() - began, 1e-6)
        larger = min(total, 5 * size, int(0.8 * rate * budget.left))
        if (larger < 1.5 * size and larger < total) or larger <= size:
            break
        began = time.monotonic()
        try:
            with budget.enforced():
                found = ask(larger)
        except TimeIsUp:
            break
        size = larger
    return found, size


def passes(first: int, total: int, factor: int = 5) -> list[tuple[int, int]]:
    """Ranges [a, b) that cover 0..total, each as long as all before it times factor - 1."""
    ends = [first]
    while ends[-1] < total:
        ends.append(ends[-1] * factor)
    return list(zip([0, *ends], [min(end, total) for end in ends], strict=False)) if total else []
