"""Reading text files of facts: one fact a line, in columns.

The first lines decide what separates the columns, unless the user says so. `.csv` files: commas, with
quotes; TABs, semicolons or bars if these fit and commas do not. All others: TABs; runs of spaces, if the
first line has no TAB and exactly three words; else semicolons, bars or commas. Blanks around fields are
dropped, rows with an empty cell are counted. A header line is recognised by its words (`columns.py`); in
`.txt` files it only raises a doubt.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import Layout, layout_of, table_layout
from rnnlogic.data.options import NO_OPTIONS, SEPARATORS, ReadOptions
from rnnlogic.data.places import (
    BEGINNING,
    SAMPLE,
    UTF8_MARK,
    WINDOWS,
    Place,
    beyond,
    failing,
    is_windows,
    limit,
    open_bytes,
    open_counted,
    packing_of,
    placed,
    sample_of,
    shown,
    suffix_of,
    watched,
    wide_encoding,
)
from rnnlogic.data.raw import BLANKS, Block, RowShape, Tally, checked_blocks, checked_rows

TEXT_SUFFIXES = (".txt", ".tsv", ".csv")
CHUNK_BYTES = 1 << 23  # read at a time: enough for array operations to pay
SAMPLE_LINES = 20  # looked at to find the separator
_QUOTED = re.compile(r'".*"', re.DOTALL)
TAB, NEWLINE, SPACE = b"\t"[0], b"\n"[0], b" "[0]


class Chunk(NamedTuple):
    """Whole lines of a file, without BOM and carriage returns before line ends."""

    data: bytes
    first_line: int


class Table(NamedTuple):
    """How a text file is laid out."""

    place: Place
    sep: str
    quoted: bool
    layout: Layout

    @property
    def shape(self) -> RowShape:
        """What its rows hold."""
        return RowShape(self.layout.extras, _separated(self.sep))


def read_text(place: Place, tally: Tally, options: ReadOptions = NO_OPTIONS) -> Iterator[Block]:
    """All facts of a text file (optionally compressed), in file order."""
    chunks = read_chunks(place, tally, options)
    first = next(chunks, None)
    if first is None:
        return
    table = _table(place, first, tally, options)
    if table is None:
        return
    for number, block in enumerate(_blocks(table, chain([first], chunks), tally)):
        if number == 0 and table.layout.has_header:
            tally.header_lines += 1
            extras = tuple((extra, texts[1:]) for extra, texts in block.extras)
            yield Block(tuple(column[1:] for column in block.columns), block.lines[1:], extras)
        else:
            yield block


def read_header(place: Place, tally: Tally, options: ReadOptions = NO_OPTIONS) -> tuple[str, list[str]]:
    """The separator and the fields of the first line that is not blank (none if there is no such line)."""
    first = next(read_chunks(place, Tally(), options), None)
    if first is None:
        return "\t", []
    first = _beginning(first)
    sep = options.sep or _separator(place, first, tally)
    return sep, _first_row(place, first, sep, _may_be_quoted(sep))[1]


def read_rows(
    place: Place, sep: str, tally: Tally, options: ReadOptions = NO_OPTIONS
) -> Iterator[tuple[int, list[str]]]:
    """All rows of a text file with their lines; fields stripped, blank rows left out."""
    for line, row in _rows(place, read_chunks(place, tally, options), sep, _may_be_quoted(sep)):
        fields = [field.strip(BLANKS) for field in row]
        if any(fields):
            yield line, fields


def read_chunks(place: Place, tally: Tally, options: ReadOptions = NO_OPTIONS) -> Iterator[Chunk]:
    """The file in pieces of whole lines in UTF-8; byte order mark and CRLF are removed and noted."""
    line, crlf = 1, False
    may_be_windows, is_windows_text = options.encoding is None, False
    for number, data in enumerate(_raw_chunks(place, tally, options)):
        if number == 0 and data.startswith(UTF8_MARK):
            tally.bom_files += 1
            data = data[len(UTF8_MARK) :]
        if may_be_windows and not data.isascii():
            may_be_windows, is_windows_text = False, _is_windows(data, place, tally)
        if is_windows_text:
            data = _from_windows(Chunk(data, line), place)
        if b"\r\n" in data:
            crlf = True
            data = data.replace(b"\r\n", b"\n")
        yield Chunk(data, line)
        line += data.count(b"\n")
    tally.crlf_files += crlf


def decode(chunk: Chunk, place: Place) -> str:
    """The text of a chunk; bytes that are not UTF-8 are an error with their line."""
    try:
        return chunk.data.decode()
    except UnicodeDecodeError as problem:
        raise _undecodable(chunk, place, problem, "UTF-8") from None


def _undecodable(chunk: Chunk, place: Place, problem: UnicodeDecodeError, encoding: str) -> DataError:
    line = chunk.first_line + chunk.data.count(b"\n", 0, problem.start)
    message = (
        f"byte {chunk.data[problem.start]:#04x} is not {encoding}, as text before it is or seems to be; "
        "correct it, or name the encoding: --encoding cp1252 (encoding= in Python)"
    )
    return DataError(message, shown(place), line)


def _is_windows(data: bytes, place: Place, tally: Tally) -> bool:
    """Whether the first letters beyond ASCII show a file in cp1252."""
    try:
        data.decode()
    except UnicodeDecodeError as problem:
        if not is_windows(data):
            return False
        tally.note(
            f"{place.name} is not UTF-8 and is read as cp1252 (Windows), with words such as "
            f"{sample_of(data[problem.start - min(problem.start, 40) :])!r}; "
            "if that is wrong, name the encoding: --encoding NAME (encoding= in Python)"
        )
        return True
    return False


def _from_windows(chunk: Chunk, place: Place) -> bytes:
    try:
        return chunk.data.decode(WINDOWS).encode()
    except UnicodeDecodeError as problem:
        raise _undecodable(chunk, place, problem, "cp1252") from None


def _raw_chunks(place: Place, tally: Tally, options: ReadOptions) -> Iterator[bytes]:
    try:
        encoding = options.encoding
        if encoding is None:
            with open_bytes(place) as file:
                encoding = wide_encoding(file.read(SAMPLE))
            if encoding is not None:
                tally.note(f"{place.name} is read as {encoding}")
        opened = open_counted(place)
        text: BinaryIO | TextIO = opened.file
        if encoding not in (None, "utf-8"):
            text = io.TextIOWrapper(opened.file, encoding, newline="\n")
        with text:
            yield from watched(_lines(text, place), opened, place.name, options.progress)
    except UnicodeError as problem:
        said = f"not valid {encoding} ({getattr(problem, 'reason', problem)})"
        raise DataError(f"{said}; name its encoding: --encoding NAME", shown(place)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as problem:
        kind = {".gz": "gzip", ".zst": "zst"}.get(packing_of(place.name), "zip")
        raise DataError(f"the {kind} file is damaged ({problem})", shown(place)) from None
    except OSError as problem:
        raise DataError(f"cannot be read ({problem.strerror or problem})", shown(place)) from None


def _lines(file: BinaryIO | TextIO, place: Place) -> Iterator[bytes]:
    """Pieces of whole lines, in UTF-8."""
    longest = limit("line_bytes")
    while data := _utf8(file.read(CHUNK_BYTES)):
        rest = _utf8(file.readline(longest + 1))
        if len(rest) > longest:
            raise beyond("line_bytes", shown(place))
        yield data + rest


def _utf8(data: bytes | str) -> bytes:
    return data if isinstance(data, bytes) else data.encode()


def _table(place: Place, first: Chunk, tally: Tally, options: ReadOptions) -> Table | None:
    """The layout that the first row shows; none if the first chunk is blank."""
    first = _beginning(first)
    sep = options.sep or _separator(place, first, tally)
    quoted = _may_be_quoted(sep)
    line, row = _first_row(place, first, sep, quoted)
    if not row:
        return None
    if not quoted and suffix_of(place) in (".csv", ".tsv") and all(map(_QUOTED.fullmatch, row)):
        quoted = True  # as R and spreadsheets write TAB-separated files
        tally.note("quotes around the fields are removed")
        line, row = _first_row(place, first, sep, quoted)
    may_have_header = suffix_of(place) in (".csv", ".tsv") or sep not in "\t "
    with placed(place, line):
        layout = layout_of(row, options, tally, may_have_header=may_have_header, separated=_separated(sep))
    return Table(place, sep, quoted, layout)


def _first_row(place: Place, chunk: Chunk, sep: str, quoted: bool) -> tuple[int, list[str]]:
    """Line and fields of the first row that is not blank; no fields if there is none."""
    rows = _rows(place, [chunk], sep, quoted)
    stripped = ((line, [field.strip(BLANKS) for field in row]) for line, row in rows)
    return next(((line, row) for line, row in stripped if any(row)), (0, []))


def _may_be_quoted(sep: str) -> bool:
    """Whether fields may stand in quotes whatever they hold, as in CSV."""
    return len(sep) == 1 and sep not in "\t "


def _beginning(chunk: Chunk) -> Chunk:
    """The first lines of a chunk, enough to see how the file is laid out."""
    end = chunk.data.find(b"\n", BEGINNING) + 1
    return Chunk(chunk.data[:end], chunk.first_line) if chunk.data[:end].strip() else chunk


def _separated(sep: str) -> str:
    return f"{SEPARATORS.get(sep, repr(sep))}-separated "


def _separator(place: Place, chunk: Chunk, tally: Tally) -> str:
    """What separates the columns of the first lines; the usual one, unless only another fits."""
    lines = [line for line in chunk.data.split(b"\n") if line.strip()][:SAMPLE_LINES]
    first = lines[0] if lines else b""
    is_csv = suffix_of(place) == ".csv"
    if not is_csv and b"\t" in first:
        return "\t"
    possible = ",\t;|" if is_csv else ";|,"
    fitting = [sep for sep in possible if _fits(lines, sep)] or [
        sep for sep in possible if _fits(lines[:1], sep)
    ]
    if not is_csv:
        spaced = len(first.split()) == 3 and not any(_ends_words(lines, sep) for sep in fitting)
        return " " if spaced else fitting[0] if fitting else "\t"
    if len(fitting) > 1:
        others = ", ".join(SEPARATORS[sep] for sep in fitting[1:])
        tally.doubt(
            f"columns may be separated by {SEPARATORS[fitting[0]]} (used here) or {others}: see --sep"
        )
    if fitting:
        return fitting[0]
    return "," if b"," in first or b"\t" not in first else "\t"


def _fits(lines: list[bytes], sep: str) -> bool:
    """Whether every line has the same number of columns, three or more."""
    counts = {line.count(sep.encode()) for line in lines}
    if len(counts) > 1 and b'"' in b"".join(lines):
        texts = (line.decode(errors="replace") for line in lines)
        with contextlib.suppress(csv.Error):  # the reader proper says what is wrong, and where
            counts = {len(row) - 1 for row in csv.reader(texts, delimiter=sep)}
    return len(counts) == 1 and counts.pop() >= 2


def _ends_words(lines: list[bytes], sep: str) -> bool:
    """Whether lines look like `a, b, c`: three words, but separated by more than spaces."""
    return all(word.endswith(sep.encode()) for line in lines for word in line.split()[:2])


def _rows(place: Place, chunks: Iterable[Chunk], sep: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Lines and their fields."""
    if quoted:
        yield from _quoted_rows(place, chunks, sep)
        return
    for chunk in chunks:
        lines = decode(chunk, place).removesuffix("\n").split("\n")
        split = sep if sep != " " else None
        yield from enumerate((line.split(split) for line in lines), chunk.first_line)


