"""`rnnlogic fit`, `evaluate`, `rules`, `demo`: output, resuming, exit codes."""

import json
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rnnlogic.cli import app
from rnnlogic.cli.demo import FAST
from rnnlogic.data.dataset import load_dataset
from rnnlogic.embeddings.files import save_embedding
from rnnlogic.model import RNNLogic
from rnnlogic.runs.folder import Run
from tests.helpers.commands import run
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import STAGES, fake_learn, tiny_settings, write_family

SCRIPT = """
import os, pathlib, signal, sys
from rnnlogic.cli import main

replace, fatal = pathlib.Path.replace, sys.argv.pop(1)

def dying(partial, target):
    if str(target).endswith(fatal):
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(partial, target)

pathlib.Path.replace = dying  # with which every file gets its name
main()
"""


@pytest.fixture
def data(tmp_path) -> str:
    return write_family(tmp_path / "family.tsv")


@pytest.fixture
def folder(tmp_path) -> str:
    return str(tmp_path / "run")


@pytest.fixture
def fake(monkeypatch) -> None:
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)


def files(folder: str) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in Run.open(folder).folder.rglob("*") if p.is_file()}


def test_the_explanation_to_try_is_of_a_first_answer(data, folder, monkeypatch, capsys):
    assert run("fit", data, "-o", folder, *tiny_settings(), monkeypatch=monkeypatch) == 0
    suggested = next(line for line in capsys.readouterr().out.splitlines() if "rnnlogic explain" in line)
    arguments = shlex.split(suggested.replace("rnnlogic explain", "explain"))
    assert run(*arguments, "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["rank"] == 1


def test_fit_shows_stages_and_how_to_go_on(data, folder, fake, monkeypatch, capsys):
    arguments = ("fit", data, "-o", folder, "--seed", "7", "--set", "em.rounds=2", "--max-minutes", "9")
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    assert [line.split(":")[0] for line in shown.err.splitlines()] == [
        *("first look", *STAGES, "calibrate", "evaluate valid")
    ]
    assert "round-1: 1/1, 0 s, valid MRR 0.500" in shown.err
    assert f"rnnlogic evaluate {folder}" in shown.out
    assert "valid mrr" in shown.out
    config = Run.open(folder).config()
    assert (config.seed, config.em.rounds) == (7, 2)
    records = (Run.open(folder).folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(r) for r in records] == [{"stage": stage, "deadline": True} for stage in STAGES]
    suggested = next(line for line in shown.out.splitlines() if "rnnlogic explain" in line)
    assert run(*suggested.split()[1:], monkeypatch=monkeypatch) == 0


def test_fit_of_a_finished_run_says_so_and_changes_nothing(data, folder, fake, monkeypatch, capsys):
    assert run("fit", data, "-o", folder, monkeypatch=monkeypatch) == 0
    before = files(folder)
    assert run("fit", data, "-o", folder, monkeypatch=monkeypatch) == 0
    assert f"{folder} is already finished; nothing was changed" in capsys.readouterr().out
    assert files(folder) == before
    assert run("fit", data, "-o", folder, "--json", monkeypatch=monkeypatch) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["was_finished"], summary["rules"], summary["dataset"]) == (True, 6, "family")
    assert 0 < summary["valid"]["mrr"] <= 1
    assert run("fit", data, "-o", folder, "--restart", "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["was_finished"] is False


def test_other_settings_are_refused_with_the_way_out(data, folder, fake, monkeypatch, capsys):
    assert run("fit", data, "-o", folder, monkeypatch=monkeypatch) == 0
    assert run("fit", data, "-o", folder, "--seed", "5", monkeypatch=monkeypatch) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"error: {folder}: holds a run with other settings (seed: 0 there, 5 now)")
    assert run("fit", data, "-o", folder, "--seed", "5", "--restart", monkeypatch=monkeypatch) == 0
    assert Run.open(folder).config().seed == 5


