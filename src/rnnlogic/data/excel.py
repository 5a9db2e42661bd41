"""Reading a sheet of an Excel workbook, with openpyxl."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from rnnlogic.base.errors import DataError
from rnnlogic.base.limits import beyond, limit
from rnnlogic.data.columns import layout_of
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.places import Place, open_bytes, shown
from rnnlogic.data.raw import Block, RowShape, Tally, checked_blocks


def read_excel(place: Place, tally: Tally, options: ReadOptions) -> Iterator[Block]:
    """The facts of the first sheet of a workbook; its first row that is not empty may be a header."""

    def fail(problem: str, line: int) -> DataError:
        return DataError(problem, shown(place), line)

    rows = _rows(place, tally)
    first = next((row for row in rows if any(row[1])), None)
    if first is None:
        return
    line, header = first
    try:
        layout = layout_of(header, options, tally, may_have_header=True)
    except DataError as problem:
        raise fail(str(problem), line) from None
    if layout.has_header:
        tally.header_lines += 1

    def picked() -> Iterator[tuple[int, list[str]]]:
        if not layout.has_header:
            yield line, [header[place] for place in layout.used]
        for number, row in rows:
            cells = row + [""] * (layout.width - len(row))
            yield number, [cells[place] for place in layout.used]

    yield from checked_blocks(picked(), tally, fail, RowShape(layout.extras))


def _rows(place: Place, tally: Tally) -> Iterator[tuple[int, list[str]]]:
    """Rows of the first sheet as texts, without empty columns at the end, with their numbers."""
    openpyxl = _module(place)
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
            row = [_text(value) for value in values]
            while row and not row[-1]:
                row.pop()
            yield number, row
    except DataError:
        raise
    except Exception as problem:  # openpyxl has no error of its own for a damaged file
        said = str(problem).partition("\n")[0] or type(problem).__name__
        raise DataError(f"not an Excel workbook ({said})", shown(place)) from None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _module(place: Place) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise DataError(
            "this needs openpyxl: pip install openpyxl; or save the sheet as CSV", shown(place)
        ) from None
    return openpyxl
