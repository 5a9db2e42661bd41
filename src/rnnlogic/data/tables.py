"""Facts already in memory: data frames, lists, arrays, and PyKEEN objects (known by their attributes)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.data.readers import HEADERS, UNSPLIT, RawFacts, checked_blocks

PYKEEN_SPLITS = {"train": "training", "valid": "validation", "test": "testing"}


def read_object(data: Any) -> RawFacts:
    """Facts of a frame, array, iterable of triples, PyKEEN triples factory or PyKEEN dataset."""
    if hasattr(data, "training") and hasattr(data, "testing"):
        return _read_pykeen_dataset(data)
    if hasattr(data, "mapped_triples"):
        raw = RawFacts("PyKEEN triples factory")
        _add(raw, UNSPLIT, _factory_rows(data), "triples factory")
    elif hasattr(data, "columns") and hasattr(data, "shape"):
        raw = RawFacts("data frame")
        _add(raw, UNSPLIT, _frame_rows(data), "data frame")
    elif hasattr(data, "__array__"):
        raw = RawFacts("array")
        _add(raw, UNSPLIT, _array_rows(np.asarray(data)), "array")
    elif isinstance(data, Iterable):
        raw = RawFacts("list of facts")
        _add(raw, UNSPLIT, data, "list of facts")
    else:
        raise DataError(
            f"cannot read facts from {type(data).__name__}; give a dataset name, a file or folder, "
            "a pandas or polars frame, a list or array of triples, or a PyKEEN dataset"
        )
    return raw


def _add(raw: RawFacts, split: str, rows: Iterable[Any], kind: str) -> None:
    def fail(problem: str, row: int) -> DataError:
        return DataError(f"{kind}, row {row}: {problem}")

    named = ((row, _names(values, row, kind)) for row, values in enumerate(rows))
    raw.add(split, checked_blocks(named, raw.tally, fail))


def _names(values: Any, row: int, kind: str) -> list[str]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"{kind}, row {row}: {values!r} is not a triple (head, relation, tail)")
    values = list(values)
    if any(value is None or (isinstance(value, float) and math.isnan(value)) for value in values):
        raise DataError(f"{kind}, row {row}: a value is missing (None or NaN)")
    return [str(value) for value in values]


def _array_rows(array: np.ndarray[Any, Any]) -> list[list[Any]]:
    if array.ndim != 2 or array.shape[1] != 3:
        raise DataError(f"an array of facts must have shape [n, 3], not {list(array.shape)}")
    rows: list[list[Any]] = array.tolist()
    return rows


def _frame_rows(frame: Any) -> Iterator[tuple[Any, ...]]:
    """Rows of a pandas or polars frame: columns by a known set of names, else the only three columns."""
    names = [str(column).lower() for column in frame.columns]
    known = next((header for header in HEADERS if set(header) <= set(names)), None)
    if known is None and len(names) != 3:
        raise DataError(
            f"a data frame needs three columns, or columns named {_headers()}; found {', '.join(names)}"
        )
    places = [names.index(name) for name in known] if known else [0, 1, 2]
    columns = [frame.iloc[:, i] if hasattr(frame, "iloc") else frame.to_series(i) for i in places]
    for column in columns:
        missing = column.isna() if hasattr(column, "isna") else column.is_null()
        if missing.any():
            row = missing.to_list().index(True)
            raise DataError(f"data frame, row {row}: a value is missing in column {column.name!r}")
    return zip(*(column.to_list() for column in columns), strict=True)


def _headers() -> str:
    return " or ".join("/".join(header) for header in HEADERS)


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
