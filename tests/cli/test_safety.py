"""What holds for all commands: what names may not do, no tracebacks, signals, damage, read-only runs."""

import ast
import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rnnlogic.cli
from rnnlogic.cli.safety import Stopped, polite
from rnnlogic.data.dataset import load_dataset
from rnnlogic.embeddings.files import save_embedding
from rnnlogic.model import RNNLogic
from rnnlogic.runs.files import RunError, read_arrays, write_arrays, write_object
from rnnlogic.runs.folder import Run
from tests.helpers.commands import run
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import fake_learn, family, family_facts, write_family

CLI = Path(rnnlogic.cli.__file__).parent
ESCAPE, OVERRIDE = "\x1b[31m", "\u202e"
FORMULA = "=cmd|' /C calc'!A0"


def saved(folder: Path, dataset=None) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
        RNNLogic({}).fit(dataset or family(), folder)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("safety") / "run")


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


@pytest.fixture(scope="module")
def nasty(tmp_path_factory) -> Path:
    """A run whose names try everything."""
    renamed = {"grandchild0_0": f"evil{ESCAPE}{OVERRIDE}", "grandchild0_1": FORMULA, "grandpa0": f"g{ESCAPE}"}
    facts = [tuple(renamed.get(name, name) for name in fact) for fact in family_facts()]
    dataset = load_dataset(facts, ratios=(60, 20, 20), name="family")
    return saved(tmp_path_factory.mktemp("nasty") / "run", dataset)


def test_every_command_prints_through_one_module():
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = getattr(node, "func", None)
            is_echo = isinstance(called, ast.Attribute) and called.attr in ("echo", "secho")
            is_print = isinstance(called, ast.Name) and called.id == "print"
            assert path.name == "output.py" or not (is_echo or is_print), (
                f"{path}:{node.lineno}: use output.echo"
            )


def test_names_do_not_steer_the_terminal(nasty, tmp_path, monkeypatch, capsys):
    head = ("--head", f"g{ESCAPE}", "--relation", "grandparent")
    tail = ("--tail", f"evil{ESCAPE}{OVERRIDE}")
    queries = tmp_path / "queries.tsv"
    queries.write_text(f"g{ESCAPE}\tgrandparent\n")
    for command in (
        ("predict", str(nasty), *head, "--known", "keep", "--top", "40"),
        ("predict", str(nasty), *head, "--known", "keep", "--top", "40", "--json"),
        ("predict", str(nasty), "--input", str(queries), "--known", "keep", "--json"),
        ("explain", str(nasty), *head, *tail),
        ("explain", str(nasty), *head, *tail, "--json"),
        ("complete", str(nasty), "-o", str(tmp_path / "new.tsv")),
        ("evaluate", str(nasty), "--relations"),
        ("predict", str(nasty), "--head", f"no{ESCAPE}one", "--relation", "grandparent"),
    ):
        run(*command, monkeypatch=monkeypatch)
        printed = "".join(capsys.readouterr())
        assert not set(printed) & set(ESCAPE[0] + OVERRIDE), command
        assert "evil" in printed or command[0] not in ("explain",)


