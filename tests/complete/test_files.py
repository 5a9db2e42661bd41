"""Files of new facts: every name comes back, and nothing half-written stays."""

import csv
import json
import sys

import duckdb
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.base.errors import DataError
from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.files import COLUMNS, check_output, write_facts
from rnnlogic.rules.programs.sparql import iri
from tests.helpers.names import any_names

texts = st.one_of(st.none(), any_names)


@st.composite
def new_facts(draw):
    fact = draw(any_names), draw(any_names), draw(any_names)
    step = draw(any_names), draw(any_names), draw(any_names)
    return NewFact(*fact, draw(st.floats(0, 1)), draw(texts), draw(texts), (step,))


lists = st.lists(new_facts(), max_size=4)
FACT = NewFact("Ann", "friend", "Bob", 0.75, "friend(X,Y) <- friend(Y,X)", "Ann <-friend- Bob", ())


@settings(max_examples=40)
@given(facts=lists)
def test_jsonl_holds_everything(tmp_path_factory, facts):
    path = tmp_path_factory.mktemp("out") / "new.jsonl"
    assert write_facts(path, iter(facts)) == facts
    told = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert told == [fact.as_dict() for fact in facts]


@settings(max_examples=40)
@given(facts=lists)
def test_csv_holds_every_name(tmp_path_factory, facts):
    path = tmp_path_factory.mktemp("out") / "new.csv"
    write_facts(path, facts)
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(COLUMNS)
    assert [row[:3] for row in rows] == [[fact.head, fact.relation, fact.tail] for fact in facts]
    assert [row[4:] for row in rows] == [[fact.rule or "", fact.path or ""] for fact in facts]


@settings(max_examples=40)
@given(facts=lists)
def test_tsv_holds_every_name_or_refuses_it(tmp_path_factory, facts):
    path = tmp_path_factory.mktemp("out") / "new.tsv"
    cells = [c or "" for f in facts for c in (f.head, f.relation, f.tail, f.rule, f.path)]
    if any(set(cell) & set("\t\r\n") for cell in cells):
        with pytest.raises(DataError, match=r"tab or a line break, which \.tsv cannot express; \.jsonl can"):
            write_facts(path, facts)
        assert not list(path.parent.iterdir())
        return
    write_facts(path, facts)
    header, *rows = [line.split("\t") for line in path.read_bytes().decode().split("\n")[:-1]]
    assert header == list(COLUMNS)
    expected = [
        [f.head, f.relation, f.tail, f"{f.probability:.6f}", f.rule or "", f.path or ""] for f in facts
    ]
    assert rows == expected


@settings(max_examples=40)
@given(facts=lists)
def test_nt_is_read_by_an_rdf_library(tmp_path_factory, facts):
    path = tmp_path_factory.mktemp("out") / "new.nt"
    write_facts(path, facts)
    read = list(pyoxigraph.parse(path.read_bytes(), format=pyoxigraph.RdfFormat.N_TRIPLES))
    found = [tuple(str(term) for term in (t.subject, t.predicate, t.object)) for t in read]
    assert found == [(iri(f.head), iri(f.relation), iri(f.tail)) for f in facts]


def test_parquet_is_read_by_duckdb(tmp_path):
    facts = [FACT, NewFact('say "hi"\t\'', "☃", "new\nline", 0.125, None, None, ())]
    path = tmp_path / "it's new.parquet"
    write_facts(path, facts)
    with duckdb.connect() as database:
        rows = database.read_parquet(str(path)).fetchall()
    assert rows == [(f.head, f.relation, f.tail, f.probability, f.rule, f.path) for f in facts]


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl", ".nt", ".parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_was_there_stays_if_anything_goes_wrong(tmp_path, suffix, error):
    path = tmp_path / f"new{suffix}"
    path.write_text("old", encoding="utf-8")

    def interrupted():
        yield FACT
        raise error

    with pytest.raises(error):
        write_facts(path, interrupted())
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_bad_outputs_are_told_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"unknown kind of file '\.xls'; choose \.tsv, \.csv, \.jsonl, \.nt, \.parquet"
    ):
        check_output(tmp_path / "new.xls")
    with pytest.raises(DataError, match="its folder does not exist"):
        check_output(tmp_path / "nowhere" / "new.tsv")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DataError, match="pip install duckdb"):
        check_output(tmp_path / "new.parquet")
