"""Reading files of facts: one `head relation tail` a line, in TAB, comma or space separated columns.

How columns are separated is decided by the first line that is not blank. `.csv` files: commas, with quotes
(TABs, if that line has a TAB and no comma). All others: TABs; runs of spaces, if that line has no TAB and
exactly three words. Blanks around fields are dropped. A header line is recognised in `.csv` and `.tsv` files
only, and only if it is exactly one of `HEADERS`.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.graph import Triples

TEXT_SUFFIXES = (".txt", ".tsv", ".csv")
UNSPLIT = "facts"
HEADERS = (("head", "relation", "tail"), ("h", "r", "t"), ("subject", "predicate", "object"))
CHUNK_BYTES = 1 << 23
ROWS_PER_BLOCK = 1 << 17
BLANKS = " \t\r\n"  # stripped around every field
TAB, NEWLINE, SPACE = b"\t"[0], b"\n"[0], b" "[0]


class Names(dict[str, int]):
    """Ids of names; a new name gets the next id, unless the names were fixed beforehand (`KeyError`)."""

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
    """What was passed over while reading, for the cleaning report."""

    blank_lines: int = 0
    header_lines: int = 0
    bom_files: int = 0
    crlf_files: int = 0
    literals: int = 0


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
    tally: Tally = field(default_factory=Tally)

    def merged(self) -> RawFacts:
        """The same facts with the splits forgotten."""
        facts = np.concatenate(list(self.splits.values()))
        return replace(self, splits={UNSPLIT: facts})

    def add(self, split: str, blocks: Iterable[Block], path: Path | None = None) -> None:
        """Take the facts of a split; names that fixed dictionaries lack are an error with file and line."""
        parts = [self._ids(block, path) for block in blocks]
        if not sum(map(len, parts)):
            raise DataError("no facts found", path)
        self.splits[split] = np.concatenate(parts)

    def _ids(self, block: Block, path: Path | None) -> Triples:
        try:
            columns = [
                np.fromiter(map(names.__getitem__, column), np.int32, len(column))
                for names, column in zip(self._columns, block.columns, strict=True)
            ]
        except KeyError:
            raise self._unknown_name(block, path) from None
        return np.stack(columns, axis=1)

    @property
    def _columns(self) -> tuple[Names, Names, Names]:
        return self.entities, self.relations, self.entities

    def _unknown_name(self, block: Block, path: Path | None) -> DataError:
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


class Chunk(NamedTuple):
    """Whole lines of a file, without BOM and carriage returns before line ends."""

    data: bytes
    first_line: int


def read_text(path: Path, tally: Tally) -> Iterator[Block]:
    """All facts of a text file (optionally `.gz`), in file order."""
    chunks = read_chunks(path, tally)
    first = next(chunks, None)
    if first is None:
        return
    separator = _separator(path, first)
    may_have_header = suffix_of(path) in (".csv", ".tsv")
    for number, block in enumerate(_blocks(path, chain([first], chunks), separator, tally)):
        if number == 0 and may_have_header and _is_header([column[0] for column in block.columns]):
            tally.header_lines += 1
            yield Block(tuple(column[1:] for column in block.columns), block.lines[1:])
        else:
            yield block


def suffix_of(path: Path) -> str:
    """The lower-case file suffix, looking through `.gz`."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def stem_of(path: Path) -> str:
    """The file name without `.gz` and suffix."""
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    return Path(name).stem