def test_cells_of_spreadsheets(nasty, tmp_path, monkeypatch, capsys):
    queries = tmp_path / "queries.tsv"
    queries.write_text(f"{FORMULA}\tparent^-1\n")
    asked = ("predict", str(nasty), "--input", str(queries), "--known", "keep")
    assert run(*asked, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(FORMULA)
    assert run(*asked, "--excel-safe", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("'" + FORMULA)
    found, train = {}, ("--evidence", "train")
    for safe in ((), ("--excel-safe",)):
        written = ("complete", str(nasty), "-o", str(tmp_path / "x.csv"), "--max", "5000", *train, *safe)
        assert run(*written, monkeypatch=monkeypatch) == 0
        with (tmp_path / "x.csv").open(newline="") as file:
            found[safe] = {cell for row in csv.reader(file) for cell in row[:3]}
    assert FORMULA in found[()]
    assert not [cell for cell in found[("--excel-safe",)] if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize(
    "wrong",
    [
        ("fit", "DATA", "-o", "NEW", "--max-minutes", "nan"),
        ("fit", "DATA", "-o", "NEW", "--set", "predictor.weight_decay=.inf"),
        ("fit", "DATA", "-o", "NEW", "--set", "em.rounds=" + "[" * 3000),
        ("fit", "DATA", "-o", "NEW", "--set", "em.rounds=" + "9" * 5000),
        ("fit", "DATA", "-o", "NEW", "--seed", "9" * 30),
        ("fit", "DATA", "-o", "NEW", "--set", "seed=-1"),
        ("fit", "DATA", "-o", "n" * 300),
        ("fit", "n" * 300, "-o", "NEW"),
        ("embed", "DATA", "-o", "n" * 300),
        ("complete", "RUN", "-o", "NEW.tsv", "--min-probability", "nan"),
        ("complete", "RUN", "-o", "n" * 300 + ".tsv"),
        ("rules", "RUN", "--min-confidence", "nan"),
        ("rules", "RUN", "export", "-o", "n" * 300),
        ("predict", "n" * 300, "--head", "a", "--relation", "b"),
        ("check", "n" * 300),
        ("compare", "RUN", "RUN", "--samples", "9" * 12),
        ("labels", "not/there", "DATA"),
        ("mine", "DATA", "-o", "NEW", "--smoothing", "inf"),
        ("data", "split", "DATA", "-o", "n" * 300),
    ],
    ids=lambda words: " ".join(word[:30] for word in words),
)
def test_mistakes_end_in_one_line(wrong, whole, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    places = {"RUN": str(whole), "DATA": write_family(tmp_path / "family.tsv")}
    assert run(*(places.get(word, word) for word in wrong), monkeypatch=monkeypatch) == 2
    told = capsys.readouterr().err
    assert "rror" in told
    assert len(told) < 2000
    assert [path.name for path in tmp_path.iterdir()] == ["family.tsv"]
    assert not (tmp_path / "NEW").exists()


def test_evaluate_where_nothing_can_be_written(folder, monkeypatch, capsys):
    def refused(*_):
        raise RunError(folder, "cannot be written (Read-only file system)")

    monkeypatch.setattr("rnnlogic.runs.folder.write_report", refused)
    assert run("evaluate", str(folder), "--json", monkeypatch=monkeypatch) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["both"]["expected"]["mrr"] > 0
    assert "the report could not be kept" in told.err
    assert "Read-only" in told.err


def test_check_says_what_is_there_and_whether_it_is_whole(folder, monkeypatch, capsys):
    assert run("check", str(folder), monkeypatch=monkeypatch) == 0
    assert "whole: " in capsys.readouterr().out
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    assert run("check", str(folder), "--json", monkeypatch=monkeypatch) == 1
    told = json.loads(capsys.readouterr().out)
    assert not told["whole"]
    states = {file["file"]: file["state"] for file in told["files"]}
    assert states.pop("model.safetensors") == "damaged"
    assert set(states.values()) == {"whole"}
    ask = ("predict", str(folder), "--head", "grandpa0", "--relation", "grandparent")
    assert run(*ask, monkeypatch=monkeypatch) == 2
    assert "model.safetensors: is damaged" in capsys.readouterr().err
    (folder / "rules.txt").write_text("other")
    write_arrays(path, read_arrays_unchecked(path))
    assert run("--no-verify", *ask, monkeypatch=monkeypatch) in (0, 2)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("reports/test.json", "`rnnlogic evaluate` makes missing reports"),
        ("stages/mined.safetensors", "the finished model answers without its stages"),
        ("rules.txt", ""),
    ],
)
def test_check_says_what_is_missing(name, remedy, folder, monkeypatch, capsys):
    write_object(folder / "reports" / "test.json", {})
    write_arrays(folder / "stages" / "mined.safetensors", {"x": np.arange(3)})
    assert run("check", str(folder), monkeypatch=monkeypatch) == 0
    (folder / name).unlink()
    capsys.readouterr()
    assert run("check", str(folder), monkeypatch=monkeypatch) == 1
    verdict = " ".join(capsys.readouterr().out.split()).partition("NOT whole: ")[2]
    assert verdict.startswith(f"{name} is missing, of ")
    assert verdict.endswith(f"; {remedy}" if remedy else " s")
    assert run("check", str(folder), "--json", monkeypatch=monkeypatch) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["whole"], told["missing"]) == (False, [name])


def test_a_finished_embedding_is_whole_without_its_checkpoint(tmp_path, monkeypatch):
    vocab = family().vocab
    inner = random_embedding(vocab.num_entities, vocab.num_relations)
    save_embedding(tmp_path / "embedding", inner, vocab, {})
    checkpoint = tmp_path / "embedding" / "checkpoint.safetensors"
    write_arrays(checkpoint, {"x": np.arange(3)})
    checkpoint.unlink()
    assert run("check", str(tmp_path / "embedding"), monkeypatch=monkeypatch) == 0


def test_check_notices_that_the_manifest_itself_is_gone(folder, monkeypatch, capsys):
    vocab = family().vocab
    inner = random_embedding(vocab.num_entities, vocab.num_relations)
    save_embedding(folder / "embedding", inner, vocab, {})  # has a manifest of its own
    assert run("check", str(folder), monkeypatch=monkeypatch) == 0
    (folder / "manifest.jsonl").unlink()
    capsys.readouterr()
    assert run("check", str(folder), "--json", monkeypatch=monkeypatch) == 1
    states = {file["file"]: file["state"] for file in json.loads(capsys.readouterr().out)["files"]}
    assert states["model.safetensors"] == "not in the manifest"
    assert states["embedding/embedding.safetensors"] == "whole"


def read_arrays_unchecked(path):
    from rnnlogic.base.files import verification

    with verification(False):
        return read_arrays(path)


def test_a_damaged_stage_is_named_and_done_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", stopping)
    data, folder = write_family(tmp_path / "family.tsv"), tmp_path / "run"
    assert run("fit", data, "-o", str(folder), monkeypatch=monkeypatch) == 130
    stage = folder / "stages" / "mined.safetensors"
    stage.write_bytes(stage.read_bytes()[:-1] + b"\x7f")
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    capsys.readouterr()
    assert run("fit", data, "-o", str(folder), monkeypatch=monkeypatch) == 2
    assert "mined.safetensors: is damaged" in capsys.readouterr().err
    assert run("fit", data, "-o", str(folder), "--redo-damaged", monkeypatch=monkeypatch) == 0
    assert "mined.safetensors is damaged and made again" in capsys.readouterr().err
    assert run("check", str(folder), monkeypatch=monkeypatch) == 0
    stages = [json.loads(line)["stage"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert sorted(stages) == sorted(set(stages))
    (folder / "model.json").write_text("{}")
    assert run("fit", data, "-o", str(folder), "--redo-damaged", monkeypatch=monkeypatch) == 2
    assert "--restart" in capsys.readouterr().err


def stopping(dataset, config, store, progress, *rest, **more):
    store.save("mined", {"x": np.arange(3)})
    store.log({"stage": "mined", "deadline": False})
    raise KeyboardInterrupt


def test_links_in_a_run_are_not_followed(folder, tmp_path, monkeypatch, capsys):
    precious = tmp_path / "precious.json"
    precious.write_text("years of work")
    (folder / "reports").mkdir(exist_ok=True)
    (folder / "reports" / "test.json").symlink_to(precious)
    assert run("evaluate", str(folder), monkeypatch=monkeypatch) == 2
    assert "is a link" in capsys.readouterr().err
    assert precious.read_text() == "years of work"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("vocabulary.json", {"entities": 3}),
        ("vocabulary.json", {"relations": [1]}),
        ("vocabulary.json", {"cleaning": {"blank_lines": "x"}}),
        ("vocabulary.json", {"entity_labels": []}),
        ("model.json", {"minutes": "long"}),
        ("model.json", {"minutes": float("nan")}),
        ("calibration.json", {"levels": {"train": {}}}),
        ("calibration.json", {"levels": 3}),
    ],
)
def test_values_of_a_foreign_run_that_make_no_sense(folder, name, change, monkeypatch, capsys):
    path = folder / name
    write_object(path, json.loads(path.read_text()) | change)
    assert (
        run("predict", str(folder), "--head", "grandpa0", "--relation", "parent", monkeypatch=monkeypatch)
        == 2
    )
    assert "cannot be read" in capsys.readouterr().err


ASK = ("--head", "grandpa0", "--relation", "parent")


@pytest.mark.parametrize(
    "change",
    [
        *({"unreached": value} for value in (-5, 7)),
        *({"missing": -1}, {"facts": 1e308}, {"reached": 1e9}),
        {"reliability": [dict.fromkeys(("low", "high", "facts", "predicted", "observed"), 2.0)]},
    ],
    ids=str,
)
def test_probabilities_of_a_foreign_run_that_are_none(folder, change, monkeypatch, capsys):
    about = json.loads((folder / "calibration.json").read_text())
    about["levels"]["train"] |= change
    write_object(folder / "calibration.json", about)
    assert run("predict", str(folder), *ASK, monkeypatch=monkeypatch) == 2
    told = capsys.readouterr().err
    assert "the calibration of this run cannot be read" in told
    assert next(iter(change)) in told or "is 2, not within 0 and 1" in told


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("model.safetensors", "weights", 1e308),
        ("model.safetensors", "weights", -1e308),
        ("calibration.safetensors", "train.both_ways.scale", 0.0),
        ("calibration.safetensors", "train.both_ways.weights", 1e308),
        ("calibration.safetensors", "train.both_ways.ceiling", np.nan),
    ],
)
def test_weights_of_a_foreign_run_that_no_sum_can_hold(folder, file, name, value, monkeypatch, capsys):
    arrays = {key: array.copy() for key, array in read_arrays(folder / file).items()}
    arrays[name][:] = value
    write_arrays(folder / file, arrays)
    assert run("predict", str(folder), *ASK, "--json", monkeypatch=monkeypatch) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "cannot be read" in told.err