def test_settings_come_from_a_file(data, folder, fake, monkeypatch, tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text("em: {rounds: 4}\nmax_length: 2\n")
    arguments = ("fit", data, "-o", folder, "--config", str(path), "--set", "max_length=1")
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    config = Run.open(folder).config()
    assert (config.em.rounds, config.max_length) == (4, 1)
    assert run("fit", data, "-o", folder, "--set", "em.round=2", monkeypatch=monkeypatch) == 2
    assert "did you mean em.rounds" in capsys.readouterr().err


def test_ctrl_c_says_how_to_go_on(data, folder, fake, monkeypatch, capsys):
    save = Run.save

    def interrupted(self, stage, arrays):
        if stage == "round-1":
            raise KeyboardInterrupt
        save(self, stage, arrays)

    monkeypatch.setattr(Run, "save", interrupted)
    assert run("fit", data, "-o", folder, monkeypatch=monkeypatch) == 130
    assert capsys.readouterr().err.endswith("stopped; run the same command again to resume\n")
    assert run("rules", folder, "--json", monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    assert f"the fit in {folder} is not finished: this is a preliminary model" in shown.err
    assert all(rule["preliminary"] for rule in json.loads(shown.out))
    monkeypatch.setattr(Run, "save", save)
    assert run("fit", data, "-o", folder, monkeypatch=monkeypatch) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"resuming the fit in {folder}"
    assert [line.split(":")[0] for line in lines[1:]] == ["round-1", "calibrate", "evaluate valid"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> tuple[str, str]:
    """A real fit from the command line that nobody stops: data and run folder."""
    folder = tmp_path_factory.mktemp("whole")
    data = write_family(folder / "family.tsv")
    done = CliRunner().invoke(app, ["fit", data, "-o", str(folder / "run"), *tiny_settings()])
    assert done.exit_code == 0, done.output
    return data, str(folder / "run")


BEFORE_SAVING = {"mined", "pretrained", "round-1", "round-2", "round-3", "rules", "statistics", "full"}


@pytest.mark.parametrize(
    ("fatal", "kept"),
    [
        ("stages/round-2.safetensors", {"mined", "pretrained", "round-1"}),
        ("run/model.json", BEFORE_SAVING),  # tests/runs/test_folder.py dies before every file
    ],
)
def test_a_killed_fit_goes_on_to_the_same_result(uninterrupted, folder, monkeypatch, fatal, kept):
    data, whole = uninterrupted
    arguments = ["fit", data, "-o", folder, *tiny_settings()]
    killed = subprocess.run(
        [sys.executable, "-c", SCRIPT, fatal, *arguments], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {path.stem for path in (Run.open(folder).folder / "stages").glob("[!.]*")} == kept | {
        "preliminary"
    }
    assert not Run.open(folder).finished
    assert [name for name in files(folder) if name.endswith(".partial")]
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    for name in ("model.safetensors", "rules.txt"):
        assert (Path(folder) / name).read_bytes() == (Path(whole) / name).read_bytes()
    assert not [name for name in files(folder) if name.endswith(".partial")]


def test_evaluate(uninterrupted, monkeypatch, capsys):
    _, folder = uninterrupted
    assert run("evaluate", folder, "--json", "--relations", monkeypatch=monkeypatch) == 0
    report = json.loads(capsys.readouterr().out)
    expected = RNNLogic.load(folder).evaluate("test")
    assert report["both"]["expected"] == expected.metrics()
    assert set(report["relations"]) == {"parent", "grandparent", "married"}
    assert Run.open(folder).report("test")["both"] == report["both"]
    assert run("evaluate", folder, "--sides", "tail", "--relations", monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert "test facts, known facts train" in out
    assert "By relation, tail" in out
    assert f"{expected.metrics('tail')['mrr']:.4f}".rstrip("0") in out
    assert run("evaluate", folder, "--facts", "train+valid", "--sides", "head", monkeypatch=monkeypatch) == 0
    assert Run.open(folder).report("test-train+valid-head")["evidence"] == "train+valid"
    assert run("evaluate", folder, "--split", "valid", "--facts", "train+valid", monkeypatch=monkeypatch) == 2
    assert "cannot be evaluated with known facts" in capsys.readouterr().err


def test_rules(uninterrupted, monkeypatch, capsys):
    _, folder = uninterrupted
    assert run("rules", folder, "--relation", "grandparent", "--most", "2", monkeypatch=monkeypatch) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.startswith("grandparent: 2 of ")
    assert first == "  grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"
    assert run("rules", folder, "--json", monkeypatch=monkeypatch) == 0
    listed = json.loads(capsys.readouterr().out)
    rules = RNNLogic.load(folder).rules(most=10, sort="use")
    assert [rule | {"same_as": None} for rule in listed] == [r.as_dict() | {"same_as": None} for r in rules]
    assert run("rules", folder, "--relation", "granparent", monkeypatch=monkeypatch) == 2
    assert "did you mean 'grandparent'" in capsys.readouterr().err


def test_the_variant_with_embeddings(data, folder, tmp_path, monkeypatch, capsys):
    dataset = load_dataset(data)
    embedding = random_embedding(dataset.vocab.num_entities, dataset.vocab.num_relations)
    save_embedding(tmp_path / "emb", embedding, dataset.vocab, {})
    arguments = ["fit", data, "-o", folder, *tiny_settings(), "--set", "em.rounds=1"]
    given = ["--embeddings", str(tmp_path / "emb")]
    assert run(*arguments, *given, monkeypatch=monkeypatch) == 2
    assert "take rnnlogic-emb" in capsys.readouterr().err
    arguments += ["--variant", "rnnlogic-emb", "--restart"]
    assert run(*arguments, *given, "--json", monkeypatch=monkeypatch) == 0
    valid = json.loads(capsys.readouterr().out)["valid"]
    assert run("evaluate", folder, "--split", "valid", "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["both"]["expected"] == valid
    question = ("--head", "grandpa0", "--relation", "grandparent")
    assert run("predict", folder, *question, "--json", monkeypatch=monkeypatch) == 0
    answer = json.loads(capsys.readouterr().out)["answers"][0]
    told = ("explain", folder, *question, "--tail", answer["entity"])
    assert run(*told, "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["score"] == pytest.approx(answer["score"])
    assert run("rules", folder, "--most", "1", monkeypatch=monkeypatch) == 0
    other = replace(embedding, entity=-embedding.entity)
    save_embedding(Path(folder) / "embedding", other, dataset.vocab, {})
    capsys.readouterr()
    assert run("evaluate", folder, monkeypatch=monkeypatch) == 2
    assert "embedding was changed; put the old one back, or fit again" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "rules"])
def test_a_folder_without_a_run(command, tmp_path, monkeypatch, capsys):
    assert run(command, str(tmp_path), monkeypatch=monkeypatch) == 2
    assert "is not a run folder; make one with `rnnlogic fit" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fit", "evaluate", "predict", "explain", "rules", "demo"])
def test_help_has_an_example(command):
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"Example: rnnlogic {command}" in result.output


def test_the_demo_shows_everything_within_100_columns(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    quick = ["max_length=2", "em.rounds=0", "final.rules=50", "predictor.steps=10", "mine.keep=100"]
    monkeypatch.setattr("rnnlogic.cli.demo.FAST", [*FAST, *quick])
    assert run("demo", "--fast", monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    for part in ("train facts  2,695", "(floor)", "right in", "because", "found with its reason"):
        assert part in out
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["demo"]
    assert (
        run("predict", "runs/demo", "--head", "France", "--relation", "borders", monkeypatch=monkeypatch) == 0
    )


def test_few_rules_and_the_frontier(data, tmp_path):
    done = CliRunner().invoke(
        app, ["fit", data, "-o", str(tmp_path / "few"), *tiny_settings(), "--compact", "2", "--json"]
    )
    summary = json.loads(done.stdout)
    rules = Run.open(tmp_path / "few").learned().rules
    assert np.bincount(rules.heads).max() <= 2
    assert summary["rules"] == len(rules)
    assert summary["frontier"][0][-1] == "full model"
    assert [row[0] for row in summary["frontier"] if row[-1] == "this run"] == [len(rules)]
    done = CliRunner().invoke(
        app, ["fit", data, "-o", str(tmp_path / "few"), *tiny_settings(), "--compact", "2"]
    )
    assert "against full" in done.stdout
    assert "this run" in done.stdout
    full = json.loads(
        CliRunner().invoke(app, ["fit", data, "-o", str(tmp_path / "all"), *tiny_settings(), "--json"]).stdout
    )
    assert full["rules"] > len(rules)
    assert full["frontier"] == []
    for wrong in ("many", "0", "\u00b2", "1" * 5000):
        refused = CliRunner().invoke(app, ["fit", data, "-o", str(tmp_path / "x"), "--compact", wrong])
        assert f"--compact {wrong[:20]}: expected a number of rules" in str(refused.exception)
