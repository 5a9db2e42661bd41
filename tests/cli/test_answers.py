"""`rnnlogic predict` and `rnnlogic explain`: the answers of the model, in every form of output."""

import io
import json
import math
import sys

import pytest

from rnnlogic.model import RNNLogic
from tests.helpers.commands import run


@pytest.fixture(scope="module")
def folder(family_run) -> str:
    return family_run


@pytest.fixture(scope="module")
def model(folder) -> RNNLogic:
    return RNNLogic.load(folder)


def plain(answers) -> list[dict]:
    return [answer.as_dict() for answer in answers]


def test_predict_as_json_and_as_table(folder, model, monkeypatch, capsys):
    arguments = (
        "predict",
        folder,
        "--head",
        "grandpa0",
        "--relation",
        "grandparent",
        "--most",
        "3",
        "--facts",
        "train",
    )
    assert run(*arguments, "--json", monkeypatch=monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    expected = model.predict("grandpa0", "grandparent", 3, facts="train")
    assert expected
    assert told == {"head": "grandpa0", "relation": "grandparent", "answers": plain(expected), "left_out": {}}
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    title, header, *rows = capsys.readouterr().out.splitlines()
    assert title == "(grandpa0, grandparent, ?), facts that are known left out"
    assert header.split() == ["rank", "answer", "probability", "score"]
    answers, meaning = rows[: len(expected)], " ".join(rows[len(expected) :]).strip()
    assert [row.split()[:2] for row in answers] == [[str(i), a.entity] for i, a in enumerate(expected, 1)]
    assert meaning == model.level("train").sentence()


def test_predict_the_other_way_round(folder, model, monkeypatch, capsys):
    expected = plain(model.predict("grandchild0_0", "parent^-1", known="keep"))
    assert expected
    for question in (("--head", "parent^-1"), ("--tail", "parent")):
        arguments = (question[0], "grandchild0_0", "--relation", question[1], "--known", "keep", "--json")
        assert run("predict", folder, *arguments, monkeypatch=monkeypatch) == 0
        assert json.loads(capsys.readouterr().out)["answers"] == expected


@pytest.mark.parametrize("old", [("--top", "2"), ("--top=2",)])
def test_an_old_option_is_understood_with_a_note(folder, monkeypatch, capsys, old):
    asked = ("predict", folder, "--head", "grandpa0", "--relation", "grandparent")
    assert run(*asked, "--most", "2", monkeypatch=monkeypatch) == 0
    expected = capsys.readouterr()
    assert run(*asked, *old, monkeypatch=monkeypatch) == 0
    told = capsys.readouterr()
    assert told.out == expected.out
    assert told.err == "note: --top is now --most\n"
    assert "--top" not in expected.err


def test_known_answers_are_marked(folder, model, monkeypatch, capsys):
    arguments = ("--head", "grandpa0", "--relation", "grandparent", "--known", "keep", "--most", "99")
    assert run("predict", folder, *arguments, monkeypatch=monkeypatch) == 0
    expected = model.predict("grandpa0", "grandparent", 99, known="keep")
    rows = capsys.readouterr().out.splitlines()[2:][: len(expected)]
    assert [row.endswith("known") for row in rows] == [answer.is_known for answer in expected]
    assert any(answer.is_known for answer in expected)


def test_no_answer(folder, monkeypatch, capsys):
    arguments = ("--head", "grandchild0_0", "--relation", "grandparent")
    assert run("predict", folder, *arguments, monkeypatch=monkeypatch) == 0
    assert "no rule reaches an answer" in capsys.readouterr().out
    for more, is_told in ((("--facts", "train"), True), (("--evidence", "all"), False), ((), False)):
        assert run("explain", folder, *arguments, "--tail", "grandpa0", *more, monkeypatch=monkeypatch) == 0
        assert ("the known facts are those of train only: --facts all" in capsys.readouterr().err) == is_told


@pytest.mark.parametrize("from_stdin", [False, True])
def test_many_queries(folder, model, monkeypatch, capsys, tmp_path, from_stdin):
    queries = [("grandpa0", "grandparent"), ("grandchild0_0", "grandparent"), ("grandma1", "parent")]
    text = "\n".join("\t".join(query) for query in queries) + "\n\n"
    path = tmp_path / "queries.tsv"
    path.write_text(text, encoding="utf-8")
    source = "-" if from_stdin else str(path)
    expected = model.predict_many(queries, 2)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert run("predict", folder, "--input", source, "--most", "2", monkeypatch=monkeypatch) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    columns = ["head", "relation", "rank", "answer", "score", "probability", "known", "label", "problem"]
    assert header == columns
    assert all(len(row) == len(columns) for row in rows)
    assert [row[:4] for row in rows] == [
        [*query, str(i), answer.entity]
        for query, answers in zip(queries, expected, strict=True)
        for i, answer in enumerate(answers, 1)
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert run("predict", folder, "--input", source, "--most", "2", "--json", monkeypatch=monkeypatch) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["answers"] for entry in told] == [plain(answers) for answers in expected]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"grandpa0\tparent\n\ngrandpa0 parent\n", ":3: expected head<TAB>relation, found 1 column(s)"),
        (b"grandpa0\tparent\tx\n", ":1: expected head<TAB>relation, found 3 column(s)"),
        (b"grandpa0\tparent\n\xff\tparent\n", ":2: not UTF-8 text"),
    ],
)
def test_bad_query_files_are_told_before_any_answer(folder, monkeypatch, capsys, tmp_path, content, message):
    path = tmp_path / "queries.tsv"
    path.write_bytes(content)
    assert run("predict", folder, "--input", str(path), monkeypatch=monkeypatch) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: {path}{message}")


