"""The kernels against their plain twins."""

import numpy as np
import pytest

from rnnlogic.predictors.plus import kernels, reference
from tests.helpers.candidates import NUM_RULES, random_candidates

DIM = 3


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums(seed, dtype):
    rng, found = np.random.default_rng(seed), random_candidates(seed)
    columns = found.candidate_ptr, found.rule, found.value
    vectors, upstream = (
        rng.normal(size=(NUM_RULES, DIM)).astype(dtype),
        rng.normal(size=(7, DIM)).astype(dtype),
    )
    expected = reference.sum_rules(*columns, vectors)
    np.testing.assert_allclose(kernels.sum_rules(*columns, vectors), expected, rtol=1e-4, atol=1e-5)
    found = kernels.sum_rules_gradient(*columns, vectors, upstream)
    assert found.dtype == dtype
    expected = reference.sum_rules_gradient(*columns, vectors, upstream)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pna(seed, dtype):
    rng, found = np.random.default_rng(seed), random_candidates(seed)
    columns = found.candidate_ptr, found.rule, found.value
    vectors = rng.normal(size=(NUM_RULES, DIM)).astype(dtype)
    upstream = rng.normal(size=(7, 4 * DIM)).astype(dtype)
    features = kernels.pna_rules(*columns, vectors)
    assert features.dtype == dtype
    np.testing.assert_allclose(features, reference.pna_rules(*columns, vectors), rtol=1e-4, atol=1e-5)
    found = kernels.pna_rules_gradient(*columns, vectors, features, upstream)
    expected = reference.pna_rules_gradient(*columns, vectors, features, upstream)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
