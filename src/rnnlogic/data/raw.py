"""Facts as they are read, before cleaning: names, ids in order of appearance, and what reading noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.data.graph import Triples
from rnnlogic.data.places import Place, shown

UNSPLIT = "facts"
ROWS_PER_BLOCK = 1 << 17
LONGEST_NAME = 40  # in messages
BLANKS = " \t\r\n"  # stripped around every field

# How sure we are which column is which, least sure first: by position; by numbers of the user, where a header
# may still be among the facts; by header; by names of the user; by a format without columns (RDF, PyKEEN).
Order = Literal["assumed", "numbered", "named", "given", "certain"]
ORDERS: tuple[Order, ...] = ("assumed", "numbered", "named", "given", "certain")


class Names(dict[str, int]):
    """Ids of names; a new name gets the next id, unless the names are fixed (`KeyError`)."""

    def __init__(self, fixed: Iterable[str] | None = None) -> None:
        super().__init__((name, i) for i, name in enumerate(fixed or ()))
        self.fixed = fixed is not None

    def __missing__(self, name: str) -> int:
        if self.fixed:
            raise KeyError(name)
        self[name] = new = len(self)
        return new


@dataclass
class Tally:
    """What reading skipped, noticed or doubts, for the cleaning report."""

    blank_lines: int = 0
    header_lines: int = 0
    bom_files: int = 0
    crlf_files: int = 0
    literals: int = 0
    order: Order = field(default="certain", compare=False)
    headers: list[tuple[str, ...]] = field(default_factory=list, compare=False)  # head, relation, tail
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep a remark; the same one of several files counts once."""
        if text not in self.notes:
            self.notes.append(text)

    def read_by(self, order: Order) -> None:
        """Say how the columns of a file were found; of several files the least sure counts."""
        self.order = min(self.order, order, key=ORDERS.index)

    def doubt(self, text: str) -> None:
        """Keep a reason to think that the file may have been read wrongly."""
        if text not in self.doubts:
            self.doubts.append(text)

    def found(self) -> dict[str, Any]:
        """The counts and notes; doubts are judged when all facts are known."""
        return {
            name: value for name, value in asdict(self).items() if name not in ("order", "headers", "doubts")
        }


@dataclass
class RawFacts:
    """Facts as read, before cleaning: ids in order of first appearance, shared by all splits.

    Facts that still have to be split lie under the single key `UNSPLIT`.
    """

    source: str
    entities: Names = field(default_factory=Names)
    relations: Names = field(default_factory=Names)
    splits: dict[str, Triples] = field(default_factory=dict)
    entity_labels: dict[str, str] = field(default_factory=dict)
    relation_labels: dict[str, str] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)  # of RDF names: prefix -> namespace
    tally: Tally = field(default_factory=Tally)

    def merged(self) -> RawFacts:
        """The same facts with the splits forgotten."""
        facts = np.concatenate(list(self.splits.values()))
        return replace(self, splits={UNSPLIT: facts})

    def add(self, split: str, blocks: Iterable[Block], place: Place | None = None) -> None:
        """Add the facts of a split; a name that a fixed dictionary lacks is an error with file and line."""
        parts = [self._ids(block, place) for block in blocks]
        if not sum(map(len, parts)):
            raise DataError("no facts found", None if place is None else shown(place))
        before = [self.splits[split]] if split in self.splits else []
        self.splits[split] = np.concatenate([*before, *parts])

    def _ids(self, block: Block, place: Place | None) -> Triples:
        try:
            columns = [
                np.fromiter(map(names.__getitem__, column), np.int32, len(column))
                for names, column in zip(self._columns, block.columns, strict=True)
            ]
        except KeyError:
            raise self._unknown_name(block, place) from None
        return np.stack(columns, axis=1)

    @property
    def _columns(self) -> tuple[Names, Names, Names]:
        return self.entities, self.relations, self.entities

    def _unknown_name(self, block: Block, place: Place | None) -> DataError:
        path = None if place is None else shown(place)
        for line, row in zip(block.lines, zip(*block.columns, strict=True), strict=True):
            for kind, names, name in zip(("entity", "relation", "entity"), self._columns, row, strict=True):
                if names.fixed and name not in names:
                    where = "entities.dict" if kind == "entity" else "relations.dict"
                    return DataError(f"{kind} {name!r} is not in {where}; add it there", path, line)
        raise AssertionError("every name of the block is known")


class Block(NamedTuple):
    """Some facts as three columns of names, and the line each came from."""

    columns: tuple[list[str], ...]  # heads, relations, tails
    lines: Sequence[int]


def printable(name: str) -> str:
    """A name without control characters, which a terminal would obey."""
    return name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name)


def shortened(name: str) -> str:
    """A printable name of moderate length, for a message."""
    name = printable(name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def checked_blocks(
    rows: Iterable[tuple[int, Sequence[str]]],
    tally: Tally,
    fail: Callable[[str, int], DataError],
    separated: str = "",
) -> Iterator[Block]:
    """Blocks of (line, fields) rows with fields stripped; blank rows are counted, wrong ones are errors."""
    columns: tuple[list[str], ...] = ([], [], [])
    lines: list[int] = []
    for line, row in rows:
        names = [name.strip(BLANKS) for name in row]
        if not any(names) and len(names) <= 1:
            tally.blank_lines += 1
            continue
        if problem := _problem(names, separated):
            raise fail(problem, line)
        for column, name in zip(columns, names, strict=True):
            column.append(name)
        lines.append(line)
        if len(lines) == ROWS_PER_BLOCK:
            yield Block(columns, lines)
            columns, lines = ([], [], []), []
    if lines:
        yield Block(columns, lines)


def _problem(names: Sequence[str], separated: str) -> str | None:
    if len(names) != 3:
        return f"expected 3 {separated}columns (head, relation, tail), found {len(names)}"
    for column, name in zip(("head", "relation", "tail"), names, strict=True):
        if not name:
            return f"the {column} is empty; fill it in or delete the row"
        if "\t" in name or "\n" in name:
            return f"the {column} {name!r} contains a TAB or line break"
    return None