def test_rows_with_unknown_names_are_marked_and_the_others_answered(
    folder, model, monkeypatch, capsys, tmp_path
):
    path = tmp_path / "queries.tsv"
    path.write_text("grandpa0\tgrandparent\ngranpa0\tparrent\n\ngrandma1\tparent\n", encoding="utf-8")
    arguments = ("predict", folder, "--input", str(path), "--most", "2")
    assert run(*arguments, monkeypatch=monkeypatch) == 1
    shown = capsys.readouterr()
    rows = [line.split("\t") for line in shown.out.splitlines()[1:]]
    assert len({len(row) for row in rows}) == 1
    wrong = [row for row in rows if row[-1]]
    assert [row[:4] for row in wrong] == [["granpa0", "parrent", "", ""]]
    assert wrong[0][-1].startswith("unknown entity 'granpa0'; did you mean 'grandpa0'")
    assert "unknown relation 'parrent'; did you mean 'parent'" in wrong[0][-1]
    expected = model.predict_many([("grandpa0", "grandparent"), ("grandma1", "parent")], 2)
    answered = [row[3] for row in rows if not row[-1]]
    assert answered == [answer.entity for answers in expected for answer in answers]
    assert f"warning: {path}:2: unknown entity 'granpa0'" in shown.err
    assert "1 row(s) left unanswered" in shown.err
    assert run(*arguments, "--json", monkeypatch=monkeypatch) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["answers"] for entry in told] == [plain(expected[0]), [], plain(expected[1])]
    assert [entry.get("problem") for entry in told] == [None, wrong[0][-1], None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--relation", "parent"], "give a relation, and either head or tail"),
        (["--head", "grandpa0"], "give a relation, and either head or tail"),
        (["--head", "a", "--tail", "b", "--relation", "parent"], "`explain` takes both ends"),
        (["--input", "x.tsv", "--head", "a"], "not both"),
        (["--input", "nowhere.tsv"], "nowhere.tsv: cannot be read"),
        (["--head", "granpa0", "--relation", "parent"], "did you mean 'grandpa0'"),
    ],
)
def test_wrong_questions(folder, monkeypatch, capsys, arguments, message):
    assert run("predict", folder, *arguments, monkeypatch=monkeypatch) == 2
    assert message in capsys.readouterr().err


def test_explain_as_json_and_as_text(folder, model, monkeypatch, capsys):
    tail = model.predict("grandpa0", "grandparent", 1, facts="train")[0].entity
    arguments = ("explain", folder, "--head", "grandpa0", "--relation", "grandparent", "--tail", tail)
    arguments = (*arguments, "--facts", "train")
    assert run(*arguments, "--json", monkeypatch=monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == model.explain("grandpa0", "grandparent", tail, facts="train").as_dict()
    assert math.fsum(rule["contribution"] for rule in told["rules"]) == pytest.approx(told["score"], abs=1e-6)
    assert math.fsum(idea["contribution"] for idea in told["ideas"]) == pytest.approx(told["score"], abs=1e-6)
    assert all(1 <= len(rule["paths"]) <= 3 for rule in told["rules"])
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"grandpa0 grandparent {tail} ")
    assert out.splitlines() == list(model.explain("grandpa0", "grandparent", tail, facts="train").lines())
    assert "because   grandpa0 parent " in out
    assert "  rule    grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)\n" in out
    assert run(*arguments, "--all", "--paths", "1", monkeypatch=monkeypatch) == 0
    everything = capsys.readouterr().out
    assert all(rule["rule"] in everything for rule in told["rules"])


def test_explain_why_not_another_answer(folder, model, monkeypatch, capsys):
    one, other = (answer.entity for answer in model.predict("grandpa0", "grandparent", 2, facts="train"))
    arguments = ("explain", folder, "--head", "grandpa0", "--relation", "grandparent", "--tail", one)
    arguments = (*arguments, "--facts", "train")
    assert run(*arguments, "--instead", other, "--json", monkeypatch=monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    scores = [answer["score"] for answer in told["answers"]]
    assert (told["tail"], told["instead"]) == (one, other)
    assert told["difference"] == pytest.approx(scores[0] - scores[1])
    assert math.fsum(idea["contribution"] for idea in told["ideas"]) == pytest.approx(told["difference"])
    assert run(*arguments, "--instead", other, monkeypatch=monkeypatch) == 0
    assert f"or {other} instead?" in capsys.readouterr().out
    assert run(*arguments, "--instead", "nobody", monkeypatch=monkeypatch) == 2
    assert "unknown entity 'nobody'" in capsys.readouterr().err


def test_explain_writes_a_page(folder, model, monkeypatch, capsys, tmp_path):
    tail = model.predict("grandpa0", "grandparent", 1, facts="train")[0].entity
    arguments = ("explain", folder, "--head", "grandpa0", "--relation", "grandparent", "--tail", tail)
    arguments = (*arguments, "--facts", "train")
    page = tmp_path / "why.html"
    assert run(*arguments, "--json", "--html", str(page), monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["tail"] == tail
    assert shown.err == f"page written to {page}\n"
    assert (
        page.read_text(encoding="utf-8")
        == model.explain("grandpa0", "grandparent", tail, facts="train").page()
    )
    assert "<svg" in page.read_text(encoding="utf-8")
    assert run(*arguments, "--html", str(tmp_path / "no" / "why.html"), monkeypatch=monkeypatch) == 2
    assert "why.html: cannot be written (No such file or directory)" in capsys.readouterr().err
