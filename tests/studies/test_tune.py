"""The search for settings starts from the packaged ones, resumes, and writes settings that a fit takes."""

from rnnlogic.config import read_config
from rnnlogic.studies.tune import tune
from tests.family import family, tiny_config


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
