"""Facts by query, from real engines: ladybug (Cypher), duckdb and sqlite3 (SQL)."""

import sqlite3
from contextlib import closing

import duckdb
import ladybug
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import load_dataset
from tests.helpers.reading import DRUGS, facts_of, read

CYPHER = "MATCH (a)-[r]->(b) RETURN a.name, label(r), b.name"
SQL = "SELECT tail AS object, head AS subject, relation AS predicate FROM facts"


@pytest.fixture
def cypher(tmp_path):
    path = tmp_path / "drugs.lbug"
    database = ladybug.Database(str(path))
    connection = ladybug.Connection(database)
    connection.execute("CREATE NODE TABLE Thing(name STRING PRIMARY KEY)")
    for relation in sorted({relation for _, relation, _ in DRUGS}):
        connection.execute(f"CREATE REL TABLE {relation}(FROM Thing TO Thing)")
    for name in sorted({name for head, _, tail in DRUGS for name in (head, tail)}):
        connection.execute("CREATE (:Thing {name: $name})", {"name": name})
    for head, relation, tail in DRUGS:
        query = f"MATCH (a:Thing {{name: $head}}), (b:Thing {{name: $tail}}) CREATE (a)-[:{relation}]->(b)"
        connection.execute(query, {"head": head, "tail": tail})
    yield connection, database, path
    connection.close()
    database.close()


def fill(connection):
    connection.execute("CREATE TABLE facts (head TEXT, relation TEXT, tail TEXT)")
    connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", DRUGS)
    connection.commit()
    return connection


def test_cypher_on_a_connection(cypher):
    dataset = load_dataset(cypher[0], query=CYPHER)
    assert facts_of(dataset) == set(DRUGS)
    assert dataset.source.startswith("ladybug query")


def test_cypher_on_a_database_file(cypher):
    connection, database, path = cypher
    connection.close()
    database.close()
    dataset = load_dataset(path, query=CYPHER)
    assert facts_of(dataset) == set(DRUGS)
    assert (dataset.name, dataset.source.startswith(f"{path}, by query")) == ("drugs", True)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("MATCH (a)-[r]->(b) RETURN a.name, b.name", "needs three columns"),
        ("MATCH (a)-[r]->(b) RETURN a, label(r), b", "row 0: .* is not a name"),
        ("MATCH (a RETURN a", "the query failed: "),
        ("MATCH (a:Thing {name: 'nobody'})-[r]->(b) RETURN a.name, label(r), b.name", "no facts found"),
        (None, "needs query="),
    ],
)
def test_wrong_queries_are_errors(cypher, query, message):
    with pytest.raises(DataError, match=message):
        load_dataset(cypher[0], query=query)


@pytest.mark.parametrize("engine", [duckdb, sqlite3])
def test_sql_on_a_connection(engine):
    with fill(engine.connect(":memory:")) as connection:
        facts, lines = read(connection, query=SQL)
    assert facts == set(DRUGS)
    assert lines == ["columns: head = 'subject', relation = 'predicate', tail = 'object'"]


@pytest.mark.parametrize("engine", [duckdb, sqlite3])
def test_an_answer_needs_no_query(engine):
    with fill(engine.connect(":memory:")) as connection:
        assert read(connection.execute(SQL))[0] == set(DRUGS)


def test_a_duckdb_relation():
    with fill(duckdb.connect(":memory:")) as connection:
        assert read(connection.sql(SQL))[0] == set(DRUGS)


@pytest.mark.parametrize(("engine", "suffix"), [(duckdb, ".duckdb"), (sqlite3, ".db")])
def test_sql_on_a_database_file(tmp_path, engine, suffix):
    path = tmp_path / f"drugs{suffix}"
    fill(engine.connect(str(path))).close()
    assert read(path, query=SQL)[0] == set(DRUGS)
    with pytest.raises(DataError, match=r'a database needs a query: --query "SELECT'):
        load_dataset(path)
    with pytest.raises(DataError, match="the query failed"):
        load_dataset(path, query="DELETE FROM facts")  # opened for reading only
    assert read(path, query=SQL)[0] == set(DRUGS)


def test_a_file_that_is_no_database(tmp_path):
    for suffix in (".lbug", ".duckdb", ".db"):
        path = tmp_path / f"f{suffix}"
        path.write_text("nothing of the kind" * 100, encoding="utf-8")
        with pytest.raises(DataError, match=r"cannot be opened|query failed"):
            load_dataset(path, query=SQL)


def test_a_statement_without_an_answer_is_an_error():
    with sqlite3.connect(":memory:") as connection, pytest.raises(DataError, match="gives no rows"):
        load_dataset(connection, query="CREATE TABLE x (y TEXT)")


def test_a_damaged_database_is_an_error(tmp_path):
    path = tmp_path / "facts.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE facts (head TEXT, relation TEXT, tail TEXT)")
        rows = [(f"e{i}", "r", f"e{i + 1}") for i in range(5000)]
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", rows)
        connection.commit()
    data = bytearray(path.read_bytes())
    data[-4096:] = bytes(4096)  # the last page: seen only when its rows come
    path.write_bytes(data)
    with pytest.raises(DataError, match="the rows cannot be read"):
        load_dataset(path, query="SELECT * FROM facts")
