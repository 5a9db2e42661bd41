"""Every kernel of the learner against its plain-Python twin, and the gradient against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.features import kernels as ops
from rnnlogic.features import reference as plain_ops
from rnnlogic.features.table import NO_VALUES
from rnnlogic.predictors.loglinear import kernels, reference
from tests.helpers.problems import NUM_RULES, problems

weights = st.lists(st.floats(-2, 2), min_size=NUM_RULES, max_size=NUM_RULES).map(np.array)
numbers = st.integers(1, NUM_RULES)
many = settings(max_examples=40, deadline=None)


@many
@given(problem=problems(), psi=weights)
def test_loss_and_gradient(problem, psi):
    loss, gradient = kernels.loss_and_gradient(problem.examples, problem.multiplicity, psi)
    expected_loss, expected_gradient = reference.loss_and_gradient(
        problem.examples, problem.multiplicity, psi
    )
    assert loss == pytest.approx(expected_loss, abs=1e-9)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9)


@many
@given(problem=problems(), psi=weights)
def test_queries_count_by_their_importance(problem, psi):
    worth = np.arange(problem.num_queries) / 2
    args = problem.examples, problem.multiplicity, psi
    found = kernels.loss_and_gradient(*args, worth)
    expected = reference.loss_and_gradient(*args, worth)
    assert found[0] == pytest.approx(expected[0], abs=1e-9)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-9)
    ones, none = kernels.loss_and_gradient(*args, np.ones(len(worth))), kernels.loss_and_gradient(*args)
    assert ones[0] == none[0]
    np.testing.assert_array_equal(ones[1], none[1])


@many
@given(problem=problems(), psi=weights)
def test_gradient_is_the_slope_of_the_loss(problem, psi):
    _, gradient = kernels.loss_and_gradient(problem.examples, problem.multiplicity, psi)
    for k in range(NUM_RULES):
        step = np.zeros(NUM_RULES)
        step[k] = 1e-5
        rise = kernels.loss_and_gradient(problem.examples, problem.multiplicity, psi + step)[0]
        fall = kernels.loss_and_gradient(problem.examples, problem.multiplicity, psi - step)[0]
        assert gradient[k] == pytest.approx((rise - fall) / 2e-5, abs=1e-4)


@many
@given(problem=problems(), by_value=st.lists(st.booleans(), min_size=NUM_RULES, max_size=NUM_RULES))
def test_answers_reached(problem, by_value):
    for multiplicity in (problem.multiplicity, np.arange(1, len(problem) + 1, dtype=np.float32), NO_VALUES):
        told = problem.examples, multiplicity, np.array(by_value)
        found, expected = kernels.answers_reached(*told), reference.answers_reached(*told)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)


@many
@given(problem=problems(), psi=weights, prior=weights, number=numbers, seed=st.integers(0, 99))
def test_selection_and_reward(problem, psi, prior, number, seed):
    prior = prior + 1e-3 * np.sqrt(np.arange(NUM_RULES))  # rounding decides between rules that tie but for it
    draws = np.random.default_rng(seed).random(problem.num_queries * number)
    args = (problem.examples, psi, prior, number)
    np.testing.assert_array_equal(kernels.select_rules(*args), reference.select_rules(*args))
    args = (problem.examples, psi, prior, number, draws)
    np.testing.assert_allclose(kernels.reward_samples(*args), reference.reward_samples(*args), atol=1e-9)


@many
@given(problem=problems(), number=numbers)
def test_the_first_of_equal_rules_are_selected(problem, number):
    args = (problem.examples, np.zeros(NUM_RULES), np.zeros(NUM_RULES), number)
    np.testing.assert_array_equal(kernels.select_rules(*args), reference.select_rules(*args))


@many
@given(problem=problems())
def test_margins(problem):
    for q in range(problem.num_queries):
        args = (problem.examples, q, NUM_RULES)
        reached, margin = kernels.rule_margins(*args)
        expected_reached, expected_margin = reference.rule_margins(*args)
        assert reached == expected_reached
        np.testing.assert_allclose(margin, expected_margin, atol=1e-6)


@many
@given(problem=problems(), psi=weights, most=st.integers(4, 6), seed=st.integers(0, 99))
def test_held_candidates(problem, psi, most, seed):
    rng = np.random.default_rng(seed)
    score, is_open = np.round(rng.normal(size=len(problem))), rng.random(len(problem)) < 0.8  # ties
    args = (problem.query_ptr, score, is_open, rng.random(len(problem)), most // 2, most - 1 - most // 2)
    found = kernels.held_candidates(*args)
    np.testing.assert_array_equal(found, reference.held_candidates(*args))
    multiplicity = found.astype(np.float32)
    held, column = np.flatnonzero(multiplicity), np.array([1, -1, 0, 2], np.int32)
    for found, expected in zip(
        ops.held_results(*problem.examples[1:4], held, column),
        plain_ops.held_results(*problem.examples[1:4], held, column),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    args = (problem.examples, multiplicity + np.float32(0.5), psi)
    (loss, gradient), (expected_loss, expected_gradient) = (
        kernels.loss_and_gradient(*args),
        reference.loss_and_gradient(*args),
    )
    assert loss == pytest.approx(expected_loss, abs=1e-9)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9)


@many
@given(problem=problems(), psi=weights, number=numbers)
def test_equal_candidates_are_merged_at_the_same_loss(problem, psi, number):
    examples = problem.examples._replace(value=np.round(problem.value))  # so that some are equal
    multiplicity = np.random.default_rng(number).integers(0, 3, len(problem)).astype(np.float32)
    found = kernels.merged(examples, multiplicity)
    np.testing.assert_array_equal(found, reference.merged(examples, multiplicity))
    before, after = (kernels.loss_and_gradient(examples, many, psi) for many in (multiplicity + 0, found))
    np.testing.assert_allclose(before[0], after[0], atol=1e-9)
    np.testing.assert_allclose(before[1], after[1], atol=1e-9)
