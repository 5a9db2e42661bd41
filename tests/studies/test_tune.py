"""The search for settings starts from the packaged ones, resumes, and writes settings that a fit takes."""

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import read_config
from rnnlogic.studies.tune import tune
from tests.helpers.family import family, tiny_config


def test_a_search_resumes_and_writes_settings(tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlogic.studies.tune.preset_for", lambda *_: tiny_config())
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
