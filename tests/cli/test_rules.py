"""`rnnlogic rules`: statistics, exporting, converting."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import get_args

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from rnnlogic.cli import app
from rnnlogic.cli.export import FileFormat, Target
from rnnlogic.cli.rules import Later
from rnnlogic.data.dataset import load_dataset
from rnnlogic.fit.result import FRONTIER
from rnnlogic.model import RNNLogic
from rnnlogic.rules.formats import RuleFormat, read_table, write_rules
from rnnlogic.rules.programs import FACTS, PROGRAMS, RANKINGS
from rnnlogic.rules.rule import format_rule
from rnnlogic.rules.table import RuleTable
from rnnlogic.runs import finished
from rnnlogic.runs.folder import Run
from rnnlogic.statistics.anyburl import anyburl_statistics
from rnnlogic.statistics.pairs import amie_statistics
from tests.helpers.commands import run
from tests.helpers.family import fake_learn, write_family


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    return write_family(tmp_path_factory.mktemp("rules") / "family.tsv")


@pytest.fixture(scope="module")
def model(data) -> RNNLogic:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
        return RNNLogic({}).fit(data)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory) -> str:
    return str(model.save(tmp_path_factory.mktemp("rules") / "run"))


def texts(table, model) -> list[str]:
    return [format_rule(rule, model.dataset.vocab) for rule in table.rules]


def by_weight(model) -> list[str]:
    """Texts of the rules by relation, heaviest first: the order of files, where lists go by use."""
    rules, weights = model.learned.rules, model.learned.weights
    order = np.lexsort((-weights, rules.heads))
    return [texts(model.learned, model)[i] for i in order]


def test_statistics(folder, model, monkeypatch, capsys):
    assert run("rules", folder, "--statistics", "--json", monkeypatch=monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["rule"] for row in told] == [rule.text for rule in model.rules(sort="use")]
    found = amie_statistics(model.dataset.graph("train"), model.learned.rules).columns()
    ids = {text: i for i, text in enumerate(texts(model.learned, model))}
    for row in told:
        i = ids[row["rule"]]
        assert row["weight"] == model.learned.weights[i]
        assert {name: row[name] for name in found} == {name: values[i] for name, values in found.items()}
        assert len(row["examples"]) == min(row["support"], 3)
    arguments = ("rules", folder, "--statistics", "--relation", "grandparent", "--most", "1")
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split()[:6] == [
        "weight",
        "predictions",
        "support",
        "confidence",
        "pca_confidence",
        "head_coverage",
    ]
    assert f"{model.rules('grandparent', most=1)[0].text}  " in line
    assert line.split(" & ")[1].count(" -married-> ") == line.split(" & ")[1].count(" -grandparent-> ") == 1


def test_the_figures_of_a_run_are_those_of_amie(folder, model):
    """Not those that the learner counts: it has given these rules 0, 10, 20, ... in support."""
    found = amie_statistics(model.dataset.graph("train"), model.learned.rules)
    expected = {}
    for i, text in enumerate(texts(model.learned, model)):
        figures = f"{found.support[i]}, {found.confidence[i]:.3g}"
        expected[text] = f"{model.learned.weights[i]:.4g}, {figures}"
    header, *lines = (Path(folder) / "rules.txt").read_text().splitlines()
    assert header.startswith("# rule  # weight, support (pairs predicted that are facts), confidence")
    assert dict(line.split("  # ") for line in lines) == expected
    for rule in model.rules():
        i = texts(model.learned, model).index(rule.text)
        assert (rule.support, rule.confidence) == (found.support[i], found.confidence[i])
        assert (rule.predictions, rule.share) == (found.predictions[i], 1.0)
        assert rule.pca_confidence == found.pca_confidence[i]
        assert rule.head_coverage == found.head_coverage[i]
    assert [line.split("  # ")[0] for line in lines] == by_weight(model)


def test_rules_txt_of_many_rules_has_figures_for_the_first(model, monkeypatch):
    monkeypatch.setattr(finished, "FIRST", 1)
    header, *lines = finished.rules_text(model.learned, model.dataset, many=6).splitlines()
    assert header.endswith("; of the first 1 rules for each relation")
    assert [line.count(",") - line.split("  # ")[0].count(",") for line in lines] == [2, 0, 2, 2, 0, 2]


def test_every_format_has_its_name():
    assert get_args(FileFormat) == get_args(RuleFormat)
    assert {*get_args(Target)} == {*get_args(FileFormat), *PROGRAMS, *RANKINGS}
    assert {name.split("-")[0] for name in [*PROGRAMS, *RANKINGS]} == set(FACTS)


@pytest.mark.parametrize("target", get_args(FileFormat))
def test_exported_files_are_read_back(folder, model, monkeypatch, capsys, tmp_path, target):
    output = tmp_path / "out.txt"
    arguments = ("rules", folder, "export", "--format", target, "-o", str(output), "--json")
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(output), "format": target, "rules": 6}
    table = read_table(output, model.dataset.vocab).table
    shown = by_weight(model)
    assert texts(table, model) == shown if target != "anyburl" else set(shown) <= set(texts(table, model))
    count = {"anyburl": anyburl_statistics, "jsonl": amie_statistics}.get(target)
    found = {} if count is None else count(model.dataset.graph("train"), table.rules).columns()
    assert {name: table.columns[name] for name in found} == found
    if target == "jsonl":
        weights = {rule.text: rule.weight for rule in model.rules()}
        assert table.columns["weight"] == [weights[text] for text in shown]
        assert "->" in table.columns["examples"][0][0]


@pytest.mark.parametrize("target", PROGRAMS)
def test_exported_programs(folder, model, monkeypatch, capsys, tmp_path, target):
    output, facts = tmp_path / "program", tmp_path / "facts"
    arguments = ("--format", target, "-o", str(output), "--facts", str(facts), "--most", "1")
    assert run("rules", folder, "export", *arguments, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == f"4 rules written to {output}\n"
    weighted = RuleTable(model.learned.rules, {"weight": model.learned.weights.tolist()}).heaviest(top=1)
    vocab = model.dataset.vocab
    assert output.read_text() == PROGRAMS[target](weighted, vocab)
    assert facts.read_text() == FACTS[target.split("-")[0]](model.dataset.train, vocab)


def test_an_exported_ranking_answers_as_predict_does(folder, model, monkeypatch, tmp_path):
    output, facts = tmp_path / "ranking.sql", tmp_path / "facts.sql"
    question = ("--relation", "parent", "--head", "child0_0")
    files = ("--format", "sql-ranking", "-o", str(output), "--facts", str(facts))
    assert run("rules", folder, "export", *question, *files, monkeypatch=monkeypatch) == 0
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(facts.read_text())
    got = {answer: score for _, answer, score in connection.execute(output.read_text()).fetchall()}
    expected = model.predict("child0_0", "parent", 99, known="keep", facts="train")
    assert expected
    assert got == pytest.approx({answer.entity: answer.score for answer in expected})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--relation", "granparent"], "did you mean 'grandparent'"),
        (["--relation", "married^-1"], "there are no rules for married^-1"),
        (["--format", "sql-ranking"], "sql-ranking needs --relation"),
        (["--format", "sql-ranking", "--relation", "parent", "--head", "child0"], "did you mean 'child"),
        (["--format", "sql", "--head", "child0_0"], "--head is for rankings"),
        (["--format", "jsonl", "--facts", "facts"], "--facts is for programs; jsonl is a rule file"),
        (["--format", "jsonnl"], "Invalid value for '--format'"),
    ],
)
def test_wrong_exports_leave_nothing_behind(folder, monkeypatch, capsys, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run("rules", folder, "export", "-o", "out", *arguments, monkeypatch=monkeypatch) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_rankings_of_runs_that_score_otherwise_are_refused(folder, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(RNNLogic, "scorer", object())
    arguments = ("--format", "sql-ranking", "--relation", "parent", "-o", str(tmp_path / "out"))
    assert run("rules", folder, "export", *arguments, monkeypatch=monkeypatch) == 2
    assert "does not score answers by rules alone" in capsys.readouterr().err


def test_a_file_goes_through_all_formats_and_comes_back(data, model, monkeypatch, capsys, tmp_path):
    forwards = [rule for rule in model.learned.rules if rule.head < model.dataset.vocab.num_relations]
    first = tmp_path / "0.txt"
    write_rules(first, forwards, model.dataset.vocab)
    source = first
    for i, target in enumerate(["anyburl", "jsonl", "ids", "text"], start=1):
        output = tmp_path / f"{i}.txt"
        arguments = (str(source), "--to", target, "-o", str(output), "--data", data)
        assert run("rules", "convert", *arguments, monkeypatch=monkeypatch) == 0
        source = output
    assert capsys.readouterr().out.splitlines()[-1] == f"10 rules written to {source}"
    assert source.read_text().splitlines()[::2] == first.read_text().splitlines()


def test_convert_says_what_it_dropped(data, monkeypatch, capsys, tmp_path):
    source, output = tmp_path / "rules.tsv", tmp_path / "rules.txt"
    source.write_text(
        "9\t3\t0.3\tparent(X,Y) <= married(X,A), parent(A,Y)\n"
        "9\t3\t0.3\tparent(X,grandpa0) <= married(X,A)\n"
        "9\t3\t0.3\tparent(X,nobody) <= married(X,A)\n"
        "9\t3\t0.3\tparent(X,Y) <= married(X,A), married(X,B), parent(A,Y)\n"
    )
    arguments = (
        "convert",
        str(source),
        "--from",
        "anyburl",
        "--to",
        "text",
        "-o",
        str(output),
        "--data",
        data,
    )
    assert run("rules", *arguments, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.splitlines() == [
        "4 rules read",
        "  1 dropped: an entity that the dataset does not have",
        "  1 dropped: not a chain",
        "  2 added for the inverse relation",
        "4 rules kept",
        f"4 rules written to {output}",
    ]
    assert output.read_text() == (
        "parent(X,Y) <- married(X,Z) & parent(Z,Y)  # predictions=9 support=3 confidence=0.3\n"
        "parent^-1(X,Y) <- parent(Z,X) & married(Y,Z)  # predictions=9 support=3 confidence=0.3\n"
        "parent(X,grandpa0) <- married(X,Z)  # predictions=9 support=3 confidence=0.3\n"
        "parent^-1(grandpa0,Y) <- married(Y,Z)  # predictions=9 support=3 confidence=0.3\n"
    )
    assert run("rules", *arguments, "--json", monkeypatch=monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dropped"] == {"an entity that the dataset does not have": 1, "not a chain": 1}
    assert (told["read"], told["rules"]) == (4, 4)


def test_mined_rules_become_anyburl_lines(data, monkeypatch, capsys, tmp_path):
    """Their support is that of training queries and comes without predictions, so AnyBURL's is counted."""
    mined, output = tmp_path / "mined.txt", tmp_path / "rules.tsv"
    assert run("mine", data, "-o", str(mined), "--most", "2", monkeypatch=monkeypatch) == 0
    arguments = ("convert", str(mined), "--to", "anyburl", "-o", str(output), "--data", data)
    assert run("rules", *arguments, monkeypatch=monkeypatch) == 0
    dataset = load_dataset(data)
    table = read_table(output, dataset.vocab).table
    expected = anyburl_statistics(dataset.graph("train"), table.rules)
    assert len(table)
    assert table.columns["predictions"] == expected.predictions.tolist()
    assert table.columns["support"] == expected.support.tolist()


