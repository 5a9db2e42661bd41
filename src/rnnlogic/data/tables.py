"""Facts already in memory: data frames, lists, arrays, and PyKEEN objects (known by their attributes)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import (
    NO_OPTIONS,
    ReadOptions,
    chosen_places,
    known_columns,
    listed,
    note_columns,
)
from rnnlogic.data.networks import is_network, network_rows
from rnnlogic.data.raw import UNSPLIT, Block, RawFacts, Tally, checked_blocks, shortened

PYKEEN_SPLITS = {"train": "training", "valid": "validation", "test": "testing"}


def read_object(data: Any, options: ReadOptions = NO_OPTIONS) -> RawFacts:
    """Facts of a frame, array, iterable of triples, networkx graph, PyKEEN triples factory or dataset."""
    if hasattr(data, "training") and hasattr(data, "testing"):
        return _read_pykeen_dataset(data)
    if hasattr(data, "mapped_triples"):
        raw = RawFacts("PyKEEN triples factory")
        _add(raw, UNSPLIT, _factory_rows(data), "triples factory")
    elif is_network(data):
        raw = RawFacts("networkx graph")
        _add(raw, UNSPLIT, network_rows(data, raw, options), "networkx graph")
    elif hasattr(data, "columns") and hasattr(data, "shape"):
        raw = RawFacts("data frame")
        _add(raw, UNSPLIT, _frame_rows(data, raw.tally, options), "data frame")
    elif hasattr(data, "__array__"):
        raw = RawFacts("array")
        raw.tally.read_by("numbered" if options.columns else "assumed")
        _add(raw, UNSPLIT, _array_rows(np.asarray(data), options), "array")
    elif isinstance(data, Iterable):
        raw = RawFacts("list of facts")
        raw.tally.read_by("numbered" if options.columns else "assumed")
        _add(raw, UNSPLIT, _reordered(data, options), "list of facts")
    else:
        raise DataError(
            f"cannot read facts from {type(data).__name__}; give a dataset name, a file or folder, a pandas "
            "or polars frame, a list or array of triples, a networkx graph, a PyKEEN dataset, or a database "
            "connection with query="
        )
    return raw


def table_places(
    header: Sequence[str], options: ReadOptions, tally: Tally, kind: str, *, named: bool = True
) -> tuple[int, int, int]:
    """Where a table with column names holds head, relation and tail; not `named`: its names mean nothing."""
    if options.columns is not None:
        tally.read_by("given")
        places = chosen_places(header, options.columns)
        note_columns(header, places, tally)
        return places
    known = known_columns(header) if named else None
    if known is not None:
        tally.read_by("named")
        if not known.certain:
            tally.doubt(f"we do not know all of the column names {listed(header)}")
        note_columns(header, known.places, tally)
        return known.places
    if len(header) != 3:
        raise DataError(
            f"a {kind} needs three columns, or columns named head/relation/tail, subject/predicate/object, "
            f"source/type/target or the like; found {listed(header) or 'none'}. Choose three with columns="
        )
    tally.read_by("assumed")
    return 0, 1, 2


class _BadRowError(ValueError):
    """What is wrong with a row; the caller knows which row it is."""


def checked_rows(
    rows: Iterable[tuple[int, Any]], tally: Tally, fail: Callable[[str, int], DataError]
) -> Iterator[Block]:
    """Blocks of numbered rows of any values."""
    return checked_blocks(_text_rows(rows, tally, fail), tally, fail)


def _text_rows(
    rows: Iterable[tuple[int, Any]], tally: Tally, fail: Callable[[str, int], DataError]
) -> Iterator[tuple[int, list[str]]]:
    for number, values in rows:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise fail(f"{values!r} is not a triple (head, relation, tail)", number)
        try:
            yield number, [value if isinstance(value, str) else _text(value, tally) for value in values]
        except _BadRowError as problem:
            raise fail(str(problem), number) from None


def _text(value: Any, tally: Tally) -> str:
    """A value as a name; whole floats (2.0, as pandas writes 2 beside a missing value) become integers."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) == "<NA>":
        raise _BadRowError("a value is missing (None or NaN); drop such rows first")
    if isinstance(value, dict | list | tuple | set):
        raise _BadRowError(f"{shortened(str(value))} is not a name; give a text or a number")
    if isinstance(value, float) and value.is_integer():
        tally.note("whole numbers with a decimal point (2.0) are read as integers (2)")
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _add(raw: RawFacts, split: str, rows: Iterable[Any], kind: str) -> None:
    def fail(problem: str, row: int) -> DataError:
        return DataError(f"{kind}, row {row}: {problem}")

    raw.add(split, checked_rows(enumerate(rows), raw.tally, fail))


