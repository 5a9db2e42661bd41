"""Neo4j's CSV dumps: `:START_ID,:END_ID,:TYPE` files of neo4j-admin, and what apoc.export.csv.all writes.

Entities are named by their ids; a property called `name`, `title` or `label` becomes the label. If ids belong
to several id spaces (`:ID(Person)`, `:ID(Film)`), the space is part of the name, since ids may repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import extras_of, note_columns
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.places import BEGINNING, Place, failing, open_bytes, placed, shown, suffix_of
from rnnlogic.data.raw import UNSPLIT, Block, RawFacts, RowShape, Tally, checked_blocks
from rnnlogic.data.readers import read_header, read_rows

MARKS = (b":START_ID", b":ID", b"_START")  # one of them is in the header of every dump
LABEL_PROPERTIES = ("name", "title", "label")
APOC = {"_id", "_start", "_end", "_type"}
_FIELD = re.compile(r"[^:]*:(ID|START_ID|END_ID|TYPE)(?:\((.*)\))?", re.IGNORECASE)


@dataclass(frozen=True)
class DumpFile:
    """A file of a dump: which of its columns are ids and types."""

    place: Place
    sep: str
    header: tuple[str, ...]

    @cached_property
    def fields(self) -> dict[str, tuple[int, str]]:
        """`ID`, `START_ID`, `END_ID`, `TYPE` -> column and id space."""
        found: dict[str, tuple[int, str]] = {}
        for i, name in enumerate(self.header):
            if match := _FIELD.fullmatch(name):
                found.setdefault(match[1].upper(), (i, match[2] or ""))
            elif self.is_apoc and name in APOC:
                key = name[1:].upper()
                found[key if key in ("ID", "TYPE") else f"{key}_ID"] = (i, "")
        return found

    @property
    def is_apoc(self) -> bool:
        """Whether nodes and relationships share the file."""
        return set(self.header) >= APOC

    @property
    def has_relationships(self) -> bool:
        """Whether some rows are facts."""
        return "START_ID" in self.fields and "END_ID" in self.fields

    @property
    def has_nodes(self) -> bool:
        """Whether some rows are entities."""
        return "ID" in self.fields

    @property
    def spaces(self) -> set[str]:
        """The id spaces that the header names."""
        return {space for key, (_, space) in self.fields.items() if key != "TYPE"}


def dump_file(place: Place) -> DumpFile | None:
    """The file as part of a dump; none if its header is not Neo4j's."""
    if suffix_of(place) not in (".csv", ".tsv"):
        return None
    try:
        with open_bytes(place) as file:
            first = file.readline(BEGINNING).upper()
    except (OSError, EOFError):
        return None  # the reader proper says why
    if not any(mark in first for mark in MARKS):
        return None
    sep, header = read_header(place, Tally())
    found = DumpFile(place, sep, tuple(name.strip() for name in header))
    return found if found.has_relationships or found.has_nodes else None


def read_dump(files: Sequence[DumpFile], source: str, options: ReadOptions = NO_OPTIONS) -> RawFacts:
    """Facts and labels of all files of a dump, not yet split."""
    raw = RawFacts(source)
    raw.tally.read_by("named")
    spaces = set[str]().union(*(file.spaces for file in files))
    with_space = len(spaces) > 1
    for file in files:
        if file.has_relationships:
            raw.add(UNSPLIT, _facts(file, raw.tally, with_space, options), file.place)
        if file.has_nodes:
            raw.entity_labels |= dict(_labels(file, with_space, options))
    if with_space:
        raw.tally.note(f"names begin with Neo4j's id space: {', '.join(sorted(spaces - {''}))}")
    return raw


def _facts(file: DumpFile, tally: Tally, with_space: bool, options: ReadOptions) -> Iterator[Block]:
    if "TYPE" not in file.fields:
        raise DataError("no :TYPE column; add one that names the relation", shown(file.place), 1)
    places = [file.fields[key][0] for key in ("START_ID", "TYPE", "END_ID")]
    tally.header_lines += 1
    with placed(file.place, 1):
        extras = extras_of(file.header, options)
    note_columns(file.header, places, tally, extras)
    count = 0
    beside = [extra.column for extra in extras]
    rows = _fact_rows(file, tally, with_space, beside, options)
    for block in checked_blocks(rows, tally, failing(file.place), RowShape(extras)):
        count += len(block.lines)
        yield block
    if not count and not tally.incomplete:
        raise DataError(
            "only a header, no relationships; if they lie in another file, join both: cat HEADER DATA > FILE",
            shown(file.place),
        )


def _fact_rows(
    file: DumpFile, tally: Tally, with_space: bool, beside: Sequence[int], options: ReadOptions
) -> Iterator[tuple[int, list[str]]]:
    (start, start_space), (end, end_space) = file.fields["START_ID"], file.fields["END_ID"]
    relation, _ = file.fields["TYPE"]
    for line, row in _rows(file, tally, options):
        if file.is_apoc and not (row[start] or row[end] or row[relation]):
            continue  # a node
        head, tail = (
            _name(row[start], start_space, with_space),
            _name(row[end], end_space, with_space),
        )
        yield line, [head, row[relation], tail, *(row[column] for column in beside)]


def _labels(file: DumpFile, with_space: bool, options: ReadOptions) -> Iterator[tuple[str, str]]:
    node, space = file.fields["ID"]
    words = [name.partition(":")[0].lower() for name in file.header]
    column = next((words.index(word) for word in LABEL_PROPERTIES if word in words), None)
    if column is None:
        return
    for _, row in _rows(file, Tally(), options):
        if row[node] and row[column]:
            yield _name(row[node], space, with_space), " ".join(row[column].split())


def _rows(file: DumpFile, tally: Tally, options: ReadOptions) -> Iterator[tuple[int, list[str]]]:
    """Rows below the header, all of its width."""
    rows = read_rows(file.place, file.sep, tally, options)
    next(rows, None)
    for line, row in rows:
        if len(row) != len(file.header):
            problem = f"expected {len(file.header)} columns as in the header, found {len(row)}"
            raise DataError(problem, shown(file.place), line)
        yield line, row


def _name(identifier: str, space: str, with_space: bool) -> str:
    return f"{space}:{identifier}" if with_space and space and identifier else identifier