@pytest.mark.parametrize(
    ("line", "target", "message"),
    [
        (
            "parent <- maried",
            "jsonl",
            "rules.txt:2: column 11: unknown relation 'maried'; did you mean 'married'",
        ),
        ("parent <- married &", "anyburl", "rules.txt:2: column 20: expected a relation name"),
        ("parent <- true", "anyburl", "parent(X,X) <- true: AnyBURL rules have bodies"),
        ("parent <- true", "sql", "parent(X,X) <- true: a rule without a body"),
        ("parent <- married", "sql-ranking", "a ranking needs the weights of a run"),
    ],
)
def test_wrong_conversions_leave_nothing_behind(data, monkeypatch, capsys, tmp_path, line, target, message):
    source = tmp_path / "rules.txt"
    source.write_text(f"parent <- parent & married\n{line}\n")
    arguments = (str(source), "--to", target, "-o", str(tmp_path / "out"), "--data", data)
    assert run("rules", "convert", *arguments, monkeypatch=monkeypatch) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [source]


def test_unwritable_output(folder, monkeypatch, capsys, tmp_path):
    output = tmp_path / "nowhere" / "out"
    assert run("rules", folder, "export", "-o", str(output), monkeypatch=monkeypatch) == 2
    assert capsys.readouterr().err == f"error: {output}: cannot be written (No such file or directory)\n"


