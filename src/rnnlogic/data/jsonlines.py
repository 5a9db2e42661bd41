"""Reading JSON Lines: one fact a line, as an object with known keys or as an array of three."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from rnnlogic.base.errors import DataError
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.places import Place, shown
from rnnlogic.data.raw import Block, Tally
from rnnlogic.data.readers import decode, read_chunks
from rnnlogic.data.tables import checked_rows, table_layout

JSON_SUFFIXES = (".jsonl", ".ndjson")


def read_json_lines(place: Place, tally: Tally, options: ReadOptions = NO_OPTIONS) -> Iterator[Block]:
    """All facts of a JSON Lines file; the keys of the first object decide which are used."""

    def fail(problem: str, line: int) -> DataError:
        return DataError(problem, shown(place), line)

    values = _values(place, tally, options)
    first = next(values, None)
    if first is None:
        return
    line, value = first
    try:
        header = list(value) if isinstance(value, dict) else [str(i + 1) for i in range(len(value))]
        layout = table_layout(header, options, tally, "JSON Lines file", named=isinstance(value, dict))
    except DataError as problem:
        raise fail(str(problem), line) from None
    keys = [header[i] for i in layout.used]
    rows = ((line, _picked(value, keys)) for line, value in chain([first], values))
    yield from checked_rows(rows, tally, fail, layout.extras)


def _values(place: Place, tally: Tally, options: ReadOptions) -> Iterator[tuple[int, Any]]:
    for chunk in read_chunks(place, tally, options):
        for line, text in enumerate(decode(chunk, place).removesuffix("\n").split("\n"), chunk.first_line):
            if not text.strip():
                tally.blank_lines += 1
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as problem:  # ValueError: also numbers of 5,000 digits
                message = getattr(problem, "msg", None) or str(problem).partition(":")[0]
                raise DataError(f"not valid JSON ({message})", shown(place), line) from None
            if not isinstance(value, dict | list):
                raise DataError("expected an object or an array of three on every line", shown(place), line)
            yield line, value


def _picked(value: dict[str, Any] | list[Any], keys: list[str]) -> list[Any]:
    """The values of some keys; what is not there is an empty cell."""
    if isinstance(value, list):
        value = {str(i + 1): item for i, item in enumerate(value)}
    return [value.get(key) for key in keys]
