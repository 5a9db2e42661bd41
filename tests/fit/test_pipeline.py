"""The table of stages, and the pipeline that makes, keeps and resumes them."""

import time
from importlib import import_module

import numpy as np
import pytest

from rnnlogic.base.budget import Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.fit import stages
from rnnlogic.fit.given import NOTHING_GIVEN, edits_of
from rnnlogic.fit.pipeline import Fit
from rnnlogic.fit.result import MemoryStore
from rnnlogic.fit.stages import STAGES, Made, Stage, stage_called
from tests.helpers.family import family, tiny_config


def fit_of(store, budget=None):
    data, config = family(), tiny_config()
    edits = edits_of(config, NOTHING_GIVEN, data.vocab)
    told = lambda *event: None  # noqa: E731
    return Fit(data, config, store, told, 1, None, edits, Budget() if budget is None else budget)


def toy(fit, at):
    """A stage that is made of another."""
    before = fit.result("toy-1")["x"] if at.name == "toy-2" else np.zeros(1)
    return Made({"x": before + 1, "left": np.array(at.budget.left)}, {"of": at.name})


@pytest.fixture
def with_toy(monkeypatch):
    row = Stage("toy-*", f"{__name__}:toy", 0.5, lambda config: {})
    monkeypatch.setattr(stages, "STAGES", (*STAGES, row))


def test_every_row_can_be_run():
    for stage in STAGES:
        assert 0 <= stage.share < 1
        module, _, function = stage.run.partition(":")
        assert not stage.run or callable(getattr(import_module(module), function))
        assert stage.arrays(tiny_config())


def test_a_stage_without_a_row_is_refused():
    assert stage_called("round-12").name == "round-*"
    with pytest.raises(RNNLogicError, match="stage 'dance' is not in the table"):
        stage_called("dance")


def test_a_stage_is_made_once_with_what_it_needs_and_logged(with_toy):
    store = MemoryStore()
    assert fit_of(store).result("toy-2")["x"] == 2
    assert list(store.stages) == ["toy-1", "toy-2"]
    assert [record["of"] for record in store.records] == ["toy-1", "toy-2"]
    assert fit_of(store).result("toy-2")["x"] == 2
    assert len(store.records) == 2, "nothing is made twice"


def test_a_stage_gets_its_share_of_the_time(with_toy):
    budget = Budget(time.monotonic() + 2e9)  # so much that no machine is slow against it
    left = float(fit_of(MemoryStore(), budget).result("toy-1")["left"])
    assert left == pytest.approx(1e9, rel=1e-3)
