"""Facts already in memory: data frames, lists, arrays, and PyKEEN objects (known by their attributes)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import (
    Layout,
    chosen_places,
    extras_of,
    known_columns,
    listed,
    note_columns,
)
from rnnlogic.data.networks import is_network, network_rows, of_networkx
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.raw import (
    SOURCE_MARKS,
    UNSPLIT,
    Block,
    Extra,
    RawFacts,
    Rows,
    RowShape,
    Tally,
    checked_blocks,
    shortened,
)

PYKEEN_SPLITS = {"train": "training", "valid": "validation", "test": "testing"}


def read_object(data: Any, options: ReadOptions = NO_OPTIONS) -> RawFacts:
    """Facts of a frame, array, iterable of triples, networkx graph, PyKEEN triples factory or dataset."""
    if hasattr(data, "training") and hasattr(data, "testing"):
        return _read_pykeen_dataset(data)
    if hasattr(data, "mapped_triples"):
        raw = RawFacts("PyKEEN triples factory")
        _add(raw, UNSPLIT, Rows(_factory_rows(data)), "triples factory")
    elif is_network(data):
        raw = RawFacts("networkx graph")
        _add(raw, UNSPLIT, network_rows(of_networkx(data), raw, options), "networkx graph")
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


def table_layout(
    header: Sequence[str], options: ReadOptions, tally: Tally, kind: str, *, named: bool = True
) -> Layout:
    """Where a table with column names holds its columns; not `named`: its names mean nothing."""
    extras = extras_of(header, options)
    known = known_columns(header) if named and options.columns is None else None
    if options.columns is not None:
        tally.read_by("given")
        places = chosen_places(header, options.columns)
    elif known is not None:
        tally.read_by("named")
        if not known.certain:
            tally.doubt(f"we do not know all of the column names {listed(header)}")
        places = known.places
    else:
        tally.read_by("assumed")
        places = _rest(header, extras, kind)
    if options.columns is not None or known is not None or extras:
        note_columns(header, places, tally, extras)
    return Layout(places, len(header), True, extras)


def _rest(header: Sequence[str], extras: Sequence[Extra], kind: str) -> tuple[int, int, int]:
    """The only three columns beside those of weights and sources."""
    rest = [i for i in range(len(header)) if i not in {extra.column for extra in extras}]
    if len(rest) != 3:
        raise DataError(
            f"a {kind} needs three columns, or columns named head/relation/tail, subject/predicate/object, "
            f"source/type/target or the like; found {listed(header) or 'none'}. Choose three with columns="
        )
    return rest[0], rest[1], rest[2]


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


def _add(raw: RawFacts, split: str, rows: Rows, kind: str) -> None:
    def fail(problem: str, row: int) -> DataError:
        return DataError(f"{kind}, row {row}: {problem}")

    raw.add(split, checked_rows(enumerate(rows.rows), raw.tally, fail, rows.extras))


def _array_rows(array: np.ndarray[Any, Any], options: ReadOptions) -> Rows:
    few = options.columns is None and options.weight is None and options.source is None
    if array.ndim != 2 or (array.shape[1] != 3 and few):
        raise DataError(
            f"an array of facts must have shape [n, 3], not {list(array.shape)}; "
            "choose three columns with columns="
        )
    rows: list[list[Any]] = array.tolist()
    return _reordered(rows, options)


def _reordered(rows: Iterable[Any], options: ReadOptions) -> Rows:
    """Rows without column names; the user may choose columns by number."""
    chosen = [*(options.columns or ()), *(part for part in (options.weight, options.source) if part)]
    if not chosen:
        return Rows(rows)
    if not all(column.partition("/")[0].isdecimal() for column in chosen):
        raise DataError(f"there are no column names here: give numbers, not {','.join(chosen)!r}")
    first, rows = _peeked(rows)
    if first is None:
        return Rows(())
    header = [str(value) for value in first]
    try:
        extras = extras_of(header, options)
        places = chosen_places(header, options.columns) if options.columns else _rest(header, extras, "row")
    except DataError as problem:
        raise DataError(f"row 0: {problem}") from None
    used = Layout(places, len(header), False, extras).used
    return Rows(_picked(rows, used), extras)


def _peeked(rows: Iterable[Any]) -> tuple[Sequence[Any] | None, Iterable[Any]]:
    """The first row, and all rows."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return None, rows
    values = list(first)
    return values, chain([values], rows)


def _picked(rows: Iterable[Any], used: Sequence[int]) -> Iterator[list[Any]]:
    for number, row in enumerate(rows):
        values = list(row)
        if max(used) >= len(values):
            raise DataError(
                f"row {number}: no column {str(max(used) + 1)!r} among {listed([*map(str, values)])}"
            )
        yield [values[place] for place in used]


def _frame_rows(frame: Any, tally: Tally, options: ReadOptions) -> Rows:
    """Rows of a pandas or polars frame: columns as chosen, by known names, else the only three columns."""
    names = [str(column) for column in frame.columns]
    layout = table_layout(names, options, tally, "data frame")
    if tally.order == "assumed" and not all(name.isdecimal() for name in names):
        tally.doubt(f"we do not know the column names {listed(names)}")
    if hasattr(frame, "fetchall"):  # a relation of duckdb
        return Rows(([row[i] for i in layout.used] for row in frame.fetchall()), layout.extras)
    if not hasattr(frame, "iloc") and not hasattr(frame, "to_series"):
        raise DataError(f"cannot read {type(frame).__name__}; convert it to a pandas or polars frame")
    columns = [frame.iloc[:, i] if hasattr(frame, "iloc") else frame.to_series(i) for i in layout.used]
    return Rows(zip(*(column.to_list() for column in columns), strict=True), layout.extras)


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
        _add(raw, split, Rows(_factory_rows(factory)), f"{attribute} factory")
    return raw
