"""A stranger's file at the command line: read right, or with an alarm that says what to do."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rnnlogic.base.errors import DataError
from rnnlogic.cli import app
from rnnlogic.cli.options import Reading, load_named
from rnnlogic.data.dataset import load_dataset
from tests.helpers.reading import DRUGS, facts_of, table


def info(*arguments) -> dict:
    """What `data info --json` says."""
    result = CliRunner().invoke(app, ["data", "info", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def swapped(tmp_path):
    """Three columns in an order that no header tells."""
    path = tmp_path / "facts.csv"
    path.write_text(table(None, DRUGS, ";", (0, 2, 1)), encoding="utf-8")
    return path


def test_a_doubt_is_printed_as_a_note_with_samples_and_the_way_out(swapped):
    done = subprocess.run(
        [sys.executable, "-m", "rnnlogic", "data", "info", str(swapped)],
        capture_output=True,
        text=True,
        check=True,
    )
    note = next(line for line in done.stdout.splitlines() if line.startswith("note: please check: "))
    assert "so that aspirin -headache-> treats, " in note
    assert "--columns head,relation,tail" in note
    assert done.stderr == ""  # said once, not as a warning of Python too


def test_columns_and_separator_are_options(swapped):
    answer = info(swapped, "--columns", "1,3,2", "--sep", "semicolon")
    assert answer["relations"] == 3
    assert answer["cleaning"]["doubts"] == []


def test_labels_are_shown(swapped, tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("treats\tis a remedy for\nx\ty\n", encoding="utf-8")
    arguments = ["data", "info", str(swapped), "--columns", "1,3,2", "--labels", str(labels)]
    result = CliRunner().invoke(app, arguments)
    assert "is a remedy for" in result.output
    assert "note: 1 of 2 labels are for names that the graph lacks: x" in result.output


def test_split_takes_the_same_options_and_keeps_labels(swapped, tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("treats\tis a remedy for\n", encoding="utf-8")
    output = tmp_path / "out"
    arguments = [
        "data",
        "split",
        str(swapped),
        "-o",
        str(output),
        "--columns",
        "1,3,2",
        "--labels",
        str(labels),
    ]
    result = CliRunner().invoke(app, [*arguments, "--ratios", "40/30/30"])
    assert result.exit_code == 0, result.output
    written = load_dataset(output)
    assert facts_of(written) == set(DRUGS)
    assert written.vocab.relation_labels == {"treats": "is a remedy for"}


def test_standard_input():
    text = table(["subject", "object", "predicate"], DRUGS, ",", (0, 2, 1))
    program = [sys.executable, "-m", "rnnlogic", "data", "info", "-", "--json"]
    done = subprocess.run(program, input=text, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert (answer["name"], answer["relations"]) == ("facts", 3)


def test_a_query_is_an_option(tmp_path):
    import duckdb

    path = tmp_path / "drugs.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE facts (head TEXT, relation TEXT, tail TEXT)")
        database.executemany("INSERT INTO facts VALUES (?, ?, ?)", DRUGS)
    assert info(path, "--query", "SELECT * FROM facts")["relations"] == 3


def test_all_commands_can_load_the_same_way(swapped, tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("fever\thigh temperature\n", encoding="utf-8")
    dataset = load_named(str(swapped), Reading(columns="1,3,2", sep=";", labels=labels))
    assert facts_of(dataset) == set(DRUGS)
    assert dataset.vocab.entity_labels == {"fever": "high temperature"}


@pytest.fixture
def messy(tmp_path):
    """A table as people have them: mixed header, empty cells, missing values, scores, sources."""
    path = tmp_path / "messy.csv"
    lines = [
        "Target,score,Subject,note,Relation",
        "headache,0.9,aspirin,ORPHA,treats",
        ",0.9,aspirin,x,treats",
    ]
    lines += [f"N/A,0.5,d{i},,treats" for i in range(3)] + [f"x{i},0.{i + 1},,,treats" for i in range(7)]
    lines += [
        "fever,0.5,aspirin,OMIM,treats",
        "fever,0.2,ibuprofen,OMIM,treats",
        "Müller,1,aspirin,x,sold by",
    ]
    path.write_bytes("\n".join(lines).encode("cp1252"))
    return path


def test_empty_cells_are_counted_five_are_shown_and_they_can_be_skipped(messy):
    result = CliRunner().invoke(app, ["data", "info", str(messy)])
    assert isinstance(result.exception, DataError)
    assert str(result.exception) == (
        f"{messy}:3: the tail is empty, and 8 rows in all have an empty cell (lines 7, 8, 9, 10, ...); "
        "fill them in, delete the rows, or skip them with --skip-incomplete (skip_incomplete=True in Python)"
    )
    cleaning = info(messy, "--skip-incomplete")["cleaning"]
    assert cleaning["incomplete"] == 8
    assert cleaning["null_words"] == {"N/A": 3}
    assert any("messy.csv is not UTF-8 and is read as cp1252" in note for note in cleaning["notes"])
    assert info(messy, "--skip-incomplete", "--keep-null-words")["cleaning"]["null_words"] == {}


def test_weights_sources_and_filters_are_options(messy):
    given = [messy, "--skip-incomplete", "--weight", "score", "--source", "note", "--encoding", "cp1252"]
    answer = info(*given)
    assert sum(answer[split] for split in ("train", "valid", "test")) == 4
    assert "weight = 'score', source = 'note'" in answer["cleaning"]["notes"][0]
    assert info(*given, "--min-weight", "0.4")["cleaning"]["too_light"] == 1
    left = info(*given, "--without-source", "OMIM", "--without-source", "x")
    assert (left["entities"], left["cleaning"]["excluded"]) == (2, 3)


def test_split_writes_weights_and_sources_where_there_are_any(tmp_path):
    path = tmp_path / "f.csv"
    rows = [f"{h},{r},{t},0.5,web" for h, r, t in DRUGS]
    path.write_text("\n".join(["head,relation,tail,p,where", *rows]), encoding="utf-8")
    arguments = ["data", "split", str(path), "-o", str(tmp_path / "out"), "--ratios", "1/1/1"]
    assert CliRunner().invoke(app, [*arguments, "--weight", "p", "--source", "where"]).exit_code == 0
    text = (tmp_path / "out" / "train.tsv").read_text(encoding="utf-8")
    assert text.startswith("head\trelation\ttail\tweight\tsource\n")
    assert "\t0.5\tweb\n" in text
