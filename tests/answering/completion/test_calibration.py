"""Calibration: on validation facts, without a look at test facts, and for all questions there are."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.answering.completion import calibration as module
from rnnlogic.answering.completion.calibration import calibrate
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from tests.family import family, given_rules


def silent(stage, done, total, note):
    pass


def scorer_for(dataset):
    learned = given_rules(dataset)
    return RuleScorer(learned.rules, learned.weights, learned.feature, threads=1)


def test_test_facts_are_not_looked_at():
    data = family()
    ours = calibrate(data, scorer_for(data), silent)
    free = np.random.default_rng(0).integers(0, 3, data.test.shape).astype(np.int32)
    other = replace(data, test=free)
    theirs = calibrate(other, scorer_for(other), silent)
    assert ours.as_dict() == theirs.as_dict()
    np.testing.assert_array_equal(ours.both_ways.weights, theirs.both_ways.weights)
    assert ours.share == len(data.valid) / (len(data.valid) + len(data.test))
    assert 0 < ours.facts <= ours.valid == len(data.valid)


def test_weights_stand_for_all_questions_and_facts(monkeypatch):
    data = family()
    scorer, graph = scorer_for(data), data.graph("train")
    monkeypatch.setattr(module, "QUESTIONS", 10**6)
    monkeypatch.setattr(module, "LIKELY", 10**6)
    every = module._sample(graph, scorer, data.valid, np.random.default_rng(0), silent).sample
    assert set(every.weight.tolist()) == {1.0}
    monkeypatch.setattr(module, "QUESTIONS", 60)
    monkeypatch.setattr(module, "LIKELY", 1.0)
    monkeypatch.setattr(module, "FACTS", 1)
    monkeypatch.setattr(module, "OTHERS", 1.0)
    totals = []
    for seed in range(60):
        part = module._sample(graph, scorer, data.valid, np.random.default_rng(seed), silent).sample
        assert len(part) < len(every)
        assert part.is_found.sum() == every.is_found.sum()
        totals.append(part.weight.sum())
    error = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - len(every)) < 4 * error


def test_the_second_sample_stands_for_the_first(monkeypatch):
    data = family()
    scorer, graph = scorer_for(data), data.graph("train")
    rows = module._sample(graph, scorer, data.valid, np.random.default_rng(0), silent).sample
    model = module.fit_probability(rows, 0.5, 3)
    monkeypatch.setattr(module, "SECOND_LOOK", 20)
    parts = [module._thinned(rows, model, np.random.default_rng(seed))[1] for seed in range(200)]
    totals = [float(part.weight.sum()) for part in parts]
    assert max(len(part) for part in parts) < len(rows)
    assert abs(np.mean(totals) - rows.weight.sum()) < 4 * np.std(totals) / np.sqrt(len(totals))


def test_without_validation_facts_it_says_what_to_do():
    data = family()
    none = replace(data, valid=data.valid[:0])
    with pytest.raises(RNNLogicError, match="has no validation facts"):
        calibrate(none, scorer_for(none), silent)
    useless = RuleScorer(RuleSet.from_text("married <- parent & parent & parent", data.vocab), np.ones(1))
    with pytest.raises(RNNLogicError, match="rules reach none of its"):
        calibrate(data, useless, silent)


def test_the_same_seed_and_any_number_of_threads_give_the_same():
    data = family()
    learned = given_rules(data)
    scorers = [RuleScorer(learned.rules, learned.weights, "log1p", threads=n) for n in (1, 3)]
    one, three = (calibrate(data, scorer, silent, seed=4) for scorer in scorers)
    assert one.as_dict() == three.as_dict()
    np.testing.assert_array_equal(one.both_ways.weights, three.both_ways.weights)
