"""Progress of a long command: a bar for every stage on a terminal, a line for every stage otherwise."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol

from rnnlogic.cli.output import echo

LINE_EVERY = 60.0  # seconds between two lines of the same stage, without a terminal


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
            TaskID,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._bars = Progress(
            TextColumn("{task.description:<16}"),
            BarColumn(24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=False),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._tasks: dict[str, TaskID] = {}

    def start(self) -> None:
        self._bars.start()

    def show(self, stage: str, done: int, total: int, note: str) -> None:
        if stage not in self._tasks:
            for task in self._tasks.values():
                self._bars.stop_task(task)
            self._tasks[stage] = self._bars.add_task(stage, total=total, note=note)
        self._bars.update(self._tasks[stage], completed=done, total=total, note=note)

    def stop(self) -> None:
        self._bars.stop()


class _Lines:
    """One line when a stage ends, and one every minute during a long stage."""

    def __init__(self) -> None:
        self._stage, self._line = "", ""
        self._began = self._printed = time.monotonic()

    def start(self) -> None:
        pass

    def show(self, stage: str, done: int, total: int, note: str) -> None:
        if stage != self._stage:
            self._flush()
            self._stage = stage
            self._began = self._printed = time.monotonic()
        now = time.monotonic()
        seconds = now - self._began
        self._line = f"{stage}: {done}/{total}, {seconds:.0f} s{f', {note}' if note else ''}"
        if now - self._printed > LINE_EVERY:
            left = f", about {seconds * (total - done) / done:.0f} s left" if 0 < done < total else ""
            echo(self._line + left, err=True)
            self._printed = now

    def stop(self) -> None:
        self._flush()

    def _flush(self) -> None:
        if self._line:
            echo(self._line, err=True)
        self._line = ""
