"""How many facts are missing: bounds by hidden facts and proposals, relation by relation."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import silent
from rnnlogic.calibrate.calibration import calibrate
from rnnlogic.calibrate.missing import Scored, estimated_missing, number_given, parsed_missing
from rnnlogic.calibrate.probability import (
    ProbabilityModel,
    Rows,
    relation_shifts,
)
from rnnlogic.data.dataset import load_dataset
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from tests.helpers.family import family_facts, given_rules


def scored(logits, relation):
    return Scored(np.array(logits, float), np.array(relation, int), np.ones(len(logits)))


def drawn(random, known, hidden, missing, false):
    """Hidden facts and proposals of one relation: missing facts score as hidden ones do, false ones lower."""
    cases = random.normal(3, 1, hidden)
    others = np.concatenate([random.normal(3, 1, missing), random.normal(-3, 1, false)])
    return cases, others, known


@pytest.mark.parametrize("missing", [0, 50, 200])
def test_gaps_are_estimated_and_full_relations_have_none(missing):
    random = np.random.default_rng(missing)
    with_gaps, full = drawn(random, 1000, 300, missing, 3000), drawn(random, 1000, 300, 0, 3000)
    hidden = scored(np.concatenate([with_gaps[0], full[0]]), [0] * 300 + [1] * 300)
    proposals = scored(np.concatenate([with_gaps[1], full[1]]), [0] * len(with_gaps[1]) + [1] * len(full[1]))
    found = estimated_missing(hidden, proposals, np.array([300, 300]), np.array([1000, 1000]))
    assert found[1] < 5
    if missing:
        assert 0.4 * missing < found[0] < 1.1 * missing
    else:
        assert found[0] < 5


def test_a_relation_with_few_facts_stays_with_the_whole():
    random = np.random.default_rng(0)
    many = drawn(random, 2000, 600, 0, 3000)
    hidden = scored(np.append(many[0], -3.0), [0] * 600 + [1])
    proposals = scored(np.append(many[1], random.normal(-2, 1, 1000)), [0] * 3000 + [1] * 1000)
    found = estimated_missing(hidden, proposals, np.array([600, 1]), np.array([2000, 3]))
    assert found[1] < 3  # its own bound is about a thousand


def test_nothing_reached_is_no_estimate():
    nothing = scored([], [])
    assert estimated_missing(nothing, nothing, np.array([3, 0]), np.array([10, 0])).tolist() == [0, 0]


def test_what_users_write():
    assert parsed_missing(None) is None
    assert parsed_missing("120") == 120
    assert parsed_missing("0.05") == parsed_missing("5%") == pytest.approx(0.05)
    assert (number_given(0.05, 200), number_given(7, 200), number_given(0, 200)) == (10, 7, 0)
    for wrong in ("many", "-3", "nan", "200%"):
        with pytest.raises(RNNLogicError, match="share"):
            parsed_missing(wrong)


def test_shifts_bring_each_relation_to_its_own_number():
    """Two relations with the same features: of one most probable facts are true, of the other few."""
    ones = np.ones((100, 1))
    proposals = Rows(np.concatenate([ones, ones]), np.repeat([0, 1], 100), np.ones(200))
    cases = Rows(np.ones((100, 1)), np.repeat([0, 1], [80, 20]), np.ones(100))
    model = ProbabilityModel(np.full(1, np.inf), np.zeros(1), np.ones(1), np.zeros(1), np.zeros(2), 0.0)
    shifts = relation_shifts(cases, proposals, model)
    chances = 1 / (1 + np.exp(-shifts))
    assert 0.7 < chances[0] < 0.8  # drawn towards the whole
    assert 0.2 < chances[1] < 0.3
    few = Rows(np.ones((2, 1)), np.array([0, 0]), np.ones(2))
    some = Rows(np.ones((2, 1)), np.array([0, 0]), np.ones(2))
    assert relation_shifts(few, some, model)[0] < 1.5  # two cases move it little


@pytest.mark.parametrize("gap", [0.0, 0.15])
def test_a_family_with_gaps_and_one_without(gap):
    facts = family_facts(30)
    gone = np.random.default_rng(1).random(len(facts)) < gap
    kept = [fact for fact, is_gone in zip(facts, gone, strict=True) if not is_gone]
    data = load_dataset(kept, ratios=(60, 20, 20), name="large family")
    learned = given_rules(data)
    scorer = RuleScorer(learned.rules, learned.weights, learned.feature, 1)
    level = calibrate(data, scorer, silent, evidences=["all"]).levels["all"]
    if gap:
        assert 0.3 * gone.sum() < level.basis.missing < 1.7 * gone.sum()
    else:
        assert level.basis.missing <= 0.02 * len(facts)
    told = calibrate(data, scorer, silent, evidences=["all"], missing=40).levels["all"]
    assert (told.basis.missing, told.basis.origin) == (40, "given")
    assert "as you said" in told.sentence()


@pytest.mark.parametrize("relation", ["grandparent", "parent"])
def test_gaps_of_one_relation_are_noticed(relation):
    facts = family_facts(30)
    luck = np.random.default_rng(1).random(len(facts))
    gone = [fact for fact, lot in zip(facts, luck, strict=True) if lot < 1 / 7 and fact[1] == relation]
    data = load_dataset([fact for fact in facts if fact not in gone], ratios=(60, 20, 20), name="family")
    learned = given_rules(data)
    scorer = RuleScorer(learned.rules, learned.weights, learned.feature, 1)
    level = calibrate(data, scorer, silent, evidences=["all"]).levels["all"]
    assert 0.25 * len(gone) < level.basis.missing < 1.2 * len(gone)


def test_a_relation_whose_hidden_facts_look_like_all_proposals_says_nothing():
    random = np.random.default_rng(0)
    sure = drawn(random, 1000, 300, 30, 3000)
    hidden = scored(np.append(sure[0], random.normal(0, 1, 40)), [0] * 300 + [1] * 40)
    proposals = scored(np.append(sure[1], random.normal(0, 1, 9000)), [0] * 3030 + [1] * 9000)
    found = estimated_missing(hidden, proposals, np.array([300, 40]), np.array([1000, 150]))
    assert found[1] < 15  # its own bound is in the thousands