def _array_rows(array: np.ndarray[Any, Any], options: ReadOptions) -> Iterable[Any]:
    if array.ndim != 2 or (array.shape[1] != 3 and options.columns is None):
        raise DataError(
            f"an array of facts must have shape [n, 3], not {list(array.shape)}; "
            "choose three columns with columns="
        )
    rows: list[list[Any]] = array.tolist()
    return _reordered(rows, options)


def _reordered(rows: Iterable[Any], options: ReadOptions) -> Iterable[Any]:
    """Rows without column names; the user may choose columns by number."""
    if options.columns is None:
        return rows
    if not all(column.isdecimal() for column in options.columns):
        raise DataError(f"there are no column names here: give numbers, not {','.join(options.columns)!r}")
    return _picked(rows, options.columns)


def _picked(rows: Iterable[Any], columns: Sequence[str]) -> Iterator[list[Any]]:
    for number, row in enumerate(rows):
        values = list(row)
        try:
            yield [values[place] for place in chosen_places([*map(str, values)], columns)]
        except DataError as problem:
            raise DataError(f"row {number}: {problem}") from None


def _frame_rows(frame: Any, tally: Tally, options: ReadOptions) -> Iterator[tuple[Any, ...]]:
    """Rows of a pandas or polars frame: columns as chosen, by known names, else the only three columns."""
    names = [str(column) for column in frame.columns]
    places = table_places(names, options, tally, "data frame")
    if tally.order == "assumed" and not all(name.isdecimal() for name in names):
        tally.doubt(f"we do not know the column names {listed(names)}")
    if hasattr(frame, "fetchall"):  # a relation of duckdb
        return ((row[places[0]], row[places[1]], row[places[2]]) for row in frame.fetchall())
    if not hasattr(frame, "iloc") and not hasattr(frame, "to_series"):
        raise DataError(f"cannot read {type(frame).__name__}; convert it to a pandas or polars frame")
    columns = [frame.iloc[:, i] if hasattr(frame, "iloc") else frame.to_series(i) for i in places]
    _check_missing(columns, "dropna" if hasattr(frame, "iloc") else "drop_nulls")
    return zip(*(column.to_list() for column in columns), strict=True)


def _check_missing(columns: Sequence[Any], method: str) -> None:
    missing = np.stack([_missing(column) for column in columns], axis=1)  # [rows, 3]
    bad = np.flatnonzero(missing.any(axis=1))
    if len(bad):
        column = columns[int(missing[bad[0]].argmax())].name
        names = ", ".join(repr(column.name) for column in columns)
        raise DataError(
            f"data frame, row {bad[0]}: a value is missing in column {column!r} ({len(bad):,} such row(s)); "
            f"drop them with frame.{method}(subset=[{names}])"
        )


def _missing(column: Any) -> np.ndarray[Any, Any]:
    """Which values are missing: None and NaN in pandas, nulls in polars (where NaN is an ordinary value)."""
    return np.asarray(column.isna() if hasattr(column, "isna") else column.is_null(), bool)


def _factory_rows(factory: Any) -> Iterator[tuple[str, ...]]:
    ids = np.asarray(factory.mapped_triples)
    columns = [
        _decoded(ids[:, i], getattr(factory, attribute, None))
        for i, attribute in enumerate(("entity_to_id", "relation_to_id", "entity_to_id"))
    ]
    return zip(*columns, strict=True)


def _decoded(ids: np.ndarray[Any, Any], name_to_id: dict[str, int] | None) -> Sequence[str]:
    if name_to_id is None:
        return [str(i) for i in ids.tolist()]
    names = {i: name for name, i in name_to_id.items()}
    return [names[i] for i in ids.tolist()]


def _read_pykeen_dataset(data: Any) -> RawFacts:
    raw = RawFacts(f"PyKEEN dataset {type(data).__name__}")
    for split, attribute in PYKEEN_SPLITS.items():
        factory = getattr(data, attribute, None)
        if factory is None:
            raise DataError(
                f"the PyKEEN dataset has no {attribute} facts; give its triples factory to have it split"
            )
        _add(raw, split, _factory_rows(factory), f"{attribute} factory")
    return raw