@pytest.fixture
def usual_signals():
    """Signals as a terminal leaves them: nohup would have them ignored."""
    numbers = signal.SIGTERM, signal.SIGHUP
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_a_line_as_ctrl_c_does(number, tmp_path, monkeypatch, capsys):
    def signalled(*_, **__):
        os.kill(os.getpid(), number)
        raise AssertionError("not stopped")

    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", signalled)
    data = write_family(tmp_path / "family.tsv")
    before = signal.getsignal(number)
    assert run("fit", data, "-o", str(tmp_path / "run"), monkeypatch=monkeypatch) == 128 + number
    assert capsys.readouterr().err.endswith("stopped; run the same command again to resume\n")
    assert signal.getsignal(number) is before
    assert Run.exists(tmp_path / "run")


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_every_command_ends_with_the_exit_code_of_its_signal(number, folder, monkeypatch, capsys):
    def signalled(*_, **__):
        os.kill(os.getpid(), number)
        raise AssertionError("not stopped")

    monkeypatch.setattr("rnnlogic.runs.check.check_folder", signalled)
    assert run("check", str(folder), monkeypatch=monkeypatch) == 128 + number
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.parametrize(("closed", "code"), [("<&- >&- 2>&-", 0), (">&-", 0), ("2>&-", 2)])
def test_closed_streams_lead_nowhere(closed, code, whole):
    place = whole if code == 0 else whole / "missing"
    words = [sys.executable, "-m", "rnnlogic", "check", str(place)]  # shows no progress, however slow it is
    done = subprocess.run(
        f"exec {shlex.join(words)} {closed}", shell=True, stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.skipif(
    not Path("/dev/full").is_char_device(), reason="needs /dev/full of Linux, a device that is always full"
)
def test_a_full_disk_under_the_output(whole):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "rnnlogic", "rules", str(whole)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def wrapped(stop: BaseException | None) -> None:
    raise SystemError("returned a result with an exception set") from stop


def test_a_signal_that_compiled_code_wraps_still_ends_in_one_line(capsys):
    with pytest.raises(SystemExit) as ended, polite():
        wrapped(Stopped(signal.SIGTERM))
    assert ended.value.code == 128 + signal.SIGTERM
    assert capsys.readouterr().err == "stopped\n"
    with pytest.raises(SystemError, match="returned a result"), polite():
        wrapped(None)
