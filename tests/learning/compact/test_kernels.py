"""The kernels against their twins, and the gradient and curvature against differences, on random problems."""

from __future__ import annotations

import numpy as np
import pytest

from rnnlogic.learning.compact import kernels, reference


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
    columns = kernels.by_column(ptr, rule, value, k)
    for mine, theirs in zip(columns, reference.by_column(ptr, rule, value, k), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    active = np.sort(rng.permutation(k)[:4]).astype(np.int64)
    weights = rng.normal(size=4)
    many = rng.integers(1, 4, c).astype(np.float64)
    found = []
    for module in (kernels, reference):
        scores, upstream = np.zeros(c), np.empty(c)
        module.add_scores(*columns, active, weights, scores)
        loss = module.cross_entropy(query_ptr, target, many, scores, upstream)
        query = np.repeat(np.arange(5), np.diff(query_ptr)).astype(np.int32)
        total = np.bincount(query, target, minlength=5)
        curve = module.curvatures(*columns, active, query, upstream + target, total)
        found.append((scores, upstream, loss, module.column_sums(*columns, active, upstream), curve))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    count, key = rng.integers(1, 5, len(rule)), rng.integers(0, 1 << 40, c)
    looked_at = np.where(rule == 0, -1, rule).astype(np.int32)
    hashes = [np.zeros(k, np.uint64), np.zeros(k, np.uint64)]
    for module, sums in zip((kernels, reference), hashes, strict=True):
        module.add_hashes(ptr, looked_at, count, key, sums)
    np.testing.assert_array_equal(*hashes)
    reached = kernels.mark_reached(columns[0], columns[1], active, c)
    np.testing.assert_array_equal(reached, reference.mark_reached(columns[0], columns[1], active, c))
    asked = rng.integers(0, 5, 8)
    own = np.array([rng.integers(query_ptr[q] - 1, query_ptr[q + 1]) for q in asked])
    own = np.where(own < query_ptr[asked], -1, own)
    args = (query_ptr, np.round(found[0][0], 1), reached, rng.random(c) < 0.3, asked, own, np.full(8, 20))
    for mine, theirs in zip(kernels.rank_queries(*args), reference.rank_queries(*args), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("seed", range(5))
def test_derivatives(seed: int) -> None:
    rng, query_ptr, c, k, ptr, rule, value, target = problem(seed)
    columns = kernels.by_column(ptr, rule, value, k)
    active, weights = np.arange(k), rng.normal(size=k)
    many = rng.integers(1, 4, c).astype(np.float64)

    def loss(w):
        scores, upstream = np.zeros(c), np.empty(c)
        kernels.add_scores(*columns, active, w, scores)
        return kernels.cross_entropy(query_ptr, target, many, scores, upstream), upstream

    gradient = kernels.column_sums(*columns, active, loss(weights)[1])
    query = np.repeat(np.arange(5), np.diff(query_ptr)).astype(np.int32)
    total = np.bincount(query, target, minlength=5)
    curve = kernels.curvatures(*columns, active, query, loss(weights)[1] + target, total)
    for i in range(k):
        step = np.zeros(k)
        step[i] = 1e-4
        up, down, here = loss(weights + step)[0], loss(weights - step)[0], loss(weights)[0]
        assert abs((up - down) / 2e-4 - gradient[i]) < 1e-6
        assert abs((up + down - 2 * here) / 1e-8 - curve[i]) < 1e-4
