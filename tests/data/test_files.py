"""Separators, compressed files, archives, standard input, JSON Lines, Parquet; what lies beside splits."""

import gzip
import io
import json
import sys
import zipfile
from types import SimpleNamespace

import duckdb
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import DataWarning, load_dataset
from tests.data.test_rdf import EXPECTED, NTRIPLES, PREFIX, TURTLE
from tests.helpers.reading import DRUGS, facts_of, read, table

TSV = table(None, DRUGS, "\t")
CSV = table(["subject", "object", "predicate"], DRUGS, ",", (0, 2, 1))
JSON = "".join(json.dumps({"source": h, "target": t, "type": r, "w": 1}) + "\n" for h, r, t in DRUGS)
SPLITS = {"train": [DRUGS[i] for i in (0, 1, 3, 5)], "valid": DRUGS[2:3], "test": DRUGS[4:5]}


@pytest.mark.parametrize("sep", [";", "|", ","])
@pytest.mark.parametrize("suffix", [".csv", ".txt", ".tsv", ".anything"])
def test_separators_are_found(tmp_path, sep, suffix):
    path = tmp_path / f"f{suffix}"
    path.write_text(table(None, DRUGS, sep), encoding="utf-8")
    facts, lines = read(path)
    assert facts == set(DRUGS)
    assert lines == []
    path.write_text(table(None, DRUGS, sep + " "), encoding="utf-8")  # `a, r, b` is not three spaced words
    assert read(path)[0] == set(DRUGS)


