"""`rnnlogic embed`: output, resuming, exit codes."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from rnnlogic.cli import app
from rnnlogic.data.dataset import load_dataset
from rnnlogic.embeddings.files import ABOUT, checksum, load_embedding
from rnnlogic.evaluation.evaluate import evaluate
from tests.helpers.commands import run
from tests.helpers.family import write_family

QUICK = ("--dim", "8", "--set", "epochs=4", "--set", "evaluations=2", "--set", "batch_size=32")
KILLED = """
import os, signal, sys
from rnnlogic.cli import main
from rnnlogic.embeddings.fit import Checkpoint

save = Checkpoint.save

def dying(self, training):
    save(self, training)
    os.kill(os.getpid(), signal.SIGKILL)

Checkpoint.save = dying
main()
"""


@pytest.fixture
def data(tmp_path) -> str:
    return write_family(tmp_path / "family.tsv")


@pytest.fixture
def folder(tmp_path) -> str:
    return str(tmp_path / "emb")


def test_embed_trains_evaluates_and_says_when_it_is_finished(data, folder, monkeypatch, capsys):
    arguments = ("embed", data, "-o", folder, *QUICK, "--seed", "3", "--threads", "1")
    assert run(*arguments, "--test", monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    stages = [line.split(":")[0] for line in shown.err.splitlines()]
    assert stages == ["train", "evaluate valid", "evaluate test"]
    assert "valid MRR" in shown.err
    assert [line.split()[0] for line in shown.out.splitlines()[-3:]] == ["split", "valid", "test"]
    before = checksum(folder)
    assert run(*arguments, "--json", monkeypatch=monkeypatch) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["was_finished"]
    assert summary["sha256"] == before == checksum(folder)
    dataset = load_dataset(data)
    embedding, about = load_embedding(folder, dataset.vocab)
    assert about["origin"]["settings"]["seed"] == 3
    assert summary["valid"] == evaluate(embedding, dataset, "valid").as_dict()["both"]["expected"]
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    assert f"{folder} is already finished" in capsys.readouterr().out


def test_complex_has_the_same_command(data, folder, monkeypatch, capsys):
    arguments = ("embed", data, "-o", folder, "--model", "complex", *QUICK, "--threads", "1", "--json")
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["model"], summary["dim"]) == ("ComplEx", 8)
    dataset = load_dataset(data)
    embedding, _ = load_embedding(folder, dataset.vocab)
    assert summary["valid"] == evaluate(embedding, dataset, "valid").as_dict()["both"]["expected"]
    assert run("embed", data, "-o", folder, "--model", "compex", monkeypatch=monkeypatch) == 2
    assert "did you mean 'complex'" in capsys.readouterr().err


def test_mistakes_are_one_line(data, folder, monkeypatch, capsys):
    assert run("embed", data, "-o", folder, "--set", "epoch=3", monkeypatch=monkeypatch) == 2
    assert "did you mean epochs" in capsys.readouterr().err
    assert run("embed", data, "-o", folder, *QUICK, monkeypatch=monkeypatch) == 0
    assert run("embed", data, "-o", folder, *QUICK, "--seed", "9", monkeypatch=monkeypatch) == 2
    assert "other settings (seed: 0 there, 9 now)" in capsys.readouterr().err
    assert run("embed", data, "-o", folder, *QUICK, "--seed", "9", "--restart", monkeypatch=monkeypatch) == 0


@pytest.mark.parametrize(("command", "change"), [("embed", "epochs=["), ("fit", "em.rounds=[")])
def test_a_value_that_is_not_yaml_is_named(command, change, data, folder, monkeypatch, capsys):
    assert run(command, data, "-o", folder, "--set", change, monkeypatch=monkeypatch) == 2
    message = f"error: --set {change}: is not YAML: expected the node content, but found '<stream end>'"
    assert capsys.readouterr().err.splitlines()[-1] == message


def test_ctrl_c_says_how_to_resume(data, folder, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rnnlogic.embeddings.train._measure", interrupted)
        assert run("embed", data, "-o", folder, *QUICK, monkeypatch=patch) == 130
    assert capsys.readouterr().err.endswith("stopped; run the same command again to resume\n")
    assert run("embed", data, "-o", folder, *QUICK, monkeypatch=monkeypatch) == 0


def test_a_killed_training_resumes_to_the_same_embedding(data, folder, monkeypatch, capsys, tmp_path):
    arguments = ["embed", data, "-o", folder, *QUICK]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "emb" / ABOUT).exists()
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().err.startswith(f"resuming the training in {folder}\n")
    assert run("embed", data, "-o", str(tmp_path / "whole"), *QUICK, monkeypatch=monkeypatch) == 0
    vocab = load_dataset(data).vocab
    resumed, whole = (load_embedding(tmp_path / name, vocab)[0] for name in ("emb", "whole"))
    np.testing.assert_array_equal(resumed.entity, whole.entity)


def test_a_missing_device_is_an_error(data, folder, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    on_gpu = ("embed", data, "-o", folder, *QUICK, "--device", "cuda")
    assert run(*on_gpu, "--model", "complex", monkeypatch=monkeypatch) == 2
    assert "finds no CUDA device" in capsys.readouterr().err
    assert run(*on_gpu, monkeypatch=monkeypatch) == 2
    assert "RotatE is trained on the CPU only" in capsys.readouterr().err


def test_help_has_an_example():
    result = CliRunner().invoke(app, ["embed", "--help"])
    assert "Example: rnnlogic embed" in result.output


def test_embed_says_that_time_ran_out(data, folder, monkeypatch, capsys):
    arguments = ("embed", data, "-o", folder, *QUICK, "--max-minutes", "0.000001")
    assert run(*arguments, monkeypatch=monkeypatch) == 0
    assert "Time ran out: training stopped after 0 of " in capsys.readouterr().out
    assert run(*arguments, "--json", monkeypatch=monkeypatch) == 0  # and says so again
    told = json.loads(capsys.readouterr().out)
    assert told["ran_out_of_time"]
    assert told["steps"] < told["planned_steps"]
    assert run(*arguments[:-2], "--restart", monkeypatch=monkeypatch) == 0
    assert "Time ran out" not in capsys.readouterr().out
