"""Logistic regression without false examples, checked against a truth that is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from rnnlogic.calibrate.probability import (
    AS_THEY_ARE,
    Columns,
    Rows,
    _loss,
    fit_probability,
    held_out_logits,
    recalibration,
    reliability,
    reliability_of_cases,
    stretched,
)


def synthetic(share: float, number: int = 20_000, seed: int = 0):
    """Cases, proposals, the true probabilities of the proposals, and which are true.

    Only a share of the true facts is among the cases, and each stands for 1/share facts.
    """
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(number, 3)) * [1.0, 5.0, 0.1] + [2.0, 0.0, -1.0]
    relation = rng.integers(0, 4, number)
    offsets = np.array([-1.0, 0.0, 0.5, -2.0])
    p = expit(features @ [1.0, -0.3, 4.0] + offsets[relation] - 1.0)
    is_true = rng.random(number) < p
    is_case = is_true & (rng.random(number) < share)
    cases = Rows(features[is_case], relation[is_case], np.full(is_case.sum(), 1 / share))
    return cases, Rows(features, relation, np.ones(number)), p, is_true


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_truth_is_recovered_from_a_share_of_it(share):
    cases, proposals, truth, is_true = synthetic(share)
    model = fit_probability(cases, proposals, 4)
    found = model.probabilities(proposals.features, proposals.relation)
    assert np.abs(found - truth).mean() < 0.02
    assert reliability(found, is_true.astype(float), proposals.weight).error < 0.03


def test_a_sample_of_proposals_that_stands_for_all_does_as_well():
    cases, proposals, truth, _ = synthetic(0.5)
    chance = np.clip(truth, 0.1, 1)
    kept = np.random.default_rng(1).random(len(truth)) < chance
    sample = Rows(proposals.features[kept], proposals.relation[kept], 1 / chance[kept])
    found = fit_probability(cases, sample, 4).probabilities(proposals.features, proposals.relation)
    assert np.abs(found - truth).mean() < 0.02


def test_as_many_are_expected_to_be_true_as_are_missing():
    cases, proposals, _, _ = synthetic(0.5)
    found = fit_probability(cases, proposals, 4).probabilities(proposals.features, proposals.relation)
    for relation in range(4):
        missing = cases.weight[cases.relation == relation].sum()
        assert found[proposals.relation == relation].sum() == pytest.approx(missing, rel=0.1)


@pytest.mark.parametrize(("cases", "proposals"), [(0, 0), (0, 5), (5, 0)])
def test_without_cases_or_proposals_there_is_a_model_all_the_same(cases, proposals):
    rows = [Rows(np.ones((n, 2)), np.zeros(n, int), np.ones(n)) for n in (cases, proposals)]
    found = fit_probability(*rows, 1, Columns((0,))).probabilities(np.ones((1, 2)), 0)
    assert np.isfinite(found).all()
    assert (found[0] < 0.01) == (cases == 0)


def checked(cases, proposals, num_relations):
    groups = np.arange(len(cases)), np.arange(len(proposals))
    of_cases, of_all = (expit(z) for z in held_out_logits(cases, proposals, groups, num_relations))
    return reliability_of_cases(of_cases, cases.weight, of_all, proposals.weight)


def test_reliability_is_measured_on_facts_that_were_left_out():
    cases, proposals, _, _ = synthetic(0.3, 6000)
    assert checked(cases, proposals, 4).error < 0.08
    rng = np.random.default_rng(1)
    noise = [Rows(rng.normal(size=(n, 30)), np.zeros(n, int), np.ones(n)) for n in (30, 60)]
    model = fit_probability(*noise, 1)
    assert model.probabilities(noise[0].features, 0).mean() > 0.7  # learned by heart
    assert checked(*noise, 1).error > 0.15


def test_some_features_never_make_a_fact_more_probable():
    cases, proposals, _, _ = synthetic(1.0)
    free, held = (
        fit_probability(cases, proposals, 4, columns) for columns in (Columns(), Columns((), (0, 1)))
    )
    assert free.weights[0] > 0 > free.weights[1]
    assert held.weights[0] == 0 > held.weights[1]


def test_logits_that_are_off_are_set_right():
    _, _, truth, is_true = synthetic(0.5)
    right = np.log(truth / (1 - truth))
    is_case = np.random.default_rng(2).random(len(truth)) < 0.5
    is_case &= is_true
    wrong = 1.5 * right + 1.0
    weight = np.full(is_case.sum(), 2.0)
    found = recalibration(wrong[is_case], weight, wrong, np.ones(len(wrong)))
    some = np.linspace(-2, 3, 11)
    assert expit(stretched(some, found)) == pytest.approx(expit((some - 1) / 1.5), abs=0.06)
    nothing = recalibration(np.empty(0), np.empty(0), wrong, np.ones(len(wrong)))
    assert nothing.tolist() == AS_THEY_ARE.tolist()


@given(
    st.lists(st.floats(-8, 8), min_size=2, max_size=6), st.lists(st.floats(0.1, 3), min_size=2, max_size=2)
)
def test_a_stretch_keeps_the_order_and_one_of_ones_changes_nothing(logits, factors):
    z = np.sort(np.array(logits))
    assert stretched(z, AS_THEY_ARE) == pytest.approx(z)
    assert (np.diff(stretched(z, np.array([*factors, -1.0]))) >= -1e-12).all()
    assert stretched(z, np.array([2.0, 2.0, 1.0])) == pytest.approx(2 * z + 1)


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=6), st.integers(0, 6))
def test_the_slope_of_the_loss(logits, cases):
    z = np.array(logits)
    is_case = np.arange(len(z)) < cases
    weight = np.linspace(1, 3, len(z))
    value, slope = _loss(z, cases, weight)
    p = 1 / (1 + np.exp(-z))
    by_hand = -(weight * np.log(np.where(is_case, p / (1 + p), 1 / (1 + p)))).sum()
    assert value == pytest.approx(by_hand, rel=1e-6, abs=1e-9)
    for i in range(len(z)):
        step = np.zeros(len(z))
        step[i] = 1e-5
        change = (_loss(z + step, cases, weight)[0] - _loss(z - step, cases, weight)[0]) / 2e-5
        assert slope[i] == pytest.approx(change, rel=1e-3, abs=1e-6)


@given(st.integers(0, 10**6))
def test_bins_by_hand(seed):
    rng = np.random.default_rng(seed)
    p, true, weight = rng.random(50), rng.integers(0, 2, 50).astype(float), rng.uniform(1, 2, 50)
    p[:2] = 0.0, 1.0
    found = reliability(p, true, weight)
    error, counted = 0.0, 0.0
    for one in found.bins:
        rows = [i for i in range(50) if one.low <= p[i] < one.high or (one.high == 1.0 and p[i] == 1.0)]
        total = sum(weight[i] for i in rows)
        assert one.facts == pytest.approx(total)
        predicted, observed = (sum(weight[i] * v[i] for i in rows) / total for v in (p, true))
        assert (one.predicted, one.observed) == pytest.approx((predicted, observed))
        if one.low >= 0.1:
            error, counted = error + total * abs(predicted - observed), counted + total
    assert sum(one.facts for one in found.bins) == pytest.approx(weight.sum())
    assert found.error == pytest.approx(error / counted)
    assert [row["facts"] for row in found.table()] == [round(one.facts) for one in found.bins]


def test_beyond_nearly_all_cases_a_score_says_no_more():
    cases, proposals, _, _ = synthetic(0.5)
    model = fit_probability(cases, proposals, 4, Columns((0,)))
    highest = np.quantile(cases.features[:, 0], 0.9)
    rows = np.array([[highest - 1, 0.0, -1.0], [highest, 0.0, -1.0], [highest + 100, 9.0, -1.0]])
    low, top, above = model.probabilities(rows, 0)
    assert low < top
    assert above < top  # the second feature still counts, and against it
    rows[2, 1] = 0.0
    assert model.probabilities(rows, 0)[2] == pytest.approx(top)
