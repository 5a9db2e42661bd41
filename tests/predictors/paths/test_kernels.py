"""The compiled distances against their plain twin."""

import numpy as np
import pytest

from rnnlogic.predictors.paths import kernels, reference


def random_results(rng, dim, queries=6, entities=9, turns=5):
    """Queries (several of one head) with candidates, each reached by some turns."""
    sizes = rng.integers(0, 4, queries)
    candidate = np.concatenate([np.sort(rng.choice(entities, size, replace=False)) for size in sizes])
    reached_by = [
        np.sort(rng.choice(turns, rng.integers(1, turns), replace=False)) for _ in range(len(candidate))
    ]
    heads = rng.integers(0, 3, queries).astype(np.int32)
    phase = rng.uniform(-3, 3, (turns, dim)).astype(np.float32)
    vectors = rng.normal(size=(entities, 2 * dim)).astype(np.float32), np.cos(phase), np.sin(phase)
    results = kernels.Results(
        heads,
        np.argsort(heads, kind="stable"),
        np.append(0, np.cumsum(sizes)),
        candidate.astype(np.int32),
        np.append(0, np.cumsum([len(by) for by in reached_by])).astype(np.int64),
        np.concatenate([*reached_by, []]).astype(np.int32),
    )
    return kernels.Vectors(*vectors), results


@pytest.mark.parametrize("dim", [1, 7, kernels.BLOCK, 2 * kernels.BLOCK + 3])
def test_like_the_twin(dim):
    rng = np.random.default_rng(dim)
    for _ in range(20):
        results = random_results(rng, dim)
        np.testing.assert_allclose(
            kernels.path_distances(*results), reference.path_distances(*results), rtol=2e-5, atol=1e-5
        )


def test_the_order_of_queries_changes_no_bit():
    vectors, results = random_results(np.random.default_rng(1), 40)
    by_head = kernels.path_distances(vectors, results)
    other = results._replace(order=np.arange(len(results.heads)))
    np.testing.assert_array_equal(kernels.path_distances(vectors, other), by_head)
