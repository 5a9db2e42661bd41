"""Every kernel against its plain-Python twin, to the bit where nothing is summed in floating point."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.features import kernels as ops
from rnnlogic.features import reference as plain_ops
from rnnlogic.features.base import Batch, Rows
from rnnlogic.features.chains import kernels, reference
from rnnlogic.features.chains.source import build_trie, turning_steps
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.graphs import Case, cases

many = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def any_weights(facts):
    """Some weight for each fact, the same whenever it is asked."""
    return (facts @ [7, 3, 5] % 11 + 1) / 16  # few enough bits for counts of six steps


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def arguments(case, relation, dtype=np.int64, limit=1 << 40, path_kind="simple"):
    graph = case.graph.counting(path_kind)
    bodies = case.rules.steps(case.rules.by_head(relation))
    queries = [(h, t) for h, r, t in case.queries if r == relation] or [(0, -1)]
    heads = np.array([h for h, _ in queries], np.int32)
    hidden = np.array([t for _, t in queries], np.int32)
    sums = np.zeros(case.graph.num_entities, dtype)
    trie = build_trie(bodies)
    batch = Batch(np.arange(len(heads)), relation, heads, hidden)
    paths = kernels.Paths(path_kind == "simple", turning_steps(trie, graph))
    return graph.arrays, trie, batch, sums, limit, paths, graph.weights


@pytest.mark.usefixtures("any_index")
@pytest.mark.parametrize("path_kind", ["simple", "walks"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@many
@given(case=cases())
def test_ground_counts(case, dtype, path_kind):
    for relation in range(2 * case.graph.num_relations):
        args = arguments(case, relation, dtype, path_kind=path_kind)
        same(kernels.ground_counts(*args), reference.ground_counts(*args))
        assert not args[3].any()


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("path_kind", ["simple", "walks"])
@pytest.mark.parametrize("seed", range(40))
def test_ground_counts_on_dense_graphs_with_loops(seed, path_kind, is_weighted):
    """Here most walks turn back, some of them several times."""
    rng = np.random.default_rng(seed)
    entities, relations = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    facts = rng.integers(0, [entities, relations, entities], (30, 3))
    graph = Graph.from_triples(facts, entities, relations)
    if is_weighted:
        graph = graph.weighing(any_weights)
    bodies = {tuple(rng.integers(0, 2 * relations, rng.integers(0, 7)).tolist()) for _ in range(6)}
    rules = RuleSet.from_rules(Chain(0, body) for body in bodies)
    queries = [(int(h), 0, int(t)) for h, t in rng.integers([0, -2], entities, (3, 2))]
    args = arguments(Case(graph, rules, queries), 0, path_kind=path_kind)
    same(kernels.ground_counts(*args), reference.ground_counts(*args))


@pytest.mark.parametrize("seed", range(20))
def test_simple_paths_of_three_steps_visit_no_entity_twice(seed):
    """Counted here by writing out all walks, which the twin does not."""
    rng = np.random.default_rng(seed)
    graph = Graph.from_triples(rng.integers(0, [6, 2, 6], (25, 3)), 6, 2)
    for body in ((0,), (0, 1), (0, 2), (0, 2, 0), (1, 3, 0), (0, 0, 0), (0, 1, 3)):
        walks = [(3,)]
        for step in body:
            walks = [(*walk, int(e)) for walk in walks for e in graph.neighbours(walk[-1], step)]
        expected = Counter(walk[-1] for walk in walks if len(set(walk)) == len(walk))
        for part in Grounder(graph, RuleSet.from_rules([Chain(0, body)])).ground([3], 0):
            assert dict(zip(part.entity.tolist(), part.count.tolist(), strict=True)) == expected


@pytest.mark.parametrize("hidden", [-1, 1, -3])
@pytest.mark.parametrize("path_kind", ["simple", "walks"])
def test_a_path_is_worth_the_product_of_the_weights_of_its_facts(path_kind, hidden):
    """Counted here by writing out all walks; a fact that is hidden is on none."""
    facts = np.random.default_rng(5).integers(0, [6, 2, 6], (25, 3))
    graph = Graph.from_triples(facts, 6, 2).weighing(any_weights).counting(path_kind)
    out = -2 - hidden if hidden < -1 else hidden
    found = 0
    for body in ((1,), (0, 1), (0, 2), (1, 2, 0), (0, 2, 1), (1, 3, 0), (2, 0, 1)):
        walks = [((3,), 1.0)]
        for step in body:
            walks = [
                (
                    (*walk, int(e)),
                    worth * graph.weights_of(np.array([last]), np.array([step]), np.array([e]))[0],
                )
                for walk, worth in walks
                for last in walk[-1:]
                for e in graph.neighbours(last, step)
                if {last, int(e)} != {3, out}
                or not (hidden < -1 or (last, step) == (3, 0) or (int(e), step) == (3, 2))
            ]
        expected = Counter()
        for walk, worth in walks:
            if path_kind == "walks" or len(set(walk)) == len(walk):
                expected[walk[-1]] += worth
        grounder = Grounder(graph, RuleSet.from_rules([Chain(0, body)]))
        for part in grounder.ground([3], 0, [hidden]):
            assert dict(zip(part.entity.tolist(), part.count.tolist(), strict=True)) == expected
            found += len(expected)
    assert found > 4


@many
@given(case=cases())
def test_weights_of_one_change_nothing_and_halves_count_half_a_path_each_step(case):
    heads, relations, hidden = (np.array(x, np.int32) for x in (case.heads, case.relations, case.hidden))
    assert case.graph.weighing(lambda facts: np.ones(len(facts))) is case.graph
    halves = case.graph.weighing(lambda facts: np.full(len(facts), 0.5))
    steps = (case.rules.steps(np.arange(len(case.rules))) >= 0).sum(axis=1)
    pairs = zip(
        Grounder(case.graph, case.rules).ground(heads, relations, hidden),
        Grounder(halves, case.rules).ground(heads, relations, hidden),
        strict=True,
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one.entity, other.entity)
        np.testing.assert_array_equal(one.ptr, other.ptr)
        np.testing.assert_array_equal(one.columns().count * 0.5 ** steps[one.columns().rule], other.count)


@many
@given(case=cases())
def test_ground_counts_gives_up_at_the_limit(case):
    args = arguments(case, 0, limit=3)
    same(kernels.ground_counts(*args), reference.ground_counts(*args))


@many
@given(case=cases())
def test_sums_over_grounded_bodies(case):
    args = arguments(case, 0)
    queries, num_entities = len(args[2].heads), case.graph.num_entities
    entity, count, ptr = kernels.ground_counts(*args)
    rows = Rows(np.arange(len(args[1].body)), ptr, entity, count)
    count[count > 0] *= 700  # beyond the table of features too
    rng = np.random.default_rng(0)
    weights = rng.normal(size=len(args[1].body))
    zeros = np.zeros(num_entities), np.zeros(num_entities, bool)
    place = np.zeros(num_entities, np.int64)
    for first in (0, 1, 2):
        code = ((np.arange(len(weights)) + first) % 3).astype(np.int8)
        scored = ops.score_candidates(rows, weights, code, queries, *zeros)
        by_hand = plain_ops.score_candidates(rows, weights, code, queries, *zeros)
        same(scored[:2], by_hand[:2])
        np.testing.assert_allclose(scored[2], by_hand[2], rtol=1e-13)
    rows = rows._replace(place=rng.permutation(len(weights)))
    for answers in (np.empty(0, np.int32), rng.integers(0, num_entities, queries).astype(np.int32)):
        same(
            ops.group_by_candidate(rows, queries, answers, place),
            plain_ops.group_by_candidate(rows, queries, answers, place),
        )
    assert not any(array.any() for array in (*zeros, place))


@pytest.mark.parametrize("most", [1, 255, 256, 257, 65_536, 65_537, 2**24, 2**31 - 1])
@pytest.mark.parametrize("number", [0, 1, 1000])
def test_ids_ascend(most, number):
    ids = np.random.default_rng(0).integers(0, most, number).astype(np.int32)
    ids[:1] = most - 1
    np.testing.assert_array_equal(ops.ascending(ids.copy(), most), plain_ops.ascending(ids, most))


@pytest.mark.parametrize("leave_out", [False, True])
def test_labels(leave_out):
    graph = Graph.from_triples([(0, 0, 1), (0, 0, 2), (0, 0, 4), (1, 0, 3)], 6, 1)
    heads, answers = np.array([0, 1], np.int32), np.array([2, 0], np.int32)
    query_ptr, entity = np.array([0, 4, 6]), np.array([1, 2, 3, 4, 3, 5], np.int32)
    args = (graph.arrays, 0, heads, answers, query_ptr, entity, leave_out)
    found = ops.label_candidates(*args)
    np.testing.assert_array_equal(found, plain_ops.label_candidates(*args))
    other = ops.LEFT_OUT if leave_out else ops.WRONG
    assert found.tolist() == [other, ops.ANSWER, ops.WRONG, other, other, ops.WRONG]
