"""The file of decisions: one line each, only ever added to, so nobody's decision is lost.

Writers wait for each other (flock), add whole lines, and have them on disk before they go on. The last
decision on a fact counts, by its time, so files of several people can be joined in any order, and a line that
is there twice does no harm. A damaged line is named and skipped; the file keeps it.
"""

from __future__ import annotations

import csv
import io
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from rnnlogic.base.errors import DataError
from rnnlogic.base.files import sync_folder
from rnnlogic.base.lock import briefly_locked
from rnnlogic.base.text import cell
from rnnlogic.review.decision import UNDO, Decision, Fact, parsed
from rnnlogic.review.old import old_decisions

SUFFIX = ".decisions.jsonl"
_IN_MEMORY = threading.Lock()  # for logs without a file; not in the log, so models can be pickled
COLUMNS = tuple(field.name for field in fields(Decision))


@dataclass(frozen=True)
class Decisions:
    """All decisions of a file, oldest first, and what is wrong with it."""

    every: tuple[Decision, ...] = ()
    notes: tuple[str, ...] = ()

    def current(self) -> dict[Fact, Decision]:
        """The decision that counts for each fact, the last one last; without those taken back."""
        found: dict[Fact, Decision] = {}
        for one in self.every:
            found.pop(one.fact, None)
            if one.verdict != UNDO:
                found[one.fact] = one
        return found

    def last(self, by: str = "") -> Decision | None:
        """The last decision that counts; of one person, if named."""
        found = (one for one in reversed(self.current().values()) if by in ("", one.by))
        return next(found, None)

    def contradictions(self) -> list[tuple[Decision, Decision]]:
        """Facts that one person takes for true and another for false: both decisions, the later one last."""
        opinions: dict[Fact, dict[str, Decision]] = {}
        for one in self.every:
            own = opinions.setdefault(one.fact, {})
            own.pop(one.by, None)
            if one.verdict == UNDO:
                own.clear()
            elif one.is_true is not None:
                own[one.by] = one
        pairs: list[tuple[Decision, Decision]] = []
        for own in opinions.values():
            said = list(own.values())
            others = [one for one in said if one.is_true != said[-1].is_true]
            pairs += [(others[-1], said[-1])] if others else []
        return pairs

    def warnings(self) -> list[str]:
        """What is wrong, a line each: damage, and people who contradict each other."""
        pairs = self.contradictions()
        if not pairs:
            return list(self.notes)
        (before, last), more = pairs[0], len(pairs) - 1
        told = (
            f"{_named(before)} {before.verdict}s and {_named(last)} {last.verdict}s {' '.join(last.fact)!r};"
            f" the later counts{f' (and {more:,} more facts like it)' if more else ''}"
        )
        return [*self.notes, told]

    def as_csv(self, excel_safe: bool = False) -> str:
        """The decisions that count, as a table for spreadsheets."""
        table = io.StringIO()
        writer = csv.writer(table)
        writer.writerow(COLUMNS)
        for one in self.current().values():
            cells = ("" if value is None else str(value) for value in one.as_dict().values())
            writer.writerow([cell(text, excel_safe) for text in cells])
        return table.getvalue()


class DecisionLog:
    """Decisions in a file, or without one in memory. Any number of threads and processes may use it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._held = b""  # without a file
        self._read: tuple[object, Decisions] | None = None  # the state of the file, and what it held

    @staticmethod
    def of_run(run: str | Path | None) -> DecisionLog:
        """The decisions about a run, in a file beside its folder; so a fit never touches them."""
        if run is None:
            return DecisionLog()
        folder = Path(run).resolve()
        return DecisionLog(folder.with_name(folder.name + SUFFIX))

    def add(self, decision: Decision) -> Decision:
        """Keep a decision, with the time unless it has one; it is on disk when this returns."""
        return self.extend([decision])[0]

    def undo(self, fact: Fact, by: str = "") -> None:
        """Take back what was decided about a fact."""
        self.add(Decision(*fact, UNDO, by=by))

    def extend(self, decisions: Iterable[Decision]) -> list[Decision]:
        """Keep decisions."""
        decisions = list(decisions)
        if not decisions:
            return []
        if self.path is None:
            with _IN_MEMORY:
                added = _timed(decisions)
                self._held += b"".join(one.line() for one in added)
                return added
        try:
            return self._append(self.path, decisions)
        except OSError as error:
            raise DataError(f"cannot be written ({error.strerror or error})", self.path) from None

    def read(self) -> Decisions:
        """All decisions so far; the file is only read again when it has changed."""
        state = self._state()
        kept = self._read
        if kept is None or kept[0] != state:
            kept = self._read = (state, self._parsed())
        return kept[1]

    def _append(self, path: Path, decisions: Iterable[Decision]) -> list[Decision]:
        is_new = not path.exists()
        with path.open("a+b") as file, briefly_locked(file):
            added = _timed(decisions)  # while others wait: the order of times is that of lines
            text = b"".join(one.line() for one in added)
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                text = text if file.read(1) == b"\n" else b"\n" + text  # a kill left half a line
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(path.parent)
        return added

    def _state(self) -> object:
        if self.path is None:
            return len(self._held)
        found = []
        for path in (self.path, _old_path(self.path)):
            try:
                about = path.stat()
                found.append((about.st_ino, about.st_size, about.st_mtime_ns))
            except FileNotFoundError:
                found.append((0, 0, 0))
            except OSError as error:
                raise DataError(f"cannot be read ({error.strerror or error})", path) from None
        return tuple(found)

    def _parsed(self) -> Decisions:
        if self.path is None:
            return decisions_in(self._held, "decisions")
        older = old_decisions(_old_path(self.path))
        try:
            content = self.path.read_bytes() if self.path.exists() else b""
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror or error})", self.path) from None
        found = decisions_in(content, str(self.path))
        return Decisions((*older, *found.every), found.notes)


def read_decisions(path: Path) -> Decisions:
    """The decisions of a file that somebody names."""
    if not path.is_file():
        raise DataError("no such file of decisions", path)
    return DecisionLog(path).read()


def decisions_in(content: bytes, source: str) -> Decisions:
    """The decisions of some lines in the order of their times; damaged lines are noted."""
    found: list[Decision] = []
    damaged: list[int] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        decision = parsed(line)
        if decision is None:
            damaged.append(number)
        else:  # one written by hand, without a time, comes right after the line before it
            found.append(
                decision if decision.time else replace(decision, time=found[-1].time if found else "")
            )
    found.sort(key=lambda one: one.time)
    return Decisions(tuple(dict.fromkeys(found)), tuple(_damage(source, damaged)))


def _damage(source: str, lines: list[int]) -> Iterator[str]:
    if lines:
        more = f" and {len(lines) - 1:,} more" if len(lines) > 1 else ""
        yield f"{source}:{lines[0]}: this line{more} cannot be read and is skipped; the file keeps it"


def _timed(decisions: Iterable[Decision]) -> list[Decision]:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    return [one if one.time else replace(one, time=now) for one in decisions]


def _old_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(SUFFIX) + ".review.tsv")


def _named(decision: Decision) -> str:
    return decision.by or "somebody"
