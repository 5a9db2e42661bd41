"""A run can be used before its fit is finished, and budgets leave a usable model."""

import pickle

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.dataset import load_dataset
from rnnlogic.fit.preliminary import with_first_rules
from rnnlogic.fit.stages import PRELIMINARY as STAGE
from rnnlogic.model import RNNLogic
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet, pack_rules
from rnnlogic.runs.folder import Run
from tests.helpers.family import fake_learn, family, family_facts, tiny_config


class StopError(Exception):
    """What stops a fit."""


@pytest.fixture
def stopped(tmp_path, monkeypatch) -> RNNLogic:
    """The model of a fit that was stopped before mining."""

    def stop(*args):
        raise StopError

    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", stop)
    with pytest.raises(StopError):
        RNNLogic(tiny_config()).fit(family(), tmp_path / "run", verbose=False)
    return RNNLogic.load(tmp_path / "run")


def test_an_unfinished_run_answers_with_its_preliminary_model(stopped):
    assert stopped.preliminary == STAGE
    assert repr(stopped).startswith("RNNLogic(preliminary, ")
    best = stopped.predict("grandpa0", "parent", known="keep")[0]
    assert best.is_known
    assert "grandpa0" in str(stopped.explain("grandpa0", "parent", best.entity))
    assert stopped.evaluate("valid").metrics()["mrr"] > 0.3
    assert stopped.rules("grandparent", most=1)[0].weight > 0


def test_a_finished_run_is_not_preliminary(stopped, tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    RNNLogic(tiny_config()).fit(family(), tmp_path / "run", verbose=False)
    assert RNNLogic.load(tmp_path / "run").preliminary is None


def test_a_run_without_any_model_says_so(tmp_path):
    Run.create(tmp_path / "run", family(), tiny_config())
    with pytest.raises(RNNLogicError, match="the fit was not finished"):
        RNNLogic.load(tmp_path / "run")


def test_a_budget_cuts_says_so_and_leaves_a_model(tmp_path):
    model = RNNLogic(tiny_config()).fit(family(), tmp_path / "run", max_minutes=1e-6, verbose=False)
    assert {"mine", "generator"} <= set(model.left_out)
    assert len(model.learned.rules)
    assert Run.open(tmp_path / "run").about()["left_out"] == model.left_out
    again = RNNLogic(tiny_config()).fit(family(), tmp_path / "run", verbose=False)
    assert again.left_out == model.left_out
    assert np.array_equal(again.learned.weights, model.learned.weights)


def test_a_resumed_fit_keeps_what_was_decided(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Run, "finish", lambda *_: (_ for _ in ()).throw(StopError))
        with pytest.raises(StopError):
            RNNLogic(tiny_config()).fit(family(), tmp_path / "run", max_minutes=1e-6, verbose=False)
    cut = Run.open(tmp_path / "run").load("full")
    resumed = RNNLogic(tiny_config()).fit(family(), tmp_path / "run", verbose=False)
    assert np.array_equal(resumed.learned.weights, cut["weights"])
    assert "generator" in resumed.left_out


def test_nothing_is_learned_for_relations_without_training_facts(tmp_path):
    facts = family_facts()
    splits = {"train": facts[9:], "valid": facts[:9], "test": [("grandpa0", "knows", "grandma0")]}
    for split, rows in splits.items():
        (tmp_path / f"{split}.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    data = load_dataset(tmp_path)
    assert data.without_training_facts() == ["knows"]
    model = RNNLogic(tiny_config()).fit(data, verbose=False)
    knows = data.vocab.relation_id("knows")
    assert not set(model.learned.rules.heads.tolist()) & {knows, data.vocab.inverse(knows)}


def test_a_pickled_model_answers_the_same(stopped):
    other = pickle.loads(pickle.dumps(stopped))
    assert other.predict("grandpa0", "parent") == stopped.predict("grandpa0", "parent")


def test_results_become_frames(stopped):
    answers = stopped.predict(tail="child0_0", relation="parent")
    assert answers == stopped.predict("child0_0", "parent^-1")
    assert answers.to_pandas()["entity"].tolist() == [answer.entity for answer in answers]
    assert stopped.rules().to_polars().columns[:3] == ["relation", "text", "weight"]
    assert len(stopped.explain("grandpa0", "parent", "child0_0").to_pandas())
    assert list(stopped.complete("parent", most=2).to_polars()["relation"]) == ["parent"] * 2
    with pytest.raises(RNNLogicError, match="either head or tail"):
        stopped.predict("grandpa0", "parent", tail="child0_0")


def test_relations_that_mining_had_no_time_for_keep_the_first_rules():
    seen = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (2,)), Chain(3, (1, 1))])
    mined = RuleSet.from_rules([Chain(0, (4,))])
    assert list(with_first_rules(pack_rules(seen), mined)) == [Chain(0, (4,)), Chain(3, (1, 1))]
    assert with_first_rules(None, mined) == mined
