"""What all rule files share: numbered lines, names that fit into a line, the report of an import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.errors import RuleError
from rnnlogic.base.files import write_atomically
from rnnlogic.rules.table import RuleTable

FIGURES = ("predictions", "support", "confidence")  # statistics that text and AnyBURL files hold


@dataclass(frozen=True)
class ImportReport:
    """What a rule file contained; an empty rule that repeats another counts as both."""

    read: int  # rules in the file
    kept: int
    duplicates: int  # repeats of an earlier rule
    empty: int = 0  # rules without a body
    trivial: int = 0  # rules r <- r
    skipped: Mapping[str, int] = field(default_factory=dict)  # rules of other kinds, by reason
    mirrored: int = 0  # added for the inverse relation

    def dropped(self) -> dict[str, int]:
        """How many rules were dropped, by reason."""
        counts = {
            "repeated": self.duplicates,
            "empty body": self.empty,
            "r <- r": self.trivial,
            **self.skipped,
        }
        return {reason: count for reason, count in counts.items() if count}

    def lines(self) -> list[str]:
        """The report for people: rules read, dropped and kept."""
        return [
            f"{self.read:,} rules read",
            *(f"  {count:,} dropped: {reason}" for reason, count in self.dropped().items()),
            *([f"  {self.mirrored:,} added for the inverse relation"] if self.mirrored else []),
            f"{self.kept:,} rules kept",
        ]


class TableImport(NamedTuple):
    """The rules of a file with their figures, and a report of what was dropped."""

    table: RuleTable
    report: ImportReport


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; an error names the file, and the line that is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise RuleError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise RuleError(f"{path}:{number}: not UTF-8 text; save the file as UTF-8") from None


def numbered(lines: Iterable[str], path: Path) -> Iterator[tuple[str, str]]:
    """(place, line) of every line that is not blank; a place is `file:line`."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"{path}:{number}", line


def write_text(path: str | Path, text: str) -> None:
    """Write a file atomically; an error names it."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise RuleError(f"{path}: cannot be written ({error.strerror})") from None


def check_names(names: Iterable[str], kind: str) -> None:
    """Refuse relation names that do not fit into a line of columns."""
    for name in names:
        if set(name) & set("\t\r\n"):
            raise RuleError(
                f"relation {name!r} contains a tab or a line break, which {kind} files cannot hold; "
                "write text or JSON Lines instead"
            )
