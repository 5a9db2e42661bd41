"""What all rule files share: lines with their numbers, names that fit in a line, the report of an import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.atomic import write_atomically
from rnnlogic.base.errors import RuleError
from rnnlogic.rules.table import RuleTable

FIGURES = ("predictions", "support", "confidence")  # statistics that line formats hold


@dataclass(frozen=True)
class ImportReport:
    """What a rule file held; a rule that repeats an empty one counts under both."""

    read: int  # rules in the file
    kept: int
    duplicates: int  # repeat an earlier rule
    empty: int = 0  # have no body
    trivial: int = 0  # say r <- r
    skipped: Mapping[str, int] = field(default_factory=dict)  # rules of other kinds, by what they do
    mirrored: int = 0  # added for the inverse relation

    def dropped(self) -> dict[str, int]:
        """How many rules were dropped, by what they do."""
        counts = {
            "repeat an earlier rule": self.duplicates,
            "have an empty body": self.empty,
            "say r <- r": self.trivial,
            **self.skipped,
        }
        return {what: count for what, count in counts.items() if count}

    def lines(self) -> list[str]:
        """For people: what was read, dropped and kept."""
        return [
            f"{self.read:,} rules read",
            *(f"  {count:,} {what}: dropped" for what, count in self.dropped().items()),
            *([f"  {self.mirrored:,} added: the same for the inverse relation"] if self.mirrored else []),
            f"{self.kept:,} rules kept",
        ]


class TableImport(NamedTuple):
    """Rules of a file with the figures it gives, and what was dropped on the way."""

    table: RuleTable
    report: ImportReport


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; errors name the file, and the line that is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise RuleError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise RuleError(f"{path}:{number}: not UTF-8 text; save the file in that encoding") from None


def numbered(lines: Iterable[str], path: Path) -> Iterator[tuple[str, str]]:
    """(place, line) of the lines that are not blank; a place is `file:line`."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"{path}:{number}", line


def write_text(path: str | Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise RuleError(f"{path}: cannot be written ({error.strerror})") from None


def check_names(names: Iterable[str], kind: str) -> None:
    """Refuse relation names that do not fit in a line of columns."""
    for name in names:
        if set(name) & set("\t\r\n"):
            raise RuleError(
                f"relation {name!r} holds a tab or a line break, which {kind} files cannot express; "
                "text and JSON Lines can"
            )
