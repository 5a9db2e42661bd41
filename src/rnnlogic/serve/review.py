"""Decisions about proposed facts, in a TSV file beside the run; each is on disk before it is confirmed.

The file holds one line for each fact that was decided on, the last decision last. It is written anew with
every decision and replaces the old one in one step, so a kill at any time leaves one or the other, whole.
A tab, a line break or a backslash in a name is written as \\t, \\n, \\r or \\\\.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.files import facts_as
from rnnlogic.runs.files import unreadable, write_file

Verdict = Literal["accept", "reject", "skip"]
Fact = tuple[str, str, str]

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_WRITTEN = {written: letter for letter, written in _ESCAPES.items()}


@dataclass(frozen=True)
class Decision:
    """What somebody decided about a fact, with what they saw."""

    decision: str
    head: str
    relation: str
    tail: str
    probability: str
    rule: str
    time: str = ""

    @property
    def fact(self) -> Fact:
        """The fact."""
        return self.head, self.relation, self.tail


COLUMNS = tuple(field.name for field in fields(Decision))


class Review:
    """The decisions of one run. The file is read anew each time, so it may be edited by hand meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def decisions(self) -> dict[Fact, Decision]:
        """The decision about each fact, the last one last."""
        if not self.path.is_file():
            return {}
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(self.path, error) from None
        return {one.fact: one for one in map(self._parsed, filter(None, lines[1:]))}

    def decide(self, decision: Decision) -> None:
        """Keep a decision; it replaces an earlier one about the same fact."""
        with self._lock:
            found = self.decisions()
            found.pop(decision.fact, None)
            found[decision.fact] = replace(decision, time=datetime.now(UTC).isoformat(timespec="seconds"))
            self._write(found.values())

    def undo(self, fact: Fact) -> None:
        """Forget the decision about a fact."""
        with self._lock:
            found = self.decisions()
            if found.pop(fact, None) is not None:
                self._write(found.values())

    def accepted(self, suffix: Literal[".tsv", ".nt"]) -> bytes:
        """The facts that were accepted, as a file."""
        return facts_as(suffix, (_as_fact(d) for d in self.decisions().values() if d.decision == "accept"))

    def _write(self, decisions: Iterable[Decision]) -> None:
        lines = ["\t".join(COLUMNS), *("\t".join(map(_escaped, astuple(one))) for one in decisions)]
        write_file(self.path, "\n".join(lines) + "\n")

    def _parsed(self, line: str) -> Decision:
        cells = [_unescaped(cell) for cell in line.split("\t")]
        if len(cells) != len(COLUMNS):
            raise unreadable(self.path, f"expected {len(COLUMNS)} columns: {line[:80]!r}")
        decision = Decision(*cells)
        if not _is_number(decision.probability or "0"):
            raise unreadable(self.path, f"{decision.probability[:20]!r} is no probability")
        return decision


def review_path(run: Path) -> Path:
    """Where the decisions about a run lie: beside its folder."""
    folder = run.resolve()
    return folder.with_name(f"{folder.name}.review.tsv")


def _as_fact(decision: Decision) -> NewFact:
    probability = float(decision.probability or "nan")
    return NewFact(*decision.fact, probability, decision.rule or None, None, ())


def _is_number(text: str) -> bool:
    try:
        return len(text) < 400 and math.isfinite(float(text))
    except ValueError:
        return False


def _escaped(text: str) -> str:
    return re.sub(r"[\\\t\n\r]", lambda found: _ESCAPES[found[0]], text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\[\\tnr]", lambda found: _WRITTEN[found[0]], text)
