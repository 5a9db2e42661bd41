"""Every kernel against its plain-Python twin, to the bit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.mining import kernels, reference
from rnnlogic.mining.mine import edges_by_entity
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.graphs import ENTITIES, cases


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    facts=st.integers(1, 150),
    max_length=st.integers(1, 5),
    back=st.integers(1, 3),
    fanout=st.integers(1, 30),
    most=st.sampled_from([1, 7, 300, 5000]),  # beyond the first 256 the kernel's buffer has to grow
)
def test_bodies_between(seed, facts, max_length, back, fanout, most):
    rng = np.random.default_rng(seed)
    triples = np.stack([rng.integers(size, size=facts) for size in (15, 3, 15)], axis=1)
    graph = Graph.from_triples(triples, 15, 3)
    edges = edges_by_entity(graph)
    distance, queue = np.full(15, -1, np.int64), np.empty(15, np.int64)
    for head, relation, tail in triples[:3].tolist():
        limits = kernels.Limits(max_length, back, fanout, most, 7)
        fact = kernels.Fact(head, relation, tail, graph.inverse(relation))
        told = edges, fact, limits, seed, distance, queue
        np.testing.assert_array_equal(kernels.bodies_between(*told), reference.bodies_between(*told))
        assert (distance == -1).all()


def test_bodies_between_are_compared_where_they_are_many_and_sampled():
    """The test above must not pass because nothing is ever found or drawn at random."""
    rng = np.random.default_rng(0)
    triples = np.stack([rng.integers(size, size=150) for size in (15, 3, 15)], axis=1)
    graph = Graph.from_triples(triples, 15, 3)
    edges, (head, relation, tail) = edges_by_entity(graph), triples[0].tolist()
    fact = kernels.Fact(head, relation, tail, graph.inverse(relation))

    def keys(fanout: int, seed: int):
        return reference.bodies_between(edges, fact, kernels.Limits(4, 1, fanout, 5000, 7), seed, None, None)

    assert len(keys(30, 0)) == 5000
    assert np.array_equal(keys(30, 0), keys(30, 1))
    assert not np.array_equal(keys(5, 0), keys(5, 1))


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_count_hits(case):
    for part in Grounder(case.graph, case.rules, 1).ground(np.arange(ENTITIES), 0):
        heads = part.queries.astype(np.int32)
        reached, answers = kernels.Reached(heads, part.entity, part.ptr), (3 * heads) % ENTITIES
        counted = []
        values = np.sqrt(np.arange(len(part.entity)) / 5), (heads + 1) / ENTITIES
        for weighed in (None, kernels.Weighed(*map(np.ones_like, values)), kernels.Weighed(*values)):
            arguments = (case.graph.arrays, 0, reached, answers, weighed, ENTITIES)
            counted.append(kernels.count_hits(*arguments))
            np.testing.assert_allclose(counted[-1], reference.count_hits(*arguments), atol=1e-12)
        np.testing.assert_array_equal(counted[0], counted[1])


@settings(max_examples=60)
@given(case=cases())
def test_add_matches(case):
    bodies = RuleSet.from_rules(Chain(0, body) for body in sorted({rule.body for rule in case.rules}))
    rule_head = np.tile(np.arange(4, dtype=np.int32), len(bodies))  # every body with every head
    rule_ptr = np.arange(0, len(rule_head) + 1, 4)
    for part in Grounder(case.graph, bodies, 1).ground(np.arange(ENTITIES), 0):
        results = []
        for module in (kernels, reference):
            sums = np.zeros((2, len(rule_head)), np.int64)
            pairs = np.full((len(rule_head), 2, 2), -1, np.int32)
            marks = np.zeros(ENTITIES, np.bool_)
            reached = kernels.Reached(part.queries.astype(np.int32), part.entity, part.ptr)
            of_bodies = kernels.HeadsOfBodies(rule_ptr, rule_head)
            module.add_matches(case.graph.arrays, reached, of_bodies, marks, kernels.Matches(*sums, pairs))
            assert not marks.any()
            results.append((sums, pairs))
        np.testing.assert_array_equal(results[0][0], results[1][0])
        np.testing.assert_array_equal(results[0][1], results[1][1])


@settings(max_examples=50)
@given(case=cases(), most=st.sampled_from([3, 20, 10_000]))
def test_count_simple(case, most):
    heads, starts = np.arange(4, dtype=np.int32), np.arange(ENTITIES, dtype=np.int32)[::-1].copy()
    for body in {rule.body for rule in case.rules} - {()}:
        results = []
        for module in (kernels, reference):
            support, marks = np.zeros(4, np.int64), np.zeros(ENTITIES, np.bool_)
            steps = np.array(body, np.int32)
            counts = module.count_simple(case.graph.arrays, steps, heads, starts, most, marks, support)
            assert not marks.any()
            results.append((*counts, support.tolist()))
        assert results[0] == results[1]


def test_count_simple_with_more_ends_than_its_first_buffer():
    graph = Graph.from_triples([(0, 0, i) for i in range(1, 700)], 700, 1)
    marks, support = np.zeros(700, np.bool_), np.zeros(1, np.int64)
    arguments = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32), 10_000, marks, support
    assert kernels.count_simple(graph.arrays, *arguments) == (699, 699)
    assert support[0] == 699
