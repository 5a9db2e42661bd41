"""Every kernel against its plain-Python twin, to the bit where nothing is summed in floating point."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.features.chains import kernels, reference
from rnnlogic.features.chains.trie import build_trie
from tests.helpers.graphs import cases

many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def arguments(case, relation, dtype=np.int64, limit=1 << 40):
    bodies = case.rules.steps(case.rules.by_head(relation))
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
    zeros = np.zeros(num_entities), np.zeros(num_entities, bool)
    place = np.zeros(num_entities, np.int64)
    for first in (0, 1, 2):
        code = ((np.arange(len(weights)) + first) % 3).astype(np.int8)
        scored = kernels.score_candidates(entity, count, ptr, weights, code, queries, *zeros)
        by_hand = reference.score_candidates(entity, count, ptr, weights, code, queries, *zeros)
        same(scored[:2], by_hand[:2])
        np.testing.assert_allclose(scored[2], by_hand[2], rtol=1e-13)
    rules = rng.permutation(len(weights)).astype(np.int32)
    for answers in (np.empty(0, np.int32), rng.integers(0, num_entities, queries).astype(np.int32)):
        same(
            kernels.group_by_candidate(entity, count, ptr, queries, rules, answers, place),
            reference.group_by_candidate(entity, count, ptr, queries, rules, answers, place),
        )
    assert not any(array.any() for array in (*zeros, place))


@pytest.mark.parametrize("most", [1, 255, 256, 257, 65_536, 65_537, 2**24, 2**31 - 1])
@pytest.mark.parametrize("number", [0, 1, 1000])
def test_ids_ascend(most, number):
    ids = np.random.default_rng(0).integers(0, most, number).astype(np.int32)
    ids[:1] = most - 1
    np.testing.assert_array_equal(kernels.ascending(ids.copy(), most), reference.ascending(ids, most))


@pytest.mark.parametrize("leave_out", [False, True])
def test_labels(leave_out):
    graph = Graph.from_triples([(0, 0, 1), (0, 0, 2), (0, 0, 4), (1, 0, 3)], 6, 1)
    heads, answers = np.array([0, 1], np.int32), np.array([2, 0], np.int32)
    query_ptr, entity = np.array([0, 4, 6]), np.array([1, 2, 3, 4, 3, 5], np.int32)
    args = (graph.arrays, 0, heads, answers, query_ptr, entity, leave_out)
    found = kernels.label_candidates(*args)
    np.testing.assert_array_equal(found, reference.label_candidates(*args))
    other = kernels.LEFT_OUT if leave_out else kernels.WRONG
    assert found.tolist() == [other, kernels.ANSWER, kernels.WRONG, other, other, kernels.WRONG]
