"""A time budget that is handed down: a stage gets a share of what is left, and says what it cut.

Results that a cut made smaller are kept with the stage, so a resumed fit does not decide again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from rnnlogic.base.types import Tick

Cut = Callable[[str, str], None]  # notes what a stage left out


def no_cut(stage: str, what: str) -> None:
    """Note nothing."""
    del stage, what


class TimeIsUp(Exception):  # noqa: N818
    """The time is up for work that leaves nothing behind; who gave the budget goes on without it."""


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


def passes(first: int, total: int, factor: int = 5) -> list[tuple[int, int]]:
    """Ranges [a, b) that cover 0..total, each as long as all before it times factor - 1."""
    ends = [first]
    while ends[-1] < total:
        ends.append(ends[-1] * factor)
    return list(zip([0, *ends], [min(end, total) for end in ends], strict=False)) if total else []