def test_separators_in_quotes_do_not_count(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text('"a;b";r;c\nc;"say ""r""";"a;b"\n', encoding="utf-8")
    assert read(path)[0] == {("a;b", "r", "c"), ("c", 'say "r"', "a;b")}


def test_two_possible_separators_are_doubted(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("Paris, F;capital of;France, EU\nRome, I;capital of;Italy, EU\n", encoding="utf-8")
    with pytest.warns(DataWarning, match="may be separated by comma .used here. or semicolon: see --sep"):
        load_dataset(path)
    expected = {("Paris, F", "capital of", "France, EU"), ("Rome, I", "capital of", "Italy, EU")}
    assert read(path, sep=";")[0] == expected


@pytest.mark.parametrize(
    ("sep", "given"),
    [("\t", "tab"), (" ", "space"), ("#", "#"), (" :: ", " :: "), (";", "semicolon"), ("|", "pipe")],
)
def test_the_user_may_choose_the_separator(tmp_path, sep, given):
    path = tmp_path / "f.txt"
    path.write_text(table(None, DRUGS, sep), encoding="utf-8")
    assert read(path, sep=given)[0] == set(DRUGS)


@pytest.mark.parametrize("sep", ["", "\n", '"'])
def test_impossible_separators_are_errors(tmp_path, sep):
    with pytest.raises(DataError, match="cannot separate columns"):
        load_dataset(tmp_path / "f.txt", sep=sep)


def test_a_wrong_line_does_not_hide_the_separator(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("a|r|b\nb|r|c|d\n", encoding="utf-8")
    with pytest.raises(DataError, match=r":2: expected 3 bar-separated columns .*found 4"):
        load_dataset(path)


def test_one_column_comes_with_a_hint(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("a=>r=>b\n", encoding="utf-8")
    with pytest.raises(
        DataError, match="found 1; if another character separates the columns, give it with --sep"
    ):
        load_dataset(path)
    assert read(path, sep="=>")[0] == {("a", "r", "b")}


def parquet(path, rows=DRUGS, order="head VARCHAR, relation VARCHAR, tail VARCHAR"):
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE facts ({order})")
        database.executemany("INSERT INTO facts VALUES (?, ?, ?)", rows)
        database.execute(f"COPY facts TO '{path}' (FORMAT parquet)")
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("f.csv.gz", gzip.compress(CSV.encode())),
        ("f.jsonl", JSON.encode()),
        ("f.ndjson.gz", gzip.compress(JSON.encode())),
        ("f.jsonl", "".join(json.dumps(fact) + "\n" for fact in DRUGS).encode()),
    ],
)
def test_files_of_other_kinds(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    dataset = load_dataset(tmp_path / name)
    assert facts_of(dataset) == set(DRUGS)
    assert dataset.name == "f"


@pytest.mark.parametrize("name", ["f.parquet", "odd[1]*.parquet"])
def test_parquet(tmp_path, name):
    written = parquet(
        tmp_path / "w.parquet", [(t, h, r) for h, r, t in DRUGS], "tail TEXT, head TEXT, relation TEXT"
    )
    path = written.rename(tmp_path / name)
    facts, lines = read(path)
    assert facts == set(DRUGS)
    assert lines == ["columns: head = 'head', relation = 'relation', tail = 'tail'"]


def test_parquet_with_missing_values_or_without_parquet(tmp_path):
    with pytest.raises(DataError, match="row 1: the relation is empty"):
        load_dataset(parquet(tmp_path / "f.parquet", [DRUGS[0], ("a", None, "b")]))
    (tmp_path / "g.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=r"g\.parquet: not a Parquet file"):
        load_dataset(tmp_path / "g.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"head": "a", "relation": "r"\n', ":1: not valid JSON"),
        ('{"head": "a", "relation": "r", "tail": "b"}\n7\n', ":2: expected an object or an array"),
        (
            '{"head": "a", "relation": "r", "tail": "b"}\n{"head": "a", "tail": "b"}\n',
            ":2: the relation is empty",
        ),
        ('{"head": "a", "relation": "r", "tail": null}\n', ":1: the tail is empty"),
        ('{"head": {"id": 1}, "relation": "r", "tail": "b"}\n', ":1: {'id': 1} is not a name"),
        ('{"p": "a", "q": "r"}\n', ":1: a JSON Lines file needs three columns"),
    ],
)
def test_wrong_json_lines_are_errors_with_their_line(tmp_path, text, message):
    path = tmp_path / "f.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert message in str(caught.value)


def archive(path, files):
    with zipfile.ZipFile(path, "w") as file:
        for name, data in files.items():
            file.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "files",
    [
        {"facts.tsv": TSV},
        {"deep/er/facts.csv": CSV, "__MACOSX/facts.csv": "rubbish"},
        {"facts.csv.gz": gzip.compress(CSV.encode()), "README.md": "about"},
        {f"my/{split}.txt": table(None, facts, "\t") for split, facts in SPLITS.items()},
    ],
)
def test_zip_archives(tmp_path, files):
    dataset = load_dataset(archive(tmp_path / "my.zip", files))
    assert facts_of(dataset) == set(DRUGS)
    assert (dataset.name, dataset.source.split(",")[0]) == ("my", str(tmp_path / "my.zip"))


def test_parquet_in_a_zip(tmp_path):
    data = parquet(tmp_path / "f.parquet").read_bytes()
    assert read(archive(tmp_path / "f.zip", {"f.parquet": data}))[0] == set(DRUGS)


def test_zip_archives_keep_splits_and_name_bad_lines(tmp_path):
    files = {f"{split}.txt": table(None, facts, "\t") for split, facts in SPLITS.items()}
    dataset = load_dataset(
        archive(tmp_path / "my.zip", files | {"entity_labels.tsv": "fever\thigh temperature\n"})
    )
    assert [len(dataset.facts(split)) for split in SPLITS] == [4, 1, 1]
    assert dataset.vocab.entity_labels == {"fever": "high temperature"}
    with pytest.raises(DataError, match=r"bad\.zip/train\.txt:2: .*found 2"):
        load_dataset(archive(tmp_path / "bad.zip", files | {"train.txt": "a\tr\tb\na\tr\n"}))
    with pytest.raises(DataError, match=r"two\.zip/: no train file"):
        load_dataset(archive(tmp_path / "two.zip", {"a.tsv": TSV, "b.tsv": TSV}))
    (tmp_path / "no.zip").write_bytes(b"PK no")
    with pytest.raises(DataError, match=r"no\.zip: the zip file cannot be read"):
        load_dataset(tmp_path / "no.zip")


def piped(monkeypatch, data: bytes) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stream)


@pytest.mark.parametrize(
    "data",
    [
        TSV.encode(),
        CSV.encode(),
        gzip.compress(TSV.encode()),
        JSON.encode(),
        table(None, DRUGS, " ").encode(),
    ],
    ids=["tsv", "csv", "gzip", "json", "spaces"],
)
def test_standard_input(monkeypatch, data):
    piped(monkeypatch, data)
    dataset = load_dataset("-")
    assert facts_of(dataset) == set(DRUGS)
    assert dataset.source.startswith("standard input, seeded")


@pytest.mark.parametrize("text", [NTRIPLES, PREFIX + TURTLE])
def test_rdf_from_standard_input(monkeypatch, text):
    piped(monkeypatch, text.encode())
    assert read("-")[0] == EXPECTED


def test_errors_in_standard_input_say_so(monkeypatch):
    piped(monkeypatch, b"a\tr\tb\na\tr\n")
    with pytest.raises(DataError, match=r"^standard input:2: expected 3"):
        load_dataset("-")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(DataError, match="standard input is a terminal"):
        load_dataset("-")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("f.xls", {}, "save the sheet as CSV"),
        ("f.pkl", {}, "a pickle can run any code"),
        ("f.nt", {"columns": "1,2,3"}, "RDF says itself what is subject"),
        ("f.nt", {"sep": ","}, "text tables only, not to .nt files"),
        ("f.tsv", {"query": "SELECT 1"}, "a query needs a database"),
    ],
)
def test_what_does_not_fit_together_is_an_error(tmp_path, name, options, message):
    path = tmp_path / name
    path.write_text(NTRIPLES, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load_dataset(path, **options)


def test_options_for_a_loaded_dataset_are_an_error():
    with pytest.raises(DataError, match="loaded already"):
        load_dataset(load_dataset(DRUGS), columns="1,2,3")


def write_splits(folder, **more):
    for split, facts in SPLITS.items():
        (folder / f"{split}.txt").write_text(table(None, facts, "\t"), encoding="utf-8")
    for name, text in more.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def test_facts_txt_beside_the_splits_belongs_to_train(tmp_path):
    more = [("nausea", "follows", "fever"), DRUGS[0]]
    folder = write_splits(
        tmp_path, facts_txt=table(None, more, "\t"), entities_txt="fever\n", relations_txt="treats\n"
    )
    dataset = load_dataset(folder)
    assert [len(dataset.facts(split)) for split in SPLITS] == [5, 1, 1]
    assert facts_of(dataset) == {*DRUGS, more[0]}
    assert dataset.report.lines() == [
        "2 fact(s) of facts.txt read as part of train (layout of Neural-LP and DRUM)",
        "ignored in this folder: entities.txt, relations.txt",
        "1 repeated fact(s) removed from train",
    ]


def test_facts_txt_that_holds_the_test_facts_is_not_read(tmp_path):
    dataset = load_dataset(write_splits(tmp_path, facts_txt=table(None, DRUGS, "\t")))
    assert [len(dataset.facts(split)) for split in SPLITS] == [4, 1, 1]
    assert dataset.report.lines()[0].startswith("facts.txt ignored: it holds 2 of 2 facts of valid and test")


def test_ignored_files_are_named_but_not_papers_and_programs(tmp_path):
    folder = write_splits(tmp_path, README_md="x", load_py="x", all_txt="x", train2id_txt="x", LICENSE="x")
    (folder / ".hidden").write_text("x", encoding="utf-8")
    assert load_dataset(folder).report.lines() == ["ignored in this folder: all.txt, train2id.txt"]


def test_split_folders_take_all_kinds_of_files(tmp_path):
    parquet(tmp_path / "train.parquet", SPLITS["train"])
    (tmp_path / "valid.jsonl").write_text(json.dumps(SPLITS["valid"][0]) + "\n", encoding="utf-8")
    (tmp_path / "test.csv").write_text(
        table(["h", "t", "r"], SPLITS["test"], ",", (0, 2, 1)), encoding="utf-8"
    )
    dataset = load_dataset(tmp_path)
    assert [len(dataset.facts(split)) for split in SPLITS] == [4, 1, 1]
    assert facts_of(dataset) == set(DRUGS)


@pytest.mark.parametrize("place", [2, 60])  # the header of the member, its data
def test_a_damaged_member_of_a_zip_is_named(tmp_path, place):
    path = archive(tmp_path / "my.zip", {"facts.tsv": TSV})
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"my\.zip/facts\.tsv.*zip file"):
        load_dataset(path)


@pytest.mark.parametrize("name", ["//facts.tsv", "/facts.tsv", "data//facts.tsv"])
def test_names_in_a_zip_that_are_no_paths_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="holds a name that is no path"):
        load_dataset(archive(tmp_path / "my.zip", {name: TSV}))


def test_a_zip_with_an_empty_name_is_refused(tmp_path, monkeypatch):
    path = archive(tmp_path / "my.zip", {"facts.tsv": TSV})
    monkeypatch.setattr(zipfile.ZipFile, "namelist", lambda _: [""])  # as a damaged directory gives it
    with pytest.raises(DataError, match="holds a name that is no path: ''"):
        load_dataset(path)