def open_bytes(path: Path) -> BinaryIO:
    """Open a plain or gzipped file for reading bytes."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def read_chunks(path: Path, tally: Tally) -> Iterator[Chunk]:
    """The file in pieces of whole lines; byte order mark and CRLF are removed and noted."""
    line, crlf = 1, False
    for number, data in enumerate(_raw_chunks(path)):
        if number == 0 and data.startswith(b"\xef\xbb\xbf"):
            tally.bom_files += 1
            data = data[3:]
        if b"\r\n" in data:
            crlf = True
            data = data.replace(b"\r\n", b"\n")
        yield Chunk(data, line)
        line += data.count(b"\n")
    tally.crlf_files += crlf


def _raw_chunks(path: Path) -> Iterator[bytes]:
    try:
        with open_bytes(path) as file:
            while data := file.read(CHUNK_BYTES):
                yield data + file.readline()
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise DataError(f"the gzip file is damaged ({problem})", path) from None
    except OSError as problem:
        raise DataError(f"cannot be read ({problem.strerror or problem})", path) from None


def decode(chunk: Chunk, path: Path) -> str:
    """The text of a chunk; bytes that are not UTF-8 are an error with their line."""
    try:
        return chunk.data.decode()
    except UnicodeDecodeError as problem:
        line = chunk.first_line + chunk.data.count(b"\n", 0, problem.start)
        message = f"byte {chunk.data[problem.start]:#04x} is not UTF-8; convert the file to UTF-8"
        raise DataError(message, path, line) from None


def _separator(path: Path, chunk: Chunk) -> bytes:
    first = next((line for line in chunk.data.split(b"\n") if line.strip()), b"")
    if suffix_of(path) == ".csv" and (b"," in first or b"\t" not in first):
        return b","
    return b" " if b"\t" not in first and len(first.split()) == 3 else b"\t"


def _blocks(path: Path, chunks: Iterator[Chunk], separator: bytes, tally: Tally) -> Iterator[Block]:
    if separator == b",":
        rows = _comma_rows(path, chunks)
        return checked_blocks(
            rows, tally, lambda problem, line: DataError(problem, path, line), "comma-separated "
        )
    return _line_blocks(path, chunks, separator, tally)


def _is_header(row: Sequence[str]) -> bool:
    return tuple(name.lower() for name in row) in HEADERS


def _line_blocks(path: Path, chunks: Iterator[Chunk], separator: bytes, tally: Tally) -> Iterator[Block]:
    def fail(problem: str, line: int) -> DataError:
        return DataError(problem, path, line)

    for chunk in chunks:
        lines = decode(chunk, path).removesuffix("\n")
        if separator == b" ":
            rows = [line.split() for line in lines.split("\n")]
            yield from checked_blocks(enumerate(rows, chunk.first_line), tally, fail, "space-separated ")
        elif _is_plain(chunk.data):
            names = lines.replace("\t", "\n").split("\n")
            numbers = range(chunk.first_line, chunk.first_line + len(names) // 3)
            yield Block((names[0::3], names[1::3], names[2::3]), numbers)
        else:
            rows = [line.split("\t") for line in lines.split("\n")]
            yield from checked_blocks(enumerate(rows, chunk.first_line), tally, fail, "tab-separated ")


def _is_plain(data: bytes) -> bool:
    """Whether every line is three non-empty fields between single TABs, without blanks around them."""
    if b"\r" in data:
        return False
    text: NDArray[np.uint8] = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
    ends = np.flatnonzero((text == TAB) | (text == NEWLINE))
    if len(ends) % 3 or (text[ends].reshape(-1, 3) != (TAB, TAB, NEWLINE)).any():
        return False
    starts = np.append(0, ends[:-1] + 1)
    padded = (text[starts] == SPACE) | (text[ends - 1] == SPACE)
    return not (padded | (starts == ends)).any()


def _comma_rows(path: Path, chunks: Iterator[Chunk]) -> Iterator[tuple[int, list[str]]]:
    texts = (io.StringIO(decode(chunk, path), newline="\n") for chunk in chunks)
    reader = csv.reader(chain.from_iterable(texts), strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as problem:
        raise DataError(f"not valid CSV ({problem})", path, reader.line_num) from None


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
            return f"the {column} is empty"
        if "\t" in name or "\n" in name:
            return f"the {column} {name!r} contains a TAB or line break"
    return None
