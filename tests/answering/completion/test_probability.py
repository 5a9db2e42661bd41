"""Probabilities: fitted to what was found of the truth, checked against the truth itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.answering.completion.probability import (
    Sample,
    _loss,
    cross_validated,
    fit_probability,
    reliability,
    sigmoid,
)


def synthetic(share: float, number: int = 20_000, seed: int = 0):
    """A sample whose true probabilities are known, of which only a share of the true facts was found."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(number, 3)) * [1.0, 5.0, 0.1] + [2.0, 0.0, -1.0]
    relation = rng.integers(0, 4, number)
    offsets = np.array([-1.0, 0.0, 0.5, -2.0])
    p = 1 / (1 + np.exp(-(features @ [1.0, -0.3, 4.0] + offsets[relation] + 1.0)))
    is_true = rng.random(number) < p
    is_found = is_true & (rng.random(number) < share)
    weight = rng.choice([1.0, 3.0], number)
    return Sample(features, relation, is_found, weight, np.arange(number)), p, is_true


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_truth_is_recovered_from_a_share_of_it(share):
    sample, truth, is_true = synthetic(share)
    model = fit_probability(sample, share, 4)
    found = model.probabilities(sample.features, sample.relation)
    assert np.abs(found - truth).mean() < (0.01 if share == 1 else 0.03)
    assert reliability(found, is_true.astype(float), sample.weight).error < 0.03


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_reliability_is_measured_on_facts_that_were_left_out(share):
    sample, _, _ = synthetic(share, 6000)
    assert cross_validated(sample, share, 4).error < 0.06
    noise = Sample(
        np.random.default_rng(1).normal(size=(60, 30)),
        np.zeros(60, int),
        np.arange(60) % 2 == 0,
        np.ones(60),
        np.arange(60),
    )
    model = fit_probability(noise, 1.0, 1)
    on_itself = reliability(
        model.probabilities(noise.features, 0), noise.is_found.astype(float), noise.weight
    )
    assert cross_validated(noise, 1.0, 1).error > on_itself.error + 0.1


@given(st.floats(0.05, 1.0), st.lists(st.floats(-8, 8), min_size=1, max_size=6), st.integers(0, 2**6 - 1))
def test_the_slope_of_the_loss(share, logits, found):
    z = np.array(logits)
    is_found = np.array([bool(found >> i & 1) for i in range(len(z))])
    weight = np.linspace(1, 3, len(z))
    sample = Sample(z[:, None], np.zeros(len(z), int), is_found, weight, np.zeros(len(z), int))
    value, slope = _loss(z, sample, share)
    p = 1 / (1 + np.exp(-z))
    by_hand = -(weight * np.where(is_found, np.log(share * p), np.log(1 - share * p))).sum()
    assert value == pytest.approx(by_hand, rel=1e-6, abs=1e-9)
    for i in range(len(z)):
        step = np.zeros(len(z))
        step[i] = 1e-5
        change = (_loss(z + step, sample, share)[0] - _loss(z - step, sample, share)[0]) / 2e-5
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


def test_beyond_the_facts_found_a_score_says_no_more():
    sample, _, _ = synthetic(0.5)
    model = fit_probability(sample, 0.5, 4, limited=[0])
    highest = np.quantile(sample.features[sample.is_found, 0], 0.9)
    rows = np.array([[highest - 1, 0.0, -1.0], [highest, 0.0, -1.0], [highest + 100, 9.0, -1.0]])
    low, top, above = model.probabilities(rows, 0)
    assert low < top
    assert above < top  # the second feature still counts, and against it
    rows[2, 1] = 0.0
    assert model.probabilities(rows, 0)[2] == pytest.approx(top)


def test_sigmoid_without_overflow():
    assert sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist() == [0.0, 0.5, 1.0]
