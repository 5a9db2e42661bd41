"""Progress of long work: a bar for every stage on a terminal, a line for every stage otherwise."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import NamedTuple, Protocol

from rnnlogic.base.text import visible


class Compiled(NamedTuple):
    """Kernels that were compiled, not read from the cache on disk."""

    kernels: int = 0
    seconds: float = 0.0

    def since(self, before: Compiled) -> Compiled:
        """What came after an earlier count."""
        return Compiled(self.kernels - before.kernels, self.seconds - before.seconds)


class Count:
    """The count of this process; base/compiled.py adds to it."""

    now = Compiled()

    @classmethod
    def add(cls, seconds: float) -> None:
        """One more kernel, compiled in so many seconds."""
        cls.now = Compiled(cls.now.kernels + 1, cls.now.seconds + seconds)


# What is left cannot be told before so much of a stage is done, as a share and in seconds
LEAST_SHARE, LEAST_SECONDS = 0.05, 5.0
LEAST_COMPILED = 1.0  # seconds of compilation that are worth a line


class StageProgress:
    """Shows stages on standard error, so that standard output holds results only. Use it in `with`."""

    def __init__(self) -> None:
        self._view: _View = _Bars() if sys.stderr.isatty() else _Lines()

    def __enter__(self) -> StageProgress:
        self._view.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.stop()

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` steps of a stage are finished; the note is the current metric, or empty."""
        self._view.show(stage, done, total, note)


def seconds_left(done: float, total: float, seconds: float) -> float | None:
    """How long the rest of a stage will take; None as long as that cannot be told."""
    if not LEAST_SHARE * total <= done < total or seconds < LEAST_SECONDS:
        return None
    return seconds * (total - done) / done


def _print(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)


class _View(Protocol):
    def start(self) -> None: ...
    def show(self, stage: str, done: int, total: int, note: str) -> None: ...
    def stop(self) -> None: ...


class _Bars:
    """A bar with the remaining time for the current stage; finished stages keep the time they took."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            Task,
            TaskID,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.text import Text

        class Left(ProgressColumn):
            max_refresh = 0.5

            def render(self, task: Task) -> Text:
                left = seconds_left(task.completed, task.total or 0, task.elapsed or 0.0)
                is_over = left is None or task.stop_time is not None
                return Text("" if is_over else f"about {left:.0f} s left")

        self._bars = Progress(
            TextColumn("{task.description:<16}"),
            BarColumn(24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            Left(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._tasks: dict[str, TaskID] = {}
        self._compile: TaskID | None = None
        self._compiled = Count.now

    def start(self) -> None:
        self._bars.start()

    def show(self, stage: str, done: int, total: int, note: str) -> None:
        if stage not in self._tasks:
            for task in self._tasks.values():
                self._bars.stop_task(task)
            self._tasks[stage] = self._bars.add_task(stage, total=total, note=note)
        self._bars.update(self._tasks[stage], completed=done, total=total, note=note)
        self._show_compiled()

    def _show_compiled(self) -> None:
        """A bar of its own for what was compiled: its time is also in the bar of the stage that needed it."""
        found = Count.now.since(self._compiled)
        if found.seconds < LEAST_COMPILED:
            return
        if self._compile is None:
            self._compile = self._bars.add_task("compile", total=found.kernels, note="")
            self._bars.stop_task(self._compile)
        note = f"{found.seconds:.0f} s, once on this machine"
        self._bars.update(self._compile, completed=found.kernels, total=found.kernels, note=note)

    def stop(self) -> None:
        self._bars.stop()


class _Lines:
    """One line when a stage ends, and one every minute during a long stage."""

    def __init__(self) -> None:
        self._stage, self._note = "", ""
        self._done = self._total = 0
        self._began = self._printed = self._told = time.monotonic()
        self._compiled = Count.now

    def start(self) -> None:
        pass

    def show(self, stage: str, done: int, total: int, note: str) -> None:
        if stage != self._stage:
            self._flush()
            self._stage = stage
            self._began = self._printed = time.monotonic()
            self._compiled = Count.now
        self._done, self._total, self._note, self._told = done, total, note, time.monotonic()
        # Without a terminal a stage prints a line a minute
        if self._told - self._printed > 60.0:
            seconds = self._told - self._began
            left = seconds_left(done, total, seconds)
            _print(self._line(seconds) + ("" if left is None else f", about {left:.0f} s left"))
            self._printed = self._told

    def stop(self) -> None:
        self._flush()

    def _line(self, seconds: float) -> str:
        note = f", {self._note}" if self._note else ""
        return f"{self._stage}: {self._done}/{self._total}, {seconds:.0f} s{note}"

    def _flush(self) -> None:
        """Tell the stage that ends, and apart from it what was compiled in its time."""
        if self._stage:
            ended = self._told if self._done >= self._total else time.monotonic()
            compiled = Count.now.since(self._compiled)
            if compiled.seconds >= LEAST_COMPILED:
                _print(f"compile: {compiled.kernels} kernels, {compiled.seconds:.0f} s, once on this machine")
            _print(self._line(max(0.0, ended - self._began - compiled.seconds)))
        self._stage = ""
