"""AnyBURL's figures against networkx, which knows nothing of our kernels."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.mining.anyburl import kernels, reference
from rnnlogic.mining.anyburl.statistics import anyburl_statistics
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet
from tests.grounding.conftest import cases


def by_networkx(graph: Graph, rule: Rule) -> tuple[int, int]:
    """Predictions and support: simple paths of the right length whose edges carry the body's relations."""
    edges = nx.MultiDiGraph()
    edges.add_nodes_from(range(graph.num_entities))
    for relation in range(2 * graph.num_relations):
        heads, tails = graph.edges(relation)
        edges.add_edges_from((h, t, relation) for h, t in zip(heads.tolist(), tails.tolist(), strict=True))
    pairs = set()
    for x in edges:
        others = [y for y in edges if y != x]
        for path in nx.all_simple_edge_paths(edges, x, others, cutoff=len(rule.body)):
            if tuple(relation for _, _, relation in path) == rule.body:
                pairs.add((x, path[-1][1]))
    if rule.body == (rule.head,):
        return 0, 0
    return len(pairs), sum(graph.has(x, rule.head, y) for x, y in pairs)


@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_statistics_equal_counting_simple_paths(case):
    found = anyburl_statistics(case.graph, case.rules, threads=2)
    for i, rule in enumerate(case.rules):
        predictions, support = by_networkx(case.graph, rule)
        assert (found.predictions[i], found.support[i]) == (predictions, support)
        assert found.confidence[i] == (support / predictions if predictions else 0)
    assert not found.is_sampled.any()


@settings(max_examples=40)
@given(case=cases())
def test_the_kernel_equals_its_twin(case):
    for rule in case.rules:
        if not rule.body:
            continue
        body, heads = np.array(rule.body), np.arange(2 * case.graph.num_relations)
        starts = np.arange(case.graph.num_entities, dtype=np.int32)
        supports, results = [], []
        for module in (kernels, reference):
            support, seen = np.zeros(len(heads), np.int64), np.zeros(case.graph.num_entities, np.int64)
            results.append(
                module.count_simple_pairs(case.graph.arrays, body, heads, starts, seen, 0, support)
            )
            supports.append(support.tolist())
        assert results[0] == results[1]
        assert supports[0] == supports[1]


def test_a_walk_that_comes_back_through_the_own_fact_does_not_count():
    """r(X,Y) <- r(X,Z) & r(W,Z) & r(W,Y): from 0 to 2 and back, AMIE counts r(0, 2) as its own support."""
    graph = Graph.from_triples([(0, 0, 2), (1, 0, 2), (1, 0, 3)], 4, 1)
    rules = RuleSet.from_rules([Rule(0, (0, 1, 0)), Rule(0, (0,)), Rule(0, (1,))])
    found = anyburl_statistics(graph, rules)
    assert found.predictions.tolist() == [1, 0, 3]  # only 0 -> 2 -> 1 -> 3
    assert found.support.tolist() == [0, 0, 0]


def test_a_sample_says_so():
    graph = Graph.from_triples([(i, 0, i + 1) for i in range(50)], 60, 1)
    rules = RuleSet.from_rules([Rule(0, (0, 0))])
    part = anyburl_statistics(graph, rules, most_heads=10)
    assert part.is_sampled.tolist() == [True]
    assert part.predictions[0] <= 10
    whole = anyburl_statistics(graph, rules, most_heads=50)
    assert (whole.predictions.tolist(), whole.is_sampled.tolist()) == ([49], [False])
    assert whole.confidence == pytest.approx(0)
