"""Facts in memory and in databases: frames, lists, arrays, PyKEEN objects, answers of queries, Parquet files.

Objects are known by their attributes. A connection is known by its `execute`: Python's DB-API (sqlite3,
duckdb, ...) and ladybug, an embedded Cypher engine. A path to a database file works too. The three columns of
the answer of a query in SQL or Cypher are head, relation and tail. duckdb reads Parquet files.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import (
    Layout,
    _rest,
    chosen_places,
    extras_of,
    listed,
    table_layout,
)
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.places import Place, open_bytes, placed, shown, suffix_of
from rnnlogic.data.raw import (
    UNSPLIT,
    Block,
    RawFacts,
    Rows,
    Tally,
    row_blocks,
)

PYKEEN_SPLITS = {"train": "training", "valid": "validation", "test": "testing"}


def read_object(data: Any, options: ReadOptions = NO_OPTIONS) -> RawFacts:
    """Facts of a frame, array, iterable of triples, PyKEEN triples factory or dataset."""
    if hasattr(data, "training") and hasattr(data, "testing"):
        return _read_pykeen_dataset(data)
    if hasattr(data, "mapped_triples"):
        raw = RawFacts("PyKEEN triples factory")
        raw.add(UNSPLIT, row_blocks(Rows(_factory_rows(data)), raw.tally, "triples factory"))
    elif hasattr(data, "columns") and hasattr(data, "shape"):
        raw = RawFacts("data frame")
        raw.add(UNSPLIT, row_blocks(_frame_rows(data, raw.tally, options), raw.tally, "data frame"))
    elif hasattr(data, "__array__"):
        raw = RawFacts("array")
        raw.tally.read_by("numbered" if options.columns else "assumed")
        raw.add(UNSPLIT, row_blocks(_array_rows(np.asarray(data), options), raw.tally, "array"))
    elif isinstance(data, Iterable):
        raw = RawFacts("list of facts")
        raw.tally.read_by("numbered" if options.columns else "assumed")
        raw.add(UNSPLIT, row_blocks(_reordered(data, options), raw.tally, "list of facts"))
    else:
        raise DataError(
            f"cannot read facts from {type(data).__name__}; give a dataset name, a file or folder, a pandas "
            "or polars frame, a list or array of triples, a networkx graph, a PyKEEN dataset, or a database "
            "connection with query="
        )
    return raw


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
        raw.add(split, row_blocks(Rows(_factory_rows(factory)), raw.tally, f"{attribute} factory"))
    return raw


CYPHER_SUFFIXES = (".lbug", ".ladybug", ".kuzu")
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
SQLITE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
DATABASE_SUFFIXES = (*CYPHER_SUFFIXES, *DUCKDB_SUFFIXES, *SQLITE_SUFFIXES)
EXAMPLE_CYPHER = "MATCH (a)-[r]->(b) RETURN a.name, label(r), b.name"
EXAMPLE_SQL = "SELECT head, relation, tail FROM facts"


def is_connection(data: Any) -> bool:
    """Whether queries can be run on this."""
    return hasattr(data, "execute") and not isinstance(data, type)


def read_connection(connection: Any, options: ReadOptions) -> RawFacts:
    """Facts that a query on an open connection gives; an answer (a cursor with rows) needs no query."""
    kind = f"{type(connection).__module__.partition('.')[0].lstrip('_')} query"
    if not options.query and not getattr(connection, "description", None):
        raise DataError(
            f"a database connection needs query=, for example {EXAMPLE_SQL!r} or {EXAMPLE_CYPHER!r}"
        )
    raw = RawFacts(kind)
    header, rows = _answer(connection, options.query) if options.query else _fetched(connection)
    raw.add(UNSPLIT, _blocks(header, rows, raw.tally, options, kind))
    return raw


def read_database(path: Path, options: ReadOptions) -> RawFacts:
    """Facts that a query on a database file gives; the file is opened for reading only."""
    if not options.query:
        example = EXAMPLE_CYPHER if suffix_of(path) in CYPHER_SUFFIXES else EXAMPLE_SQL
        raise DataError(f'a database needs a query: --query "{example}" (query= in Python)', path)
    with _opened(path) as connection:
        raw = read_connection(connection, options)
    raw.source = f"{path}, by query"
    return raw


def read_parquet(place: Place, tally: Tally, options: ReadOptions = NO_OPTIONS) -> Iterator[Block]:
    """All facts of a Parquet file."""
    with _parquet(place) as (header, rows):
        yield from _blocks(header, rows, tally, options, "Parquet file")


def parquet_rows(place: Place) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file by the names of its columns."""
    with _parquet(place) as (header, rows):
        for row in rows:
            yield dict(zip(header, row, strict=True))


