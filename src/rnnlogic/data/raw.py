"""Facts as they are read, before cleaning: names, ids in order of appearance, and what reading noticed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.graph import Triples
from rnnlogic.data.places import Place, shown

UNSPLIT = "facts"
ROWS_PER_BLOCK = 1 << 17  # enough for array operations to pay, and some megabytes of names
LONGEST_NAME = 40  # in messages
SHOWN_LACKS = 5  # rows with an empty cell that a message names
SOURCE_MARKS = ("<SEP>", "|", ";")  # between several sources in one cell: LightRAG's, KGX's, Neo4j's
BLANKS = " \t\r\n"  # stripped around every field

# How sure we are which column is which, least sure first: by position; by numbers of the user, where a header
# may still be among the facts; by header; by names of the user; by a format without columns (RDF, PyKEEN).
Order = Literal["assumed", "numbered", "named", "given", "certain"]
Weights = NDArray[np.float64]
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


class Lack(NamedTuple):
    """A row with an empty cell."""

    what: str
    at: DataError  # where it is
    row: int


class Extra(NamedTuple):
    """A column beside head, relation and tail."""

    kind: Literal["weight", "source"]
    column: int
    name: str
    divisor: float = 1.0  # what its numbers are divided by


@dataclass
class Tally:
    """What reading skipped, noticed or doubts, for the cleaning report."""

    blank_lines: int = 0
    header_lines: int = 0
    bom_files: int = 0
    crlf_files: int = 0
    literals: int = 0
    incomplete: int = 0  # rows with an empty cell
    lacking: list[Lack] = field(default_factory=list, compare=False)  # the first of them
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

    def lacks(self, what: str, at: DataError, row: int) -> None:
        """Count a row with an empty cell; the error says where it is."""
        self.incomplete += 1
        if len(self.lacking) < SHOWN_LACKS:
            self.lacking.append(Lack(what, at, row))

    def incomplete_error(self) -> DataError:
        """The rows with an empty cell, counted, the first ones with their places, and the ways out."""
        first, *others = self.lacking
        text = first.at.args[0] if first.at.path is None else f"the {first.what} is empty"
        inside = [f"{other.row}" for other in others if other.at.path == first.at.path]
        kind = "row" if first.at.path is None else "line"
        places = [f"{kind}{'s' * (len(inside) > 1)} {', '.join(inside)}"] if inside else []
        places += [f"line {lack.row} of {lack.at.path}" for lack in others if lack.at.path != first.at.path]
        rows = ", ".join(places)
        more = ", ..." if self.incomplete > len(self.lacking) else ""
        if rows:
            text += f", and {self.incomplete:,} rows in all have an empty cell ({rows}{more})"
        them = ("them", "the rows") if rows else ("it", "the row")
        remedy = f"fill {them[0]} in, delete {them[1]}, or skip {them[0]} with --skip-incomplete"
        return DataError(f"{text}; {remedy} (skip_incomplete=True in Python)", first.at.path, first.at.line)

    def found(self) -> dict[str, Any]:
        """The counts and notes; doubts are judged when all facts are known."""
        kept = ("order", "headers", "doubts", "lacking")
        return {name: value for name, value in asdict(self).items() if name not in kept}


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
    beside: list[tuple[str, ...]] = field(default_factory=list)  # entity, attribute, value of a file of them
    typed: set[str] = field(default_factory=set)  # relations whose literals RDF gives a number or a date

    weights: dict[str, Weights] = field(default_factory=dict)  # by split, beside its facts; if there are any
    cells: dict[str, NDArray[np.int32]] = field(default_factory=dict)  # the same of sources: ids of texts
    sources: Names = field(default_factory=Names)  # texts of cells, which may name several sources

    @property
    def by_split(self) -> tuple[dict[str, Any], ...]:
        """Facts, weights and sources by split."""
        return self.splits, self.weights, self.cells

    def merged(self) -> RawFacts:
        """The same facts with the splits forgotten."""
        for split in [split for split in self.splits if split != UNSPLIT]:
            self.move(split, UNSPLIT)
        return self

    def move(self, split: str, into: str) -> None:
        """Append a split to another one."""
        for columns in self.by_split:
            if split in columns:
                part = columns.pop(split)
                columns[into] = np.concatenate([columns[into], part]) if into in columns else part

    def keep(self, masks: dict[str, NDArray[np.bool_]]) -> None:
        """Drop the facts of each split where its mask is false, with what stands beside them."""
        for columns in self.by_split:
            for split in columns:
                columns[split] = columns[split][masks[split]]

    def forget(self, split: str) -> None:
        """Drop a split."""
        for columns in self.by_split:
            columns.pop(split, None)

    def add(self, split: str, blocks: Iterable[Block], place: Place | None = None) -> None:
        """Add the facts of a split; a name that a fixed dictionary lacks is an error with file and line."""
        before = self.tally.incomplete
        facts, weights, cells = list[Triples](), list[Weights](), list[NDArray[np.int32]]()
        for block in blocks:
            facts.append(self._ids(block, place))
            for extra, texts in block.extras:
                if extra.kind == "weight":
                    weights.append(_weights(extra, texts, block.lines, place))
                else:
                    ids = map(self.sources.__getitem__, texts)
                    cells.append(np.fromiter(ids, np.int32, len(texts)))
        if not sum(map(len, facts)):
            if self.tally.incomplete > before:
                raise self.tally.incomplete_error()
            raise DataError("no facts found", None if place is None else shown(place))
        read: tuple[list[Any], ...] = (facts, weights, cells)
        for columns, parts in zip(self.by_split, read, strict=True):
            if parts:
                known = [columns[split]] if split in columns else []
                columns[split] = np.concatenate([*known, *parts])

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
    """Some facts as three columns of names, and the line each came from; perhaps columns beside them."""

    columns: tuple[list[str], ...]  # heads, relations, tails
    lines: Sequence[int]
    extras: tuple[tuple[Extra, list[str]], ...] = ()


def printable(name: str) -> str:
    """A name without control characters, which a terminal would obey."""
    return name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name)


def shortened(name: str) -> str:
    """A printable name of moderate length, for a message."""
    name = printable(name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


class Rows(NamedTuple):
    """Rows of any values: head, relation, tail, and those of the columns beside them."""

    rows: Iterable[Any]
    extras: tuple[Extra, ...] = ()


class RowShape(NamedTuple):
    """What the rows of a table hold, after head, relation and tail."""

    extras: tuple[Extra, ...] = ()
    separated: str = ""  # for messages: `tab-separated `

    @property
    def names(self) -> tuple[str, ...]:
        """What the fields are called in messages."""
        return ("head", "relation", "tail", *(extra.kind for extra in self.extras))

    @property
    def needed(self) -> int:
        """How many of the fields must not be empty: all but the source, which comes last."""
        return len(self.names) - ("source" in self.names)


PLAIN = RowShape()


def checked_blocks(
    rows: Iterable[tuple[int, Sequence[str]]],
    tally: Tally,
    fail: Callable[[str, int], DataError],
    shape: RowShape = PLAIN,
) -> Iterator[Block]:
    """Blocks of (line, fields) rows, fields stripped; blank and incomplete rows are counted and left out."""
    kinds, needed = shape.names, shape.needed
    columns: tuple[list[str], ...] = tuple([] for _ in kinds)
    lines: list[int] = []
    for line, row in rows:
        names = [name.strip(BLANKS) for name in row]
        if not any(names):
            tally.blank_lines += 1
            continue
        if len(names) != len(kinds):
            raise fail(
                f"expected 3 {shape.separated}columns (head, relation, tail), found {len(names)}", line
            )
        if not all(names[:needed]):
            what = kinds[names.index("")]
            tally.lacks(what, fail(f"the {what} is empty", line), line)
            continue
        if problem := _problem(names):
            raise fail(problem, line)
        for column, name in zip(columns, names, strict=True):
            column.append(name)
        lines.append(line)
        if len(lines) == ROWS_PER_BLOCK:
            yield _block(columns, lines, shape)
            columns, lines = tuple([] for _ in kinds), []
    if lines:
        yield _block(columns, lines, shape)


def _block(columns: tuple[list[str], ...], lines: list[int], shape: RowShape) -> Block:
    return Block(columns[:3], lines, tuple(zip(shape.extras, columns[3:], strict=True)))


def _problem(names: Sequence[str]) -> str | None:
    for column, name in zip(("head", "relation", "tail"), names, strict=False):
        if "\t" in name or "\n" in name:
            return f"the {column} {name!r} contains a TAB or line break"
    return None


def _weights(extra: Extra, texts: list[str], lines: Sequence[int], place: Place | None) -> Weights:
    """Numbers above 0 and at most 1; the first that is not is an error with its line."""
    try:
        numbers = np.array(texts, np.float64) / extra.divisor
    except ValueError:
        numbers = np.array([_number(text) for text in texts]) / extra.divisor
    wrong = np.flatnonzero(~((numbers > 0) & (numbers <= 1)))  # NaN, too
    if not len(wrong):
        return numbers
    text = texts[wrong[0]]
    top = numbers[np.isfinite(numbers)].max(initial=0) * extra.divisor
    remedy = "correct it, or delete the row"
    if top > 1 and extra.divisor == 1:
        remedy = (
            f"if the column has another scale, divide it: --weight {extra.name}/{10 ** len(f'{top:.0f}')}"
        )
    raise DataError(
        f"the weight {text[:40]!r} in column {extra.name!r} is not above 0 and at most 1; {remedy}",
        f"row {lines[wrong[0]]}" if place is None else shown(place),
        None if place is None else lines[wrong[0]],
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def row_blocks(rows: Rows, tally: Tally, kind: str) -> Iterator[Block]:
    """Blocks of rows of any values; an error names the kind of table and the row, from 0."""

    def fail(problem: str, row: int) -> DataError:
        return DataError(f"{kind}, row {row}: {problem}")

    return checked_rows(enumerate(rows.rows), tally, fail, rows.extras)


class _BadRowError(ValueError):
    """What is wrong with a row; the caller knows which row it is."""


def checked_rows(
    rows: Iterable[tuple[int, Any]],
    tally: Tally,
    fail: Callable[[str, int], DataError],
    extras: tuple[Extra, ...] = (),
) -> Iterator[Block]:
    """Blocks of numbered rows of any values."""
    return checked_blocks(_text_rows(rows, tally, fail), tally, fail, RowShape(extras))


def _text_rows(
    rows: Iterable[tuple[int, Any]], tally: Tally, fail: Callable[[str, int], DataError]
) -> Iterator[tuple[int, list[str]]]:
    for number, values in rows:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise fail(f"{values!r} is not a triple (head, relation, tail)", number)
        fields = list(values)
        try:
            texts = [value if isinstance(value, str) else _text(value, tally) for value in fields[:3]]
            yield number, texts + [_cell(value) for value in fields[3:]]
        except _BadRowError as problem:
            raise fail(str(problem), number) from None


def _cell(value: Any) -> str:
    """A weight or sources as text; a list of sources becomes one cell."""
    if is_missing(value):
        return ""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return SOURCE_MARKS[0].join(str(part) for part in value)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def is_missing(value: Any) -> bool:
    """Whether a value stands for an empty cell: None, NaN, or what pandas has for them."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("<NA>", "NaT")


def _text(value: Any, tally: Tally) -> str:
    """A value as a name, empty if it is missing; whole floats (2.0, as pandas writes 2) become integers."""
    if is_missing(value):
        return ""
    if isinstance(value, dict | list | tuple | set):
        raise _BadRowError(f"{shortened(str(value))} is not a name; give a text or a number")
    if isinstance(value, float) and value.is_integer():
        tally.note("whole numbers with a decimal point (2.0) are read as integers (2)")
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
