"""Every kernel of the learner against its plain-Python twin, and the gradient against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.predictors.loglinear import kernels, reference
from tests.predictors.loglinear.conftest import NUM_RULES, problems

weights = st.lists(st.floats(-2, 2), min_size=NUM_RULES, max_size=NUM_RULES).map(np.array)
numbers = st.integers(1, NUM_RULES)
many = settings(max_examples=80, deadline=None)


@many
@given(problem=problems(), psi=weights)
def test_loss_and_gradient(problem, psi):
    loss, gradient = kernels.loss_and_gradient(*problem.examples, psi)
    expected_loss, expected_gradient = reference.loss_and_gradient(*problem.examples, psi)
    assert loss == pytest.approx(expected_loss, abs=1e-9)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9)


@many
@given(problem=problems(), psi=weights)
def test_gradient_is_the_slope_of_the_loss(problem, psi):
    _, gradient = kernels.loss_and_gradient(*problem.examples, psi)
    for k in range(NUM_RULES):
        step = np.zeros(NUM_RULES)
        step[k] = 1e-5
        rise = kernels.loss_and_gradient(*problem.examples, psi + step)[0]
        fall = kernels.loss_and_gradient(*problem.examples, psi - step)[0]
        assert gradient[k] == pytest.approx((rise - fall) / 2e-5, abs=1e-4)


@many
@given(problem=problems(), psi=weights, prior=weights, number=numbers, seed=st.integers(0, 99))
def test_selection_and_reward(problem, psi, prior, number, seed):
    draws = np.random.default_rng(seed).random(problem.num_queries * number)
    for uniform in (draws, draws[:0]):
        args = (*problem.examples, psi, prior, number, uniform)
        np.testing.assert_array_equal(kernels.select_rules(*args), reference.select_rules(*args))
    args = (*problem.examples, psi, prior, number, draws)
    np.testing.assert_allclose(kernels.reward_samples(*args), reference.reward_samples(*args), atol=1e-9)


@many
@given(problem=problems())
def test_margins(problem):
    for q in range(problem.num_queries):
        args = (problem.query_ptr[q], problem.query_ptr[q + 1], *problem.examples[1:], NUM_RULES)
        reached, margin = kernels.rule_margins(*args)
        expected_reached, expected_margin = reference.rule_margins(*args)
        assert reached == expected_reached
        np.testing.assert_allclose(margin, expected_margin, atol=1e-6)
