"""The kernels against their twins, and the gradient and curvature against differences, on random problems."""

from __future__ import annotations

import numpy as np
import pytest

from rnnlogic.features import kernels as ops
from rnnlogic.features import reference as plain_ops
from rnnlogic.fit.compact import kernels as solving
from rnnlogic.fit.compact import reference as plain
from rnnlogic.fit.compact.ground import _columns as columns_of
from rnnlogic.fit.compact.types import Imitation, Terms


def problem(seed: int):
    rng = np.random.default_rng(seed)
    query_ptr = np.append(0, np.cumsum(rng.integers(1, 7, 5))).astype(np.int64)
    c, k = int(query_ptr[-1]), 6
    sizes = rng.integers(0, 4, c)
    rule = np.concatenate([rng.permutation(k)[:n] for n in sizes]).astype(np.int32)
    value = np.log1p(rng.integers(1, 5, len(rule))).astype(np.float32)
    ptr = np.append(0, np.cumsum(sizes)).astype(np.int64)
    target = rng.random(c)
    return rng, query_ptr, c, k, ptr, rule, value, target


@pytest.mark.parametrize("seed", range(20))
def test_twins(seed: int) -> None:
    rng, query_ptr, c, k, ptr, rule, value, target = problem(seed)
    columns = columns_of(ptr, rule, value, k)
    active = np.sort(rng.permutation(k)[:4]).astype(np.int64)
    weights = rng.normal(size=4)
    many = rng.integers(1, 4, c).astype(np.float64)
    found = []
    for module in (solving, plain):
        scores, upstream = np.zeros(c), np.empty(c)
        module.add_scores(columns, active, weights, scores)
        loss = module.cross_entropy(query_ptr, target, many, scores, upstream)
        query = np.repeat(np.arange(5), np.diff(query_ptr)).astype(np.int32)
        total = np.bincount(query, target, minlength=5)
        curve = module.curvatures(columns, active, query, upstream + target, total)
        found.append((scores, upstream, loss, module.column_sums(columns, active, upstream), curve))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_results_by_rule(seed: int) -> None:
    _, _, c, k, ptr, rule, value, _ = problem(seed)
    columns = columns_of(ptr, rule, value, k)
    candidate = np.repeat(np.arange(c), np.diff(ptr))
    for i in range(k):
        own = slice(columns.ptr[i], columns.ptr[i + 1])
        assert columns.candidate[own].tolist() == candidate[rule == i].tolist()
        assert columns.value[own].tolist() == value[rule == i].tolist()
    assert [array.dtype for array in columns] == [np.int64, np.int32, np.float32]


@pytest.mark.parametrize("seed", range(5))
def test_derivatives(seed: int) -> None:
    rng, query_ptr, c, k, ptr, rule, value, target = problem(seed)
    columns = columns_of(ptr, rule, value, k)
    active, weights = np.arange(k), rng.normal(size=k)
    many = rng.integers(1, 4, c).astype(np.float64)

    def loss(w):
        scores, upstream = np.zeros(c), np.empty(c)
        solving.add_scores(columns, active, w, scores)
        return solving.cross_entropy(query_ptr, target, many, scores, upstream), upstream

    gradient = solving.column_sums(columns, active, loss(weights)[1])
    query = np.repeat(np.arange(5), np.diff(query_ptr)).astype(np.int32)
    total = np.bincount(query, target, minlength=5)
    curve = solving.curvatures(columns, active, query, loss(weights)[1] + target, total)
    for i in range(k):
        step = np.zeros(k)
        step[i] = 1e-4
        up, down, here = loss(weights + step)[0], loss(weights - step)[0], loss(weights)[0]
        assert abs((up - down) / 2e-4 - gradient[i]) < 1e-6
        assert abs((up + down - 2 * here) / 1e-8 - curve[i]) < 1e-4


@pytest.mark.parametrize("seed", range(20))
def test_twins_of_what_is_held(seed: int) -> None:
    rng, _, c, k, ptr, rule, value, _ = problem(seed)
    place = rng.permutation(np.append(np.arange(k - 2), [-1, -1])).astype(np.int32)
    held = ptr, rule, value.astype(np.float64), np.flatnonzero(rng.random(c) < 0.5), place
    for mine, theirs in zip(ops.held_results(*held), plain_ops.held_results(*held), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


@pytest.mark.parametrize("seed", range(20))
def test_a_restricted_problem_has_the_same_loss(seed: int) -> None:
    rng, query_ptr, c, k, ptr, rule, value, target = problem(seed)
    columns = columns_of(ptr, rule, value, k)
    active, many = rng.permutation(k)[:2].astype(np.int64), rng.integers(1, 4, c).astype(np.float64)
    whole = Imitation(query_ptr, target, many, np.zeros(c), columns)
    for is_merged in (True, False):
        found, twin = (module.restricted(whole, active, is_merged) for module in (solving, plain))
        for mine, theirs in zip((*found[:4], *found[4]), (*twin[:4], *twin[4]), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        weights, losses = rng.normal(size=2), []
        for one, places in ((whole, active), (found, np.arange(2))):
            problem_ptr, shares, multiplicity, rest, own = one
            scores, upstream = rest.copy(), np.empty(len(rest))
            solving.add_scores(own, places, weights, scores)
            losses.append(solving.cross_entropy(problem_ptr, shares, multiplicity, scores, upstream))
        assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def options(seed: int, bound: str):
    """A problem with penalties and a start, as the minimisation takes it."""
    rng, query_ptr, c, k, ptr, rule, value, target = problem(seed)
    columns = columns_of(ptr, rule, value, k)
    told = query_ptr, target / target.sum(), rng.integers(1, 4, c).astype(np.float64), rng.normal(size=c) / 9
    penalty = rng.choice([0.0, 0.003, 0.03], size=k)
    start = rng.normal(size=k)
    signs = {"free": np.zeros(k), "nonnegative": np.ones(k), "mixed": rng.integers(-1, 2, k)}[bound]
    return Imitation(*told, columns), start, Terms(penalty, np.full(k, 4.0), signs.astype(np.int8), 0.01)


@pytest.mark.parametrize("bound", ["free", "nonnegative", "mixed"])
@pytest.mark.parametrize("seed", range(10))
def test_the_minimum_by_the_kernel_and_by_its_twin(seed: int, bound: str) -> None:
    told = options(seed, bound)
    mine, passes = solving.minimised(*told, 12, 1e-9)
    theirs, also = plain.minimised(*told, 12, 1e-9)
    assert passes == also
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("bound", ["free", "nonnegative", "mixed"])
@pytest.mark.parametrize("seed", range(10))
def test_it_is_a_minimum(seed: int, bound: str) -> None:
    """No small step of one weight makes the loss with its penalties smaller."""
    told = options(seed, bound)
    (query_ptr, target, many, rest, columns), _, (penalty, _, signs, decay) = told
    weights, _ = solving.minimised(*told, 1000, 0.0)

    def loss(w):
        scores, upstream = rest.copy(), np.empty(len(rest))
        solving.add_scores(columns, np.arange(len(w)), w, scores)
        found = solving.cross_entropy(query_ptr, target, many, scores, upstream)
        return found + penalty @ np.abs(w) + decay / 2 * w @ w

    least = loss(weights)
    assert (weights * signs >= 0).all()
    for i in range(len(weights)):
        for step in (-1e-3, 1e-3):
            other = weights.copy()
            other[i] += step
            assert other[i] * signs[i] < 0 or loss(other) > least - 1e-9
