"""Every kernel against its plain-Python twin on random input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.embeddings import kernels, reference

few = settings(max_examples=40)
dims, sizes, numbers, seeds = st.integers(1, 9), st.integers(1, 7), st.integers(1, 21), st.integers(0, 999)


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def both(name, *arguments):
    """Results and changed arguments of the kernel and of its twin."""
    outcomes = []
    for module in (kernels, reference):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        outcomes.append([getattr(module, name)(*copies), *copies])
    return outcomes


def assert_same(name, *arguments):
    ours, expected = both(name, *arguments)
    for a, b in zip(ours, expected, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@few
@given(dims, sizes, numbers, seeds)
def test_turning(dim, relations, number, seed):
    rng = np.random.default_rng(seed)
    table = floats(rng, 8, 2 * dim)
    heads = rng.integers(8, size=number).astype(np.int32)
    turns = rng.integers(relations, size=number).astype(np.int32)
    angles = floats(rng, relations, dim)
    sign = rng.choice([-1, 1], number).astype(np.float32)
    turning = (turns, sign, np.cos(angles), np.sin(angles))
    turned, gradient = floats(rng, number, 2 * dim), floats(rng, number, 2 * dim)
    assert_same("turn_rows", table, heads, *turning, turned)
    assert_same("turn_gradients_back", turned, *turning, gradient, floats(rng, number, dim))


@few
@given(dims, sizes, numbers, seeds)
def test_distances_and_gradients(dim, size, number, seed):
    rng = np.random.default_rng(seed)
    queries, others = floats(rng, 2 * dim, size + 2), floats(rng, 2 * dim, number + 3)
    others[:, 0] = queries[:, 0]  # no distance, no direction
    answers, slope = floats(rng, 2 * dim, size + 2), floats(rng, size, number + 3)
    query_gradient, other_gradient = np.zeros_like(queries), np.zeros_like(others)
    assert_same("add_distances", queries, others, number, slope)
    assert_same("pair_distances", queries, answers, size)
    assert_same("pair_gradients", queries, answers, slope[:, 0].copy(), query_gradient)
    assert_same("add_gradients", queries, others, number, slope, query_gradient, other_gradient)


@few
@given(sizes, numbers, seeds, st.floats(0, 3), st.floats(0.1, 12))
def test_contrast(size, number, seed, temperature, margin):
    rng = np.random.default_rng(seed)
    distance = rng.uniform(0, 20, (size, number + 2)).astype(np.float32)
    distance[rng.random(distance.shape) < 0.2] = kernels.FAR
    near, weights = np.abs(floats(rng, size)) * 10, np.abs(floats(rng, size))
    assert_same("contrast", near, distance, number, weights, margin, temperature)


def test_a_query_without_negatives_learns_from_its_answer_only():
    near, distance = np.array([5], np.float32), np.full((1, 3), kernels.FAR)
    loss = kernels.contrast(near, distance, 3, np.ones(1, np.float32), 5.0, 1.0)
    assert loss == pytest.approx(np.log(2) / 2)
    assert near[0] == pytest.approx(0.25)
    assert distance == pytest.approx(0, abs=1e-30)


@few
@given(numbers, seeds)
def test_known_answers_are_left_out(number, seed):
    rng = np.random.default_rng(seed)
    row_edges = np.concatenate([[0], np.sort(rng.integers(0, 30, 4)), [30]])
    tails = rng.integers(0, 25, 30).astype(np.int32)
    negatives = rng.permutation(25)[:number].astype(np.int32)
    place = np.full(25, -1, np.int32)
    assert_same(
        "leave_out_known", row_edges, tails, rng.integers(0, 5, 6), negatives, place, floats(rng, 6, number)
    )


@few
@given(dims, sizes, seeds)
def test_adam(width, number, seed):
    rng = np.random.default_rng(seed)
    table = (floats(rng, 9, width), floats(rng, 9, width), np.abs(floats(rng, 9, width)) + 0.01)
    updates, rows = rng.integers(0, 50, 9).astype(np.int32), rng.permutation(9)[:number].astype(np.int32)
    starts = np.cumsum([0, *rng.integers(1, 4, number)])
    order, gradients = rng.permutation(starts[-1]), floats(rng, starts[-1], width)
    results = []
    for module in (kernels, reference):
        copies = kernels.Table(*(array.copy() for array in (*table, updates)))
        module.adam_rows(copies, rows, starts, order, gradients, 0.1)
        results.append(copies)
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=2e-6)
