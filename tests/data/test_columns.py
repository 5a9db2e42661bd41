"""Which column is which: by the words of a header, or as the user says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import known_columns
from rnnlogic.data.dataset import DataWarning, load_dataset
from rnnlogic.data.options import parse_columns
from tests.helpers.reading import DRUGS, facts_of, read, table

HEADERS = {  # header -> places of head, relation, tail
    "subject,object,predicate": (0, 2, 1),
    "Subject,Predicate,Object": (0, 1, 2),
    ":START_ID,:END_ID,:TYPE": (0, 2, 1),
    ":START_ID(Person),:TYPE,:END_ID(Person)": (0, 1, 2),
    "_start,_end,_type": (0, 2, 1),
    "source,target,type": (0, 2, 1),
    "source,relationship,target": (0, 1, 2),
    "Source,Target,Relation Type": (0, 2, 1),
    "source_id,target_id,edge_type": (0, 2, 1),
    "src,rel,dst": (0, 1, 2),
    "from,to,label": (0, 2, 1),
    "headEntity,relation,tailEntity": (0, 1, 2),
    "head_id,relation_id,tail_id": (0, 1, 2),
    "entity1,relation,entity2": (0, 1, 2),
    "node1,node2,interaction": (0, 2, 1),
    "source,metaedge,target": (0, 1, 2),
    "?s,?p,?o": (0, 1, 2),
    "t,r,h": (2, 1, 0),
    "e1,rel,e2": (0, 1, 2),
    "from,kind,to": (0, 1, 2),
}


@pytest.mark.parametrize("header", HEADERS)
def test_the_usual_words_are_known(header):
    columns = known_columns(header.split(","))
    assert columns == (HEADERS[header], True)


@pytest.mark.parametrize(
    ("header", "places"),
    [
        (",head,relation,tail,weight", (1, 2, 3)),  # pandas writes its index like this
        ("Source,Target,Type,Id,Label,Weight", (0, 4, 1)),  # Gephi, whose type is Directed or Undirected
        ("id,subject,predicate,object,source", (1, 2, 3)),  # the words of a pair belong together
        ("start,end,subject,relation,object", (2, 3, 4)),
    ],
)
def test_further_columns_do_not_confuse(header, places):
    assert known_columns(header.split(",")) == (places, True)


@pytest.mark.parametrize(
    "header",
    [
        "aspirin,treats,headache",
        "a,r,b",
        "x,y,z",
        "object,type,source",
        "subject_id,subject_name,object,predicate",
    ],
)
def test_other_words_are_no_header(header):
    assert known_columns(header.split(",")) is None


@pytest.mark.parametrize("header", ["drug,relation,disease", "n.name,type(r),m.name", "source,how,target"])
def test_a_header_known_in_part_is_used_and_doubted(tmp_path, header):
    path = tmp_path / "f.csv"
    path.write_text(table(header.split(","), DRUGS), encoding="utf-8")
    with pytest.warns(DataWarning, match="do not know all words of the header"):
        facts, lines = read(path)
    assert facts == set(DRUGS)
    assert "so that aspirin -treats-> headache, aspirin -treats-> fever" in lines[0]


@pytest.mark.parametrize("header", list(HEADERS)[:16])
@pytest.mark.parametrize(("suffix", "sep"), [(".csv", ","), (".tsv", "\t"), (".csv", ";"), (".txt", "|")])
def test_files_are_read_by_their_header(tmp_path, header, suffix, sep):
    places = HEADERS[header]
    order = [places.index(i) for i in range(3)]
    path = tmp_path / f"f{suffix}"
    path.write_text(table(header.split(","), DRUGS, sep, order), encoding="utf-8")
    facts, lines = read(path)
    assert facts == set(DRUGS)
    assert "1 header line(s) skipped" in lines
    assert any(line.startswith("columns: head = ") for line in lines) == (places != (0, 1, 2))


@pytest.mark.parametrize(("suffix", "sep"), [(".csv", ","), (".tsv", "\t")])
def test_extra_columns_are_ignored_by_name(tmp_path, suffix, sep):
    rows = [(str(i), t, "0.5", h, r) for i, (h, r, t) in enumerate(DRUGS)]
    path = tmp_path / f"f{suffix}"
    header = ["id", "target", "weight", "source", "type"]
    path.write_text(table(header, rows, sep, range(5)), encoding="utf-8")
    facts, lines = read(path)
    assert facts == set(DRUGS)
    expected = "columns: head = 'source', relation = 'type', tail = 'target'; ignored: 'id', 'weight'"
    assert expected in lines
    path.write_text(path.read_text(encoding="utf-8") + sep.join("abcd") + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r":8: expected 5 .*columns as in the first line, found 4"):
        load_dataset(path)


@pytest.mark.parametrize("columns", ["who,does,what", ("who", "does", "what"), "3,1,4", [3, "does", 4]])
@pytest.mark.parametrize(("suffix", "sep"), [(".csv", ","), (".txt", "\t")])
def test_the_user_may_choose_columns(tmp_path, columns, suffix, sep):
    rows = [(r, "x", h, t) for h, r, t in DRUGS]
    path = tmp_path / f"f{suffix}"
    by_name = any(
        not str(c).isdecimal() for c in (columns.split(",") if isinstance(columns, str) else columns)
    )
    header = ["does", "when", "who", "what"] if by_name else None
    path.write_text(table(header, rows, sep, range(4)), encoding="utf-8")
    facts, lines = read(path, columns=columns)
    assert facts == set(DRUGS)
    assert not any("please check" in line for line in lines)
    assert any("ignored" in line for line in lines)


def test_numbers_are_numbers_even_if_names_are_numbers_too(tmp_path):
    path = tmp_path / "f.tsv"
    path.write_text("2\t1\t3\n1\t3\t2\n", encoding="utf-8")
    assert read(path, columns="1,2,3")[0] == {("2", "1", "3"), ("1", "3", "2")}
    assert read(path, columns={"head": 2, "relation": 1, "tail": 3})[0] == {("1", "2", "3"), ("3", "1", "2")}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("a,b", "must be three names or numbers"),
        ("a,,b", "must be three names or numbers"),
        ("a,a,b", "need different columns"),
        ("head,1,tail", "need different columns"),
        ("1,2," + "1" * 5000, f"no column '{'1' * 50}' among"),
        ("head,relation,tial", r"f\.csv:1: no column 'tial' among 'head', 'relation', 'tail'"),
        ("head,relation,4", "a number from 1 to 3"),
    ],
)
def test_wrong_choices_are_errors(tmp_path, columns, message):
    path = tmp_path / "f.csv"
    path.write_text(table(["head", "relation", "tail"], DRUGS), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load_dataset(path, columns=columns)


def test_too_many_columns_without_a_known_header_come_with_the_way_out(tmp_path):
    path = tmp_path / "quads.txt"
    path.write_text("a\tr\tb\t2014-01-01\n", encoding="utf-8")
    with pytest.raises(
        DataError,
        match=r"quads\.txt:1: expected 3 tab-separated .* found 4: 'a', 'r'.*--columns HEAD,RELATION,TAIL",
    ):
        load_dataset(path)
    assert read(path, columns="1,2,3")[0] == {("a", "r", "b")}


def test_two_columns_lack_the_relation(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("from,to\na,b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r":1: .*found 2: the relation is missing"):
        load_dataset(path)


def test_rows_of_a_list_have_numbers_not_names():
    rows = [(r, h, "x", t) for h, r, t in DRUGS]
    assert read(rows, columns="2,1,4")[0] == set(DRUGS)
    assert read(np.array(rows), columns=(2, 1, 4))[0] == set(DRUGS)
    with pytest.raises(DataError, match="row 1: no column '4' among 'a', 'b', 'c'"):
        load_dataset([rows[0], "abc"], columns="2,1,4")
    with pytest.raises(DataError, match="there are no column names here: give numbers"):
        load_dataset(rows, columns="who,does,what")


def test_options_hold_for_named_datasets_too():
    there, back = load_dataset("nations"), load_dataset("nations", columns="3,2,1")
    assert facts_of(back) == {(t, r, h) for h, r, t in facts_of(there)}
    with pytest.raises(DataError, match="expected 3 comma-separated columns"):
        load_dataset("nations", sep=",")


def test_no_columns_given_means_none():
    assert parse_columns(None) is None


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_follow_the_same_words(library):
    columns = {"object": 2, "weight": None, "subject": 0, "predicate": 1}
    frame = library.DataFrame(
        {name: [1.5] * 6 if i is None else [fact[i] for fact in DRUGS] for name, i in columns.items()}
    )
    facts, lines = read(frame)
    assert facts == set(DRUGS)
    assert lines == [
        "columns: head = 'subject', relation = 'predicate', tail = 'object'; ignored: 'weight'",
        "--weight weight (weight= in Python) gives each fact its weight; it is not used",
    ]
    assert facts_of(load_dataset(frame, columns="object,predicate,subject")) == {
        (t, r, h) for h, r, t in DRUGS
    }


def test_unknown_frame_columns_are_doubted():
    with pytest.warns(
        DataWarning, match="do not know the column names 'a', 'b', 'c'.*aspirin -treats-> headache"
    ):
        load_dataset(pd.DataFrame(DRUGS, columns=["a", "b", "c"]))


def test_whole_floats_are_integers_in_a_frame():
    frame = pd.DataFrame({"head": [1, 2, 3, 2], "relation": "r", "tail": [2, 3, None, 1]}).dropna()
    facts, lines = read(frame)  # the tails are 2.0, 3.0, 1.0 now
    assert facts == {("1", "r", "2"), ("2", "r", "3"), ("2", "r", "1")}
    assert lines == ["whole numbers with a decimal point (2.0) are read as integers (2)"]
    assert load_dataset([("a", "r", 1.5)]).vocab.entities == ("1.5", "a")


def test_two_spellings_of_a_number_in_a_file_are_doubted(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("head,relation,tail\n1,r,2.0\n2,r,1.0\n", encoding="utf-8")
    with pytest.warns(DataWarning, match=r"2 and 2\.0, 1 and 1\.0 are different entities"):
        load_dataset(path)


@pytest.mark.parametrize(("library", "method"), [(pd, "dropna"), (pl, "drop_nulls")])
def test_the_first_row_with_a_missing_value_is_named_with_the_remedy(library, method):
    frame = library.DataFrame({"h": ["a", "b", None], "r": ["r", "r", "r"], "t": ["b", None, "c"]})
    with pytest.raises(DataError) as caught:
        load_dataset(frame)
    assert str(caught.value) == (
        "data frame, row 1: the tail is empty, and 2 rows in all have an empty cell (row 2); fill them in, "
        "delete the rows, or skip them with --skip-incomplete (skip_incomplete=True in Python)"
    )
    fixed = getattr(frame, method)(subset=["h", "r", "t"])
    assert facts_of(load_dataset(fixed)) == {("a", "r", "b")}
    skipped = load_dataset(frame, skip_incomplete=True)
    assert facts_of(skipped) == {("a", "r", "b")}
    assert "2 row(s) with an empty cell skipped" in skipped.report.lines()


@pytest.mark.parametrize(
    ("header", "order", "noted"),
    [
        (
            "Target,score,Subject,note,Relation",
            (2, None, 0, None, 1),
            "head = 'Subject', relation = 'Relation'",
        ),
        ("OBJECT,Predicate,subject,extra", (2, 1, 0, None), "head = 'subject', relation = 'Predicate'"),
        ("to,FROM,edge_type", (2, 0, 1), "head = 'FROM', relation = 'edge_type', tail = 'to'"),
        (":END_ID,:TYPE,:START_ID", (2, 1, 0), "head = ':START_ID', relation = ':TYPE', tail = ':END_ID'"),
        ("id,subject,predicate,object,category", (None, 0, 1, 2, None), "relation = 'predicate'"),
        ("tail,head,rel", (2, 0, 1), "head = 'head', relation = 'rel', tail = 'tail'"),
        ("end,start,label", (2, 0, 1), "head = 'start', relation = 'label', tail = 'end'"),
    ],
)
def test_known_words_are_understood_in_any_order_and_case(tmp_path, header, order, noted):
    path = tmp_path / "f.csv"
    rows = [",".join("0.5" if i is None else fact[i] for i in order) for fact in DRUGS]
    path.write_text("\n".join([header, *rows]), encoding="utf-8")
    facts, lines = read(path)
    assert facts == set(DRUGS)
    assert any(noted in line for line in lines)
    assert not any("please check" in line for line in lines)


def test_source_beside_a_word_of_another_pair_is_doubted():
    columns = known_columns(["drug", "relation", "object", "source"])
    assert columns is not None
    assert not columns.certain  # `source` may say where a fact comes from
    assert known_columns(["subject", "relation", "object", "source"]) == ((0, 1, 2), True)
