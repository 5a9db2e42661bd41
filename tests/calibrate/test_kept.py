"""What is measured for a finished run is kept there, if anybody can write."""

import numpy as np
import pytest

from rnnlogic.base.lock import exclusive
from rnnlogic.calibrate.calibration import Calibration, pack_calibration
from rnnlogic.model import RNNLogic
from rnnlogic.runs.folder import Run
from tests.helpers.family import fake_learn, family


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run whose time was up before anything was calibrated."""
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    RNNLogic({}).fit(family(), tmp_path / "run")
    Run.open(tmp_path / "run").save_calibration(*pack_calibration(Calibration({})))
    return tmp_path / "run"


def refuse(*_, **__):
    raise AssertionError("measured again")


def test_it_is_measured_once(folder, monkeypatch):
    with exclusive(folder):  # somebody else writes: nothing is kept, and nothing fails
        RNNLogic.load(folder).level("train")
    assert not RNNLogic.load(folder)._levels.calibration.levels
    first = {evidence: RNNLogic.load(folder).level(evidence) for evidence in ("train", "all")}
    monkeypatch.setattr("rnnlogic.calibrate.kept.calibrated", refuse)
    for evidence, level in first.items():
        again = RNNLogic.load(folder).level(evidence)
        assert again.as_dict() == level.as_dict()
        np.testing.assert_array_equal(again.both_ways.weights, level.both_ways.weights)


def test_a_model_on_other_facts_leaves_the_run_alone(folder):
    more = RNNLogic.load(folder).with_facts([("new", "parent", "grandpa0")])
    more.level("train")
    assert not RNNLogic.load(folder)._levels.calibration.levels
