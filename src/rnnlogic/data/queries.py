"""Facts out of databases: the answer of a query, in SQL or Cypher, and Parquet files, which duckdb reads.

A connection is known by its `execute`: Python's DB-API (sqlite3, duckdb, ...) and ladybug, an embedded Cypher
engine. A path to a database file works too. The three columns of the answer are head, relation and tail.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rnnlogic.base.errors import DataError
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.places import Place, open_bytes, shown, suffix_of
from rnnlogic.data.raw import UNSPLIT, Block, RawFacts, Tally
from rnnlogic.data.tables import checked_rows, table_layout

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
    duckdb = _module("duckdb", "parquet", place)
    with _local_file(place) as file, duckdb.connect() as connection:
        try:
            answer = connection.execute("SELECT * FROM read_parquet($1)", [str(file)])
            yield from _blocks(*_fetched(answer), tally, options, "Parquet file")
        except duckdb.Error as problem:
            raise DataError(f"not a Parquet file ({_first_line(problem)})", shown(place)) from None
        except DataError as problem:
            raise problem if problem.path else DataError(str(problem), shown(place)) from None


def parquet_rows(place: Place) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file by the names of its columns."""
    duckdb = _module("duckdb", "parquet", place)
    with _local_file(place) as file, duckdb.connect() as connection:
        try:
            header, rows = _fetched(connection.execute("SELECT * FROM read_parquet($1)", [str(file)]))
            for row in rows:
                yield dict(zip(header, row, strict=True))
        except duckdb.Error as problem:
            raise DataError(f"not a Parquet file ({_first_line(problem)})", shown(place)) from None


def _blocks(
    header: list[str], rows: Iterable[Any], tally: Tally, options: ReadOptions, kind: str
) -> Iterator[Block]:
    def fail(problem: str, row: int) -> DataError:
        return DataError(f"{kind}, row {row}: {problem}")

    layout = table_layout(header, options, tally, kind)
    used = layout.used
    picked = ([row[place] for place in used] for row in rows)
    return checked_rows(enumerate(picked), tally, fail, layout.extras)


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
