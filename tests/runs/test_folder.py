"""The run folder: begun, resumed, restarted; other people's files are left alone."""

from itertools import count
from pathlib import Path

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import make_config
from rnnlogic.model import RNNLogic
from rnnlogic.runs.folder import Run
from tests.helpers.family import STAGES, fake_learn, family, given_rules

CONFIG = make_config({"seed": 3, "em": {"rounds": 2}})


def test_start_resumes_the_same_fit(run):
    run.save("mined", {"x": np.arange(2)})
    partial = run.folder / "stages" / ".round-1.safetensors.1234.partial"
    partial.write_bytes(b"half")
    again = Run.start(run.folder, family(), CONFIG.model_copy(update={"threads": 1}))
    assert again.load("mined") is not None
    assert not partial.exists()


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("family", {"seed": 3, "em": {"rounds": 5}}, "other settings (em.rounds: 2 there, 5 now)"),
        ("family", {"seed": 4, "em": {"rounds": 2}}, "other settings (seed: 3 there, 4 now)"),
        ("clan", {"seed": 3, "em": {"rounds": 2}}, "other data (name: family there, clan now)"),
    ],
)
def test_start_refuses_another_fit(run, name, values, message):
    with pytest.raises(RNNLogicError) as caught:
        Run.start(run.folder, family(name), make_config(values))
    assert message in str(caught.value)
    assert "choose another folder, or --restart" in str(caught.value)


def test_restart_drops_the_run_but_not_other_files(run):
    run.save("mined", {"x": np.arange(2)})
    run.finish(given_rules(family()))
    (run.folder / "notes.md").write_text("mine")
    other = make_config({"seed": 9})
    again = Run.start(run.folder, family(), other, restart=True)
    assert again.config() == other
    assert not again.finished
    assert again.load("mined") is None
    assert (run.folder / "notes.md").read_text() == "mine"


@pytest.mark.parametrize("restart", [False, True])
def test_a_folder_of_other_files_is_left_alone(tmp_path, restart):
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "vocabulary.json").write_text("of another program")
    with pytest.raises(RNNLogicError, match=r"not empty \(thesis.tex\)"):
        Run.start(tmp_path, family(), CONFIG, restart)
    assert (tmp_path / "vocabulary.json").read_text() == "of another program"


@pytest.mark.parametrize("name", ["config.yaml", "reports/thesis.md", "log.txt"])
def test_names_that_a_run_has_too_are_left_alone(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("years of work")
    with pytest.raises(RNNLogicError, match="not empty"):
        Run.start(tmp_path, family(), CONFIG, restart=True)
    assert path.read_text() == "years of work"


def test_a_start_that_was_killed_starts_over(run):
    (run.folder / "config.yaml").unlink()
    (run.folder / ".config.yaml.0a1b.partial").write_bytes(b"see")
    again = Run.start(run.folder, family(), CONFIG)
    assert again.config() == CONFIG
    assert not list(run.folder.glob(".*"))


class Killed(BaseException):
    """Stands for a kill: nothing below catches it."""


def fit_until(kill: int, folder, monkeypatch) -> int:
    """Fit, and die before the file of number `kill` gets its name; gives the number of files."""
    names, rename = count(), Path.replace

    def dying(partial, target):
        if next(names) == kill:
            rename(partial, target.with_name(".half.partial"))  # what a real kill leaves
            raise Killed
        return rename(partial, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying)
        RNNLogic(CONFIG).fit(family(), folder, rules=["parent <- married & parent"])
    return next(names)


def contents(folder) -> dict[str, bytes]:
    """Files of a run but for those that hold times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "stages"]
    timeless = (path for path in paths if path.name not in ("log.txt", "model.json", "manifest.jsonl"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in timeless}


def test_a_kill_at_any_file_resumes_to_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    files = fit_until(-1, tmp_path / "whole", monkeypatch)
    begun = ("given.rules", "vocabulary.json", "facts", "config.yaml")
    finished = ("calibration.safetensors", "calibration.json", "rules", "model", "json")
    assert files == len((*begun, "preliminary", *STAGES, *finished))
    expected = contents(tmp_path / "whole")
    for kill in range(files):
        folder = tmp_path / str(kill)
        with pytest.raises(Killed):
            fit_until(kill, folder, monkeypatch)
        assert (kill < len(begun)) == (not Run.exists(folder))
        assert not (Run.exists(folder) and Run.open(folder).finished)
        fit_until(-1, folder, monkeypatch)
        assert contents(folder) == expected
        assert Run.open(folder).finished


def test_create_refuses_a_run(run):
    with pytest.raises(RNNLogicError, match="holds a run already; choose another folder"):
        Run.create(run.folder, family(), CONFIG)


def test_open_says_what_to_do(tmp_path):
    with pytest.raises(RNNLogicError, match="no such run folder; make one with `rnnlogic fit DATASET -o"):
        Run.open(tmp_path / "nowhere")
    with pytest.raises(RNNLogicError, match="is not a run folder"):
        Run.open(tmp_path)


def test_reports_are_kept(run):
    assert run.report("test") is None
    run.save_report("test", {"mrr": 0.5})
    assert Run.open(run.folder).report("test") == {"mrr": 0.5}