@pytest.mark.parametrize("command", [["show"], ["export"], ["convert"], ["some-run", "export"]])
def test_help_has_an_example(command):
    result = CliRunner().invoke(app, ["rules", *command, "--help"])
    assert result.exit_code == 0
    assert "Example: rnnlogic rules " in result.output


def test_options_may_come_before_the_run(folder, monkeypatch, capsys):
    assert run("rules", "--most", "1", folder, "--relation", "parent", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.startswith("parent: 1 of 2 rules\n")
    assert run("rules", folder, "exprt", monkeypatch=monkeypatch) == 2
    assert "exprt" in capsys.readouterr().err


def test_rules_are_shown_best_first(folder, model, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run("rules", folder, "--relation", "parent", monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    best, against = model.rules("parent", sort="use")
    assert shown.err == ""
    assert shown.out.splitlines() == [
        "parent: 2 rules",
        f"  {best.text}",
        f"    weight 1.25, confidence {best.confidence:.2f} ({best.support} of {best.predictions} pairs),"
        f" PCA {best.pca_confidence:.2f}, coverage {best.head_coverage:.2f}",
        f"    top contributor to {best.decided} first answers, right in {best.right}",
        "",
        "  against:",
        f"  {against.text}",
        f"    weight -0.25, confidence {against.confidence:.2f} ({against.support} of"
        f" {against.predictions} pairs), PCA {against.pca_confidence:.2f},"
        f" coverage {against.head_coverage:.2f}",
        "",
        "The top contributor adds most to the first answer of a validation query.",
    ]


def test_which_rules_are_shown(folder, model, monkeypatch, capsys):
    def told(*arguments):
        assert run("rules", folder, "--json", *arguments, monkeypatch=monkeypatch) == 0
        rows = json.loads(capsys.readouterr().out)
        assert all(row.pop("same_as") is None for row in rows)
        return rows

    def expected(**choice):
        return [rule.as_dict() for rule in model.rules(use=True, **choice)]

    assert told() == expected(most=10, sort="use")
    assert told("--most", "1", "--sort", "weight") == expected(most=1)
    assert told("--all", "--most", "1") == expected(sort="use")
    assert told("--min-confidence", "0.8") == expected(sort="use", min_confidence=0.8)
    assert told("--min-support", "40", "--sort", "support") == expected(sort="support", min_support=40)
    assert told("--max-length", "2", "--sort", "confidence") == expected(sort="confidence", max_length=2)
    assert run("rules", folder, "--min-support", "999", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == "there are no such rules for any relation\n"
    assert run("rules", folder, "--relation", "married^-1", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == "there are no rules for married^-1\n"


def test_a_note_if_not_all_rules_were_looked_at(folder, monkeypatch, capsys):
    monkeypatch.setattr("rnnlogic.explain.listing.MANY", 5)
    assert run("rules", folder, "--sort", "confidence", monkeypatch=monkeypatch) == 0
    assert "note: only the 200 most promising rules of each relation" in capsys.readouterr().err
    assert run("rules", folder, "--sort", "confidence", "--all", monkeypatch=monkeypatch) == 0
    assert run("rules", folder, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().err == ""


def test_frontier(model, monkeypatch, capsys, tmp_path):
    folder, plot = str(model.save(tmp_path / "run")), tmp_path / "plot.png"
    arguments = ("rules", folder, "--frontier")
    assert run(*arguments, str(plot), monkeypatch=monkeypatch) == 2
    assert "this run has no frontier" in capsys.readouterr().err
    numbers = {"mrr": [0.5, 0.49, 0.3], "drop": [0.0, 0.01, 0.2], "error": [0.0, 0.01, 0.02]}
    arrays = {name: np.array(values) for name, values in numbers.items()}
    at = {"chosen": np.array(1), "full_rules": np.array(90)}
    Run.open(folder).save(FRONTIER, arrays | {"rules": np.array([90, 40, 10]), **at})
    assert run(*arguments, str(plot), monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == f"frontier of 3 models written to {plot}\n"
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert run(*arguments, str(plot.with_suffix(".svg")), "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["points"] == 3
    assert "kept: 40 rules, MRR 0.490" in plot.with_suffix(".svg").read_text()
    for wrong, message in [
        ("plot.doc", "writes .png, .svg, .pdf files"),
        ("no/plot.png", "cannot be written"),
    ]:
        assert run(*arguments, str(tmp_path / wrong), monkeypatch=monkeypatch) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(*arguments, str(plot), monkeypatch=monkeypatch) == 2
    assert "pip install '.[plots]' in the clone" in capsys.readouterr().err


def test_progress_comes_only_after_a_while():
    told = []
    for seconds in (60, 0):
        Later(lambda *step: told.append(step), seconds)("use", 1, 2)
    assert told == [("use", 1, 2, "")]


def test_an_export_tells_of_figures_from_a_sample(folder, monkeypatch, capsys, tmp_path):
    sampled = partial(anyburl_statistics, steps=1)
    monkeypatch.setattr("rnnlogic.statistics.anyburl.anyburl_statistics", sampled)
    arguments = ("export", "--format", "anyburl", "-o", str(tmp_path / "rules.tsv"))
    assert run("rules", folder, *arguments, monkeypatch=monkeypatch) == 0
    assert "note: 6 rules have too many paths to follow all" in capsys.readouterr().err