def _quoted_rows(place: Place, chunks: Iterable[Chunk], sep: str) -> Iterator[tuple[int, list[str]]]:
    texts = (io.StringIO(decode(chunk, place), newline="\n") for chunk in chunks)
    reader = csv.reader(chain.from_iterable(texts), delimiter=sep, strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as problem:
        raise DataError(f"not valid CSV ({problem})", shown(place), reader.line_num) from None


def _blocks(table: Table, chunks: Iterator[Chunk], tally: Tally) -> Iterator[Block]:
    if table.sep != "\t" or table.quoted:
        rows = _projected(_rows(table.place, chunks, table.sep, table.quoted), table)
        yield from checked_blocks(rows, tally, failing(table.place), table.shape)
        return
    for chunk in chunks:
        if _is_plain(chunk.data, table.layout.width):
            yield _plain_block(chunk, table)
        else:
            rows = _projected(_rows(table.place, [chunk], table.sep, False), table)
            yield from checked_blocks(rows, tally, failing(table.place), table.shape)


def _plain_block(chunk: Chunk, table: Table) -> Block:
    names = decode(chunk, table.place).removesuffix("\n").replace("\t", "\n").split("\n")
    width = table.layout.width
    numbers = range(chunk.first_line, chunk.first_line + len(names) // width)
    columns = tuple(names[place::width] for place in table.layout.places)
    extras = tuple((extra, names[extra.column :: width]) for extra in table.layout.extras)
    return Block(columns, numbers, extras)


def _projected(rows: Iterator[tuple[int, list[str]]], table: Table) -> Iterator[tuple[int, list[str]]]:
    """Head, relation and tail of every row; rows of another width are errors, blank ones pass through."""
    used, width = table.layout.used, table.layout.width
    if table.layout.is_plain:
        yield from rows
        return
    for line, row in rows:
        if len(row) == width:
            yield line, [row[place] for place in used]
        elif len(row) > 1 or (row and row[0].strip(BLANKS)):
            problem = (
                f"expected {width} {table.shape.separated}columns as in the first line, found {len(row)}"
            )
            raise DataError(problem, shown(table.place), line)
        else:
            yield line, row


def _is_plain(data: bytes, width: int) -> bool:
    """Whether every line is `width` non-empty fields between single TABs, without blanks around them."""
    if b"\r" in data:
        return False
    text: NDArray[np.uint8] = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
    ends = np.flatnonzero((text == TAB) | (text == NEWLINE))
    expected = [TAB] * (width - 1) + [NEWLINE]
    if len(ends) % width or (text[ends].reshape(-1, width) != expected).any():
        return False
    starts = np.append(0, ends[:-1] + 1)
    padded = (text[starts] == SPACE) | (text[ends - 1] == SPACE)
    return not (padded | (starts == ends)).any()


JSON_SUFFIXES = (".jsonl", ".ndjson")


def read_json_lines(place: Place, tally: Tally, options: ReadOptions = NO_OPTIONS) -> Iterator[Block]:
    """All facts of a JSON Lines file; the keys of the first object decide which are used."""
    values = _values(place, tally, options)
    first = next(values, None)
    if first is None:
        return
    line, value = first
    with placed(place, line):
        header = list(value) if isinstance(value, dict) else [str(i + 1) for i in range(len(value))]
        layout = table_layout(header, options, tally, "JSON Lines file", named=isinstance(value, dict))
    keys = [header[i] for i in layout.used]
    rows = ((line, _picked(value, keys)) for line, value in chain([first], values))
    yield from checked_rows(rows, tally, failing(place), layout.extras)


def _values(place: Place, tally: Tally, options: ReadOptions) -> Iterator[tuple[int, Any]]:
    for chunk in read_chunks(place, tally, options):
        for line, text in enumerate(decode(chunk, place).removesuffix("\n").split("\n"), chunk.first_line):
            if not text.strip():
                tally.blank_lines += 1
                continue
            value = parsed_json(text, place, line)
            if not isinstance(value, dict | list):
                raise DataError("expected an object or an array of three on every line", shown(place), line)
            yield line, value


def parsed_json(text: str, place: Place, line: int | None = None) -> Any:
    """The value of a JSON text; an error names the line, in the text unless it is given."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:  # ValueError: also numbers of 5,000 digits
        said = getattr(problem, "msg", None) or str(problem).partition(":")[0]
        line = line or getattr(problem, "lineno", None)
        raise DataError(f"not valid JSON ({said})", shown(place), line) from None


def _picked(value: dict[str, Any] | list[Any], keys: list[str]) -> list[Any]:
    """The values of some keys; what is not there is an empty cell."""
    if isinstance(value, list):
        value = {str(i + 1): item for i, item in enumerate(value)}
    return [value.get(key) for key in keys]


def read_excel(place: Place, tally: Tally, options: ReadOptions) -> Iterator[Block]:
    """The facts of the first sheet of a workbook; its first row that is not empty may be a header."""
    rows = _sheet_rows(place, tally)
    first = next((row for row in rows if any(row[1])), None)
    if first is None:
        return
    line, header = first
    with placed(place, line):
        layout = layout_of(header, options, tally, may_have_header=True)
    if layout.has_header:
        tally.header_lines += 1

    def picked() -> Iterator[tuple[int, list[str]]]:
        if not layout.has_header:
            yield line, [header[place] for place in layout.used]
        for number, row in rows:
            cells = row + [""] * (layout.width - len(row))
            yield number, [cells[place] for place in layout.used]

    yield from checked_blocks(picked(), tally, failing(place), RowShape(layout.extras))


def _sheet_rows(place: Place, tally: Tally) -> Iterator[tuple[int, list[str]]]:
    """Rows of the first sheet as texts, without empty columns at the end, with their numbers."""
    openpyxl = _openpyxl(place)
    with open_bytes(place) as file:
        data = file.read()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > max(limit("free_bytes"), limit("expansion") * len(data)):
            raise beyond("expansion", shown(place))
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            tally.note(f"only the first of {len(book.worksheets):,} sheets is read: {sheet.title!r}")
        for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
            row = [_cell_text(value) for value in values]
            while row and not row[-1]:
                row.pop()
            yield number, row
    except DataError:
        raise
    except Exception as problem:  # openpyxl has no error of its own for a damaged file
        said = str(problem).partition("\n")[0] or type(problem).__name__
        raise DataError(f"not an Excel workbook ({said})", shown(place)) from None


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _openpyxl(place: Place) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise DataError(
            "this needs openpyxl: pip install openpyxl; or save the sheet as CSV", shown(place)
        ) from None
    return openpyxl
