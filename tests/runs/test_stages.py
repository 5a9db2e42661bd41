"""Finished stages come back as they were, and their times add up."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.runs.folder import Run
from tests.helpers.family import family, given_rules


def test_stages_come_back_as_they_were(run):
    arrays = {
        "turned": np.arange(6.0).reshape(2, 3).T,
        "number": np.array(0.5),
        "empty": np.zeros((0, 3), np.int32),
        "every_other": np.arange(10)[::2],
    }
    assert run.load("round-1") is None
    run.save("round-1", arrays)
    back = Run.open(run.folder).load("round-1")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        np.testing.assert_array_equal(back[name], array)


def test_minutes_add_up_over_sessions(run, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    first = Run.open(run.folder)
    now[0] += 60
    first.save("mined", {"x": np.arange(2)})
    now[0] += 500  # lost: the process was killed
    second = Run.open(run.folder)
    second.load("mined")
    now[0] += 90
    second.save("round-1", {"x": np.arange(2)})
    now[0] += 30  # the final weights, which are no stage of their own
    second.finish(given_rules(family()))
    assert second.about()["minutes"] == pytest.approx(3)


def test_a_damaged_stage_is_named(run):
    run.save("mined", {"x": np.arange(2)})
    path = run.folder / "stages" / "mined.safetensors"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(RNNLogicError, match=r"stages/mined\.safetensors: is damaged"):
        run.load("mined")
    with pytest.raises(RNNLogicError, match=r"stages/mined\.safetensors: is damaged"):
        run.finish(given_rules(family()))
    assert not run.finished