@contextmanager
def _parquet(place: Place) -> Iterator[tuple[list[str], Iterator[Any]]]:
    """Column names and rows of a Parquet file; what is wrong inside `with` is an error of the file."""
    duckdb = _module("duckdb", "parquet", place)
    with _local_file(place) as file, duckdb.connect() as connection:
        try:
            with placed(place):
                yield _fetched(connection.execute("SELECT * FROM read_parquet($1)", [str(file)]))
        except duckdb.Error as problem:
            raise DataError(f"not a Parquet file ({_first_line(problem)})", shown(place)) from None


def _blocks(
    header: list[str], rows: Iterable[Any], tally: Tally, options: ReadOptions, kind: str
) -> Iterator[Block]:
    layout = table_layout(header, options, tally, kind)
    picked = ([row[place] for place in layout.used] for row in rows)
    return row_blocks(Rows(picked, layout.extras), tally, kind)


def _answer(connection: Any, query: str) -> tuple[list[str], Iterable[Any]]:
    """Column names and rows; whatever the engine says about a bad query is the user's to read."""
    try:
        answer = connection.execute(query)
        if isinstance(answer, list):  # ladybug: several statements
            raise DataError("give one query, not several")
        if hasattr(answer, "get_column_names"):  # ladybug
            return answer.get_column_names(), _guarded(answer)
        cursor = answer if getattr(answer, "description", None) else connection
        if not getattr(cursor, "description", None):
            raise DataError("the query gives no rows; it should return head, relation and tail")
        return _fetched(cursor)
    except DataError:
        raise
    except Exception as problem:  # every engine has errors of its own
        raise DataError(f"the query failed: {_first_line(problem)}") from None


def _fetched(cursor: Any) -> tuple[list[str], Iterator[Any]]:
    """Column names and rows of an answer that is there already."""
    return [column[0] for column in cursor.description], _guarded(_batches(cursor))


def _guarded(rows: Iterable[Any]) -> Iterator[Any]:
    """The rows; a damaged file may show only now."""
    try:
        yield from rows
    except Exception as problem:  # every engine has errors of its own
        raise DataError(f"the rows cannot be read ({_first_line(problem)})") from None


def _batches(cursor: Any) -> Iterator[Any]:
    while rows := cursor.fetchmany(10_000):
        yield from rows


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    suffix = suffix_of(path)
    try:
        if suffix in CYPHER_SUFFIXES:
            ladybug = _module("ladybug", "cypher", path)
            connection = ladybug.Connection(ladybug.Database(str(path), read_only=True))
        elif suffix in DUCKDB_SUFFIXES:
            connection = _module("duckdb", "parquet", path).connect(str(path), read_only=True)
        else:
            import sqlite3

            connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except DataError:
        raise
    except Exception as problem:  # every engine has errors of its own
        raise DataError(f"the database cannot be opened ({_first_line(problem)})", path) from None
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _local_file(place: Place) -> Iterator[Path]:
    """A file that duckdb can open: a copy if the place is in an archive or its name holds a pattern."""
    if isinstance(place, Path) and not set(str(place)) & set("*?[{") and place.suffix.lower() != ".gz":
        yield place
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "facts.parquet")
        with open_bytes(place) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy


def _module(name: str, extra: str, place: Place) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise DataError(f"this needs {name}: pip install '.[{extra}]' in the clone", shown(place)) from None


def _first_line(problem: Exception) -> str:
    return str(problem).strip().partition("\n")[0] or type(problem).__name__
