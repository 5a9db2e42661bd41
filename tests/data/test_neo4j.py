"""Neo4j's CSV dumps: files for neo4j-admin, and apoc.export.csv."""

import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import load_dataset
from tests.helpers.reading import facts_of, read

PEOPLE = "personId:ID(Person),name,:LABEL\n1,Ann,Person\n2,Bob,Person\n"
FILMS = 'filmId:ID(Film),title:string,year:int,:LABEL\n1,"Up, up",2009,Film\n'
LIKES = ":START_ID(Person),stars:int,:END_ID(Film),:TYPE\n1,5,1,LIKES\n2,3,1,LIKES\n"
KNOWS = ":START_ID(Person),:END_ID(Person),:TYPE\n1,2,KNOWS\n2,1,KNOWS\n"
APOC = (
    '"_id","_labels","name","_start","_end","_type","since"\n'
    '"0",":Person","Ann",,,,\n"1",":Person","Bob",,,,\n,,,"0","1","KNOWS","2001"\n,,,"1","0","KNOWS",""\n'
)


def dump(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def test_a_folder_of_nodes_and_relationships(tmp_path):
    dataset = load_dataset(
        dump(tmp_path, people=PEOPLE, films=FILMS, likes=LIKES, knows=KNOWS, other="x\n1\n")
    )
    assert facts_of(dataset) == {
        ("Person:1", "LIKES", "Film:1"),
        ("Person:2", "LIKES", "Film:1"),
        ("Person:1", "KNOWS", "Person:2"),
        ("Person:2", "KNOWS", "Person:1"),
    }
    assert dataset.vocab.entity_labels == {"Person:1": "Ann", "Person:2": "Bob", "Film:1": "Up, up"}
    columns = "columns: head = ':START_ID(Person)', relation = ':TYPE', tail = ':END_ID(Film)'"
    assert set(dataset.report.lines()) >= {
        "names begin with Neo4j's id space: Film, Person",
        "ignored in this folder: other.csv",
        f"{columns}; ignored: 'stars:int'",
    }
    assert dataset.vocab.entity_id("Up, up") == dataset.vocab.entity_id("Film:1")


def test_a_single_file_of_relationships(tmp_path):
    dump(tmp_path, knows=KNOWS, likes=LIKES)
    assert read(tmp_path / "knows.csv")[0] == {("1", "KNOWS", "2"), ("2", "KNOWS", "1")}
    # The ids of persons and films overlap, so they must not become one entity.
    assert read(tmp_path / "likes.csv")[0] == {
        ("Person:1", "LIKES", "Film:1"),
        ("Person:2", "LIKES", "Film:1"),
    }


def test_one_file_of_apoc(tmp_path):
    dataset = load_dataset(dump(tmp_path, all=APOC) / "all.csv")
    assert facts_of(dataset) == {("0", "KNOWS", "1"), ("1", "KNOWS", "0")}
    assert dataset.vocab.entity_labels == {"0": "Ann", "1": "Bob"}
    assert any("ignored: '_id', '_labels', 'name', 'since'" in line for line in dataset.report.lines())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":START_ID,:END_ID\n1,2\n", ":1: no :TYPE column"),
        (":START_ID,:END_ID,:TYPE\n", "only a header, no relationships"),
        (":START_ID,:END_ID,:TYPE\n1,2,R\n1,2\n", ":3: expected 3 columns as in the header, found 2"),
        (":START_ID,:END_ID,:TYPE\n1,,R\n", ":2: the tail is empty"),
    ],
)
def test_wrong_dumps_are_errors(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        load_dataset(dump(tmp_path, r=text) / "r.csv")
    assert message in str(caught.value)


def test_a_folder_of_nodes_only_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no train file"):
        load_dataset(dump(tmp_path, people=PEOPLE))
