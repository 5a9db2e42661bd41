"""Every kernel against its plain-Python twin, to the bit where nothing is summed in floating point."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from rnnlogic.grounding import kernels, reference
from rnnlogic.grounding.trie import build_trie
from tests.grounding.conftest import cases

many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def arguments(case, relation, dtype=np.int64, limit=1 << 40):
    bodies = [case.rules[int(i)].body for i in case.rules.by_head(relation)]
    queries = [(h, t) for h, r, t in case.queries if r == relation] or [(0, -1)]
    heads = np.array([h for h, _ in queries], np.int32)
    hidden = np.array([t for _, t in queries], np.int32)
    sums = np.zeros(case.graph.num_entities, dtype)
    inverse = case.graph.inverse(relation)
    return case.graph.arrays, build_trie(bodies), heads, hidden, relation, inverse, sums, limit


@pytest.mark.usefixtures("any_index")
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@many
@given(case=cases())
def test_ground_counts(case, dtype):
    for relation in range(2 * case.graph.num_relations):
        args = arguments(case, relation, dtype)
        same(kernels.ground_counts(*args), reference.ground_counts(*args))
        assert not args[-2].any()


@many
@given(case=cases())
def test_ground_counts_gives_up_at_the_limit(case):
    args = arguments(case, 0, limit=3)
    same(kernels.ground_counts(*args), reference.ground_counts(*args))


@many
@given(case=cases())
def test_sums_over_grounded_bodies(case):
    args = arguments(case, 0)
    queries, num_entities = len(args[2]), case.graph.num_entities
    entity, count, ptr = kernels.ground_counts(*args)
    count[count > 0] *= 700  # beyond the table of features too
    rng = np.random.default_rng(0)
    weights = rng.normal(size=len(args[1].body))
    for feature in (0, 1, 2):
        scored = kernels.score_candidates(entity, count, ptr, weights, feature, queries, num_entities)
        by_hand = reference.score_candidates(entity, count, ptr, weights, feature, queries, num_entities)
        same(scored[:2], by_hand[:2])
        np.testing.assert_allclose(scored[2], by_hand[2], rtol=1e-13)
        gradient_args = (
            entity,
            count,
            ptr,
            feature,
            *scored[:2],
            rng.normal(size=len(scored[1])),
            num_entities,
        )
        np.testing.assert_allclose(
            kernels.weight_gradient(*gradient_args), reference.weight_gradient(*gradient_args), atol=1e-9
        )
    same(
        kernels.group_by_candidate(entity, count, ptr, queries, num_entities),
        reference.group_by_candidate(entity, count, ptr, queries, num_entities),
    )
