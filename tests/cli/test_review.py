"""`rnnlogic review`: decisions by the command line, and what commands make of them."""

import json

import pytest

from rnnlogic.fit import pipeline
from rnnlogic.model import RNNLogic
from tests.helpers.commands import run
from tests.helpers.family import fake_learn, family, family_facts, given_rules, tiny_config


@pytest.fixture
def folder(tmp_path):
    data = family()
    model = RNNLogic()._take(data, tiny_config(), given_rules(data))
    model.level("train")
    return model.save(tmp_path / "run")


def proposal(folder):
    """The best answer from the training facts: all facts together lack none that the rules predict."""
    answers = RNNLogic.load(folder).predict("grandpa0", "grandparent", 1, facts="train")
    return "grandpa0", "grandparent", answers[0].entity


def test_a_rejected_answer_is_gone_and_comes_back_by_undo(folder, capsys, monkeypatch, tmp_path):
    fact = proposal(folder)
    decide = ["review", str(folder), "--reject", *fact, "--by", "Ada", "--comment", "no, she is not"]
    ask = ["predict", str(folder), "--head", fact[0], "--relation", fact[1], "--facts", "train", "--json"]
    assert run(*decide, "--json", monkeypatch=monkeypatch) == 0
    (made,) = json.loads(capsys.readouterr().out)
    assert (made["verdict"], made["by"], made["run"]) == ("reject", "Ada", "run")
    assert run(*ask, monkeypatch=monkeypatch) == 0
    assert fact[2] not in [one["entity"] for one in json.loads(capsys.readouterr().out)["answers"]]
    names = ["--head", fact[0], "--relation", fact[1], "--tail", fact[2], "--facts", "train"]
    assert run("explain", str(folder), *names, monkeypatch=monkeypatch) == 0
    assert "rejected by Ada" in capsys.readouterr().err
    assert run("review", str(folder), monkeypatch=monkeypatch) == 0
    assert "no, she is not" in capsys.readouterr().out
    table = tmp_path / "decisions.csv"
    assert run("review", str(folder), "--export", str(table), monkeypatch=monkeypatch) == 0
    assert table.read_text(encoding="utf-8").splitlines()[1].startswith(",".join([*fact, "reject"]))
    assert run("review", str(folder), "--undo", "--by", "Bob", monkeypatch=monkeypatch) == 2
    assert "there is no decision by Bob to take back" in capsys.readouterr().err
    assert run("review", str(folder), "--undo", monkeypatch=monkeypatch) == 0
    assert run(*ask, monkeypatch=monkeypatch) == 0
    assert fact[2] in capsys.readouterr().out
    assert run("review", str(folder), monkeypatch=monkeypatch) == 0
    assert "nothing was decided yet" in capsys.readouterr().out


def test_mistakes_are_one_line(folder, capsys, monkeypatch, tmp_path):
    fact = proposal(folder)
    for wrong, message in (
        (["--reject", *fact, "--undo"], "not several"),
        (["--accept", "grandpa0", "grandparent", "nobody"], "unknown entity 'nobody'"),
        (["--export", str(tmp_path / "none" / "x.csv")], "cannot be written"),
    ):
        assert run("review", str(folder), *wrong, monkeypatch=monkeypatch) == 2
        assert message in capsys.readouterr().err
    assert run("review", str(tmp_path), monkeypatch=monkeypatch) == 2
    assert "is not a run folder" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.decisions.jsonl"))


def test_a_fit_learns_from_decisions_and_keeps_them(folder, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(pipeline, "learn", fake_learn)
    data = tmp_path / "family.tsv"
    data.write_text("".join("\t".join(fact) + "\n" for fact in family_facts()), encoding="utf-8")
    known = family_facts()[0]
    for verdict, fact in (("reject", known), ("accept", (known[2], "grandparent", known[0]))):
        assert run("review", str(folder), f"--{verdict}", *fact, monkeypatch=monkeypatch) == 0
    log = folder.with_name("run.decisions.jsonl")
    with log.open("ab") as file:
        file.write(b"damaged\n")
    kept = log.read_bytes()
    fit = ["fit", str(data), "-o", str(folder), "--restart", "--review", str(log), "--set", "seed=1"]
    capsys.readouterr()
    assert run(*fit, monkeypatch=monkeypatch) == 0
    told = capsys.readouterr().err
    assert "run.decisions.jsonl:3: this line cannot be read" in told
    assert "1 accepted facts added to train, 1 rejected, 1 of them taken out of the data" in told
    assert log.read_bytes() == kept
    again = RNNLogic.load(folder)
    assert (len(again.dataset.accepted), len(again.dataset.rejected)) == (1, 1)
    log.write_text('{"head":"x","relation":"y","tail":"z","verdict":"accept"}\n', encoding="utf-8")
    assert run(*fit, monkeypatch=monkeypatch) == 2
    assert "none of its 1 decisions is about family" in capsys.readouterr().err
