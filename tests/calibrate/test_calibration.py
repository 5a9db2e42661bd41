"""The calibration of a model: on facts it has not seen, honest about evidence, kept as arrays and JSON."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.base.types import silent
from rnnlogic.calibrate.calibration import (
    EVIDENCES,
    calibrate,
    cases_for,
    pack_calibration,
    unpack_calibration,
)
from rnnlogic.calibrate.level import HIGHEST
from rnnlogic.data.dataset import load_dataset
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers import calibration as oracles
from tests.helpers.family import family, family_facts, given_rules


def scorer_for(dataset, threads=1):
    learned = given_rules(dataset)
    return RuleScorer(learned.rules, learned.weights, learned.feature, threads)


@pytest.fixture(scope="module")
def data():
    return family()


@pytest.fixture(scope="module")
def calibration(data):
    return calibrate(data, scorer_for(data), silent)


def same(one, other):
    packed = [pack_calibration(calibration) for calibration in (one, other)]
    assert packed[0][1] == packed[1][1]
    for name, array in packed[0][0].items():
        np.testing.assert_array_equal(array, packed[1][0][name])


def test_test_facts_are_not_looked_at(data, calibration):
    free = np.random.default_rng(0).integers(0, 3, data.test.shape).astype(np.int32)
    for evidence in ("train", "train+valid"):
        other = replace(data, test=free)
        ours = calibrate(data, scorer_for(data), silent, evidences=[evidence])
        same(ours, calibrate(other, scorer_for(other), silent, evidences=[evidence]))


def test_what_is_missing_depends_on_the_evidence(data):
    held_back = len(data.valid) + len(data.test)
    everything = len(data.train) + held_back
    for evidence, number, missing, origin in (
        ("train", len(data.valid), held_back, "counted"),
        ("train+valid", len(data.valid), len(data.test), "counted"),
        ("all", held_back, round(everything / 10), "estimated"),
    ):
        facts, basis = cases_for(data, evidence)
        assert (len(facts), basis.missing, basis.origin) == (number, missing, origin)
    assert cases_for(data, "all", 7)[1].missing == 7
    assert cases_for(data, "all", 0.5)[1].missing == round(everything / 2)
    assert cases_for(data, "train", 7)[1].origin == "given"


@pytest.mark.parametrize("evidence", ["train", "train+valid"])
def test_as_many_facts_are_expected_as_were_held_back(evidence):
    data = load_dataset(family_facts(30), ratios=(60, 20, 20), name="large family")
    learned, graph = given_rules(data), data.graph(evidence)
    wrong = RuleSet.from_text("parent <- grandparent\nmarried <- parent", data.vocab)
    rules = RuleSet.from_rules([*learned.rules, *wrong])
    scorer = RuleScorer(rules, np.append(learned.weights, [0.6, 0.5]), learned.feature, 1)
    level = calibrate(data, scorer, silent, evidences=[evidence]).levels[evidence]
    held_back = [data.test] if evidence == "train+valid" else [data.valid, data.test]
    true = set(map(tuple, np.concatenate(held_back).tolist()))
    proposed = set()
    for relation in range(2 * graph.num_relations):
        scores = scorer.score(graph, np.arange(graph.num_entities), np.full(graph.num_entities, relation))
        for head, tail in np.argwhere(scores > -np.inf).tolist():
            ends = (head, tail) if relation < graph.num_relations else (tail, head)
            fact = ends[0], relation % graph.num_relations, ends[1]
            if not graph.has(*fact):
                proposed.add(fact)
    facts = np.array(sorted(proposed))
    probability = level.probabilities(graph, scorer, facts)
    is_true = np.array([tuple(fact) in true for fact in facts.tolist()])
    assert is_true.sum() > 30
    assert probability.sum() == pytest.approx(is_true.sum(), rel=0.25)
    assert probability[is_true].mean() > probability[~is_true].mean() + 0.3


@pytest.mark.parametrize("seed", range(6))
def test_probabilities_of_facts_known_and_new_either_way_round(seed):
    graph, scorer = oracles.random_case(seed)
    level = oracles.random_level(seed, 2)
    facts = np.array([(h, r, t) for h in range(7) for r in range(2) for t in range(7)])
    found = level.probabilities(graph, scorer, facts)
    expected = [oracles.probability(graph, scorer, level, *fact) for fact in facts.tolist()]
    assert found.tolist() == pytest.approx(expected)
    back = np.stack([facts[:, 2], facts[:, 1] + 2, facts[:, 0]], axis=1)
    assert level.probabilities(graph, scorer, back).tolist() == found.tolist()
    alone = [level.probabilities(graph, scorer, fact)[0] for fact in facts[:20]]
    assert alone == found[:20].tolist()  # to the last digit, in whatever company
    assert found.max() <= 8 / 9  # seven cases were reached: the rule of succession


def test_nothing_is_certain(data, calibration):
    facts = np.concatenate([data.train, data.valid, data.test])
    for evidence in EVIDENCES:
        level = calibration.levels[evidence]
        found = level.probabilities(data.graph(evidence), scorer_for(data), facts)
        assert 0.5 < found.max() <= level.highest <= HIGHEST < 1
        assert found.min() >= 0


def test_sentences_say_what_was_measured_and_what_is_assumed(data, calibration):
    held_out = len(data.valid) + len(data.test)
    assert f"(train): {held_out}, which are held out. Measured on" in calibration.sentence("train")
    unseen = f"{len(data.valid)} validation facts, which the rules have not seen"
    assert unseen in calibration.sentence("train")
    assert f"{len(data.test)}, which are held out" in calibration.sentence("train+valid")
    assert "each hidden in turn" in calibration.sentence("train+valid")
    assert "This is an estimate" in calibration.sentence("all")
    for evidence in EVIDENCES:
        assert f"({evidence})" in calibration.sentence(evidence)
        is_counted = evidence != "all"
        assert ("calibration error" in calibration.sentence(evidence)) == is_counted
        rows = calibration.as_dict()[evidence]["reliability"]
        assert all(("observed" in row) == is_counted for row in rows)


def test_it_is_kept_as_arrays_and_json(calibration, data):
    arrays, about = pack_calibration(calibration)
    back = unpack_calibration(arrays, json.loads(json.dumps(about)), data.vocab.num_relations)
    same(back, calibration)
    assert back.as_dict() == calibration.as_dict()
    assert unpack_calibration(arrays, about | {"format": 0}, 1) is None


def test_without_validation_facts_training_facts_are_hidden(data):
    bare = replace(data, valid=data.valid[:0], test=data.test[:0])
    for evidence in EVIDENCES:
        level = calibrate(bare, scorer_for(bare), silent, evidences=[evidence]).levels[evidence]
        assert level.basis.origin == "estimated"
        assert "training facts" in level.sentence()
        assert "too high" in level.sentence()


def test_rules_that_reach_nothing_give_no_hope(data):
    useless = RuleScorer(RuleSet.from_text("married <- parent & parent & parent", data.vocab), np.ones(1))
    level = calibrate(data, useless, silent, evidences=["train"]).levels["train"]
    assert (level.reached, level.cases) == (0, len(data.valid))
    missing = len(data.valid) + len(data.test)
    expected = missing / (data.vocab.num_entities**2 * data.vocab.num_relations)
    assert level.probabilities(data.graph("train"), useless, data.valid) == pytest.approx(expected)


def test_the_same_seed_and_any_number_of_threads_give_the_same(data):
    one, three = (
        calibrate(data, scorer_for(data, threads), silent, seed=4, evidences=["train"]) for threads in (1, 3)
    )
    same(one, three)
