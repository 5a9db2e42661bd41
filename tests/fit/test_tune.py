"""The search for settings starts from the packaged ones, resumes, and writes settings that a fit takes."""

import math

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import silent
from rnnlogic.config import read_config
from rnnlogic.fit.tune import _Search, _study, tune
from tests.helpers.family import family, tiny_config


def test_a_search_resumes_and_writes_settings(tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlogic.fit.tune.preset_for", lambda *_: tiny_config())
    first = tune(family(), tmp_path, 5, most_trials=2)
    assert [trial["rules"] for trial in first.trials if trial["trial"] == 0] == [20]
    found = tune(family(), tmp_path, 5, most_trials=7)
    assert sorted(trial["trial"] for trial in found.trials) == list(range(7))
    assert found.gain >= 0
    assert set(found.importance) == {"max_length", "rules", "feature", "weight_decay"}
    assert read_config(tmp_path / "settings.yaml") == found.config
    assert found.config.final.rules == found.trials[0]["rules"]
    assert "| knob | importance |" in (tmp_path / "report.md").read_text()
    assert tune(family(), tmp_path, 0).trials == found.trials  # the time is used up: nothing new


@pytest.mark.parametrize("killed", [KeyboardInterrupt, SystemExit])
def test_a_search_stopped_in_its_first_trial_resumes(tmp_path, monkeypatch, killed):
    """Ctrl-C marks the trial as failed; after a kill (here: an exception that Optuna lets pass) it "runs"."""

    def stop(*_):
        raise killed

    monkeypatch.setattr("rnnlogic.fit.tune.preset_for", lambda *_: tiny_config())
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr("rnnlogic.fit.tune.learn", stop)
            with pytest.raises(killed):
                tune(family(), tmp_path, 5)
    found = tune(family(), tmp_path, 5, most_trials=2)
    assert [trial["rules"] for trial in found.trials if trial["trial"] == found.packaged] == [20]
    assert found.packaged == 2
    assert found.gain >= 0
    assert "default settings (trial 2)" in (tmp_path / "report.md").read_text()
    assert tune(family(), tmp_path, 0).gain == found.gain


def test_a_search_without_the_packaged_settings_tries_them_even_if_the_time_is_up(tmp_path, monkeypatch):
    """Earlier versions went on without them, and could not be resumed."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rnnlogic.fit.tune.preset_for", lambda *_: tiny_config())
    with monkeypatch.context() as patch:
        patch.setattr("rnnlogic.fit.tune.learn", stop)
        with pytest.raises(KeyboardInterrupt):
            tune(family(), tmp_path, 5)
    study = _study(tmp_path, family(), 0)
    study.optimize(_Search(family(), tiny_config(), ("rnnlogic",), math.inf, silent), n_trials=1)
    found = tune(family(), tmp_path, 0)
    assert [trial["trial"] for trial in found.trials if trial["trial"] == found.packaged] == [2]
    assert len(found.trials) == 2


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RNNLogicError, match=r"holds other files \(notes.txt\)"):
        tune(family(), tmp_path, 5)
    with pytest.raises(RNNLogicError, match="is a file"):
        tune(family(), tmp_path / "notes.txt", 5)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    "journal", [b"x\n", b"\xff\xfe\n", b'{"op_code": 0}\n', b"[]\n", b'{"op_code": 99}\n']
)
def test_a_damaged_journal_is_refused(journal, tmp_path):
    (tmp_path / "trials.log").write_bytes(journal)
    with pytest.raises(RNNLogicError, match=r"trials.log: is damaged"):
        tune(family(), tmp_path, 5)
