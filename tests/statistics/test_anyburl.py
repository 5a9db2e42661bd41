"""AnyBURL's statistics against trying all tuples of distinct entities, and against networkx."""

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import NONE, Chain, Constant
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from rnnlogic.statistics.anyburl import anyburl_statistics, with_anyburl_statistics
from rnnlogic.statistics.pairs import amie_statistics
from tests.helpers.graphs import cases
from tests.helpers.walks import facts_of


def by_hand(graph, rule):
    """Predictions and support: try every tuple of distinct entities, without the predicted fact."""
    facts, predicted = facts_of(graph), set()
    for path in permutations(range(graph.num_entities), len(rule.body) + 1):
        own = {(path[0], rule.head, path[-1]), (path[-1], graph.inverse(rule.head), path[0])}
        steps = zip(path, rule.body, path[1:], strict=False)
        if rule.body and all(step in facts - own for step in steps):
            predicted.add((path[0], path[-1]))
    return len(predicted), sum((x, rule.head, y) in facts for x, y in predicted)


def test_statistics_of_rules_with_constants():
    # 0 to 3 have the body, of which 0 is the answer itself; 1 and 2 have the answer
    facts = [
        (0, 0, 4),
        (1, 0, 4),
        (2, 0, 4),
        (3, 0, 4),
        (3, 0, 3),
        (1, 1, 0),
        (2, 1, 0),
        (5, 0, 0),
        (5, 0, 5),
    ]
    graph = Graph.from_triples(facts, 6, 2)
    told = [(0, 0, 4), (0, 0, NONE), (2, 0, 4, True), (2, 0, NONE, True), (1, 0, 0)]
    heads = [1, 1, 3, 3, 1]
    rules = RuleSet.from_rules(Constant(h, *one) for h, one in zip(heads, told, strict=True))
    found = anyburl_statistics(graph, rules, threads=1)
    assert found.predictions.tolist() == [3, 3, 3, 3, 0], (
        "what the rule names and r(X,c) <- r(X,c) say nothing"
    )
    assert found.support.tolist() == [2, 2, 2, 2, 0]


@settings(max_examples=40)
@given(case=cases())
def test_statistics_equal_trying_all_tuples(case):
    found = anyburl_statistics(case.graph, case.rules, threads=2)
    for i, rule in enumerate(case.rules):
        predictions, support = by_hand(case.graph, rule)
        assert (found.predictions[i], found.support[i]) == (predictions, support)
        assert found.confidence[i] == (support / predictions if predictions else 0)
    assert not found.is_sample.any()


def test_statistics_equal_the_simple_paths_of_networkx():
    rng = np.random.default_rng(3)
    triples = np.unique(np.stack([rng.integers(n, size=120) for n in (25, 2, 25)], axis=1), axis=0)
    graph = Graph.from_triples(triples, 25, 2)
    network = nx.MultiDiGraph()
    for head, relation, tail in facts_of(graph):
        network.add_edge(head, tail, relation)
    rules = RuleSet.from_rules([Chain(0, (0, 2, 0)), Chain(0, (1, 3)), Chain(1, (0, 1, 1)), Chain(2, (0,))])
    found = anyburl_statistics(graph, rules)
    for i, rule in enumerate(rules):
        joined = {
            (x, y)
            for x in network
            for y in set(network) - {x}
            for path in nx.all_simple_edge_paths(network, x, y, cutoff=len(rule.body))
            if tuple(relation for _, _, relation in path) == rule.body
        }
        assert found.predictions[i] == len(joined) > 0
        assert found.support[i] == sum(graph.has(x, rule.head, y) for x, y in joined)


def test_going_there_and_back_supports_nothing():
    """likes(0, 1) alone: the walk 0, 1, 0, 1 finds it again, which AMIE counts and AnyBURL does not."""
    graph = Graph.from_triples([(0, 0, 1)], 2, 1)
    rules = RuleSet.from_rules([Chain(0, (0, 1, 0)), Chain(0, (0,))])
    assert amie_statistics(graph.counting("walks"), rules).support.tolist() == [1, 1]
    assert amie_statistics(graph, rules).support.tolist() == [0, 1]
    found = anyburl_statistics(graph, rules)
    assert found.predictions.tolist() == found.support.tolist() == [0, 0]


def test_a_budget_leaves_a_sample_that_says_so():
    rng = np.random.default_rng(0)
    triples = np.unique(np.stack([rng.integers(n, size=3000) for n in (200, 1, 200)], axis=1), axis=0)
    graph, rules = Graph.from_triples(triples, 200, 1), RuleSet.from_rules([Chain(0, (0, 0)), Chain(0, (1,))])
    whole = anyburl_statistics(graph, rules)
    some = anyburl_statistics(graph, rules, steps=10_000)
    assert some.is_sample.tolist() == [True, False]
    assert 0 < some.predictions[0] < whole.predictions[0]
    assert some.predictions[1] == whole.predictions[1]
    assert some.confidence[0] == pytest.approx(whole.confidence[0], abs=0.03)
    again = anyburl_statistics(graph, rules, steps=10_000, threads=1)
    assert again.support.tolist() == some.support.tolist()


def test_as_columns_with_progress():
    graph, told = Graph.from_triples([(0, 0, 1), (1, 0, 0)], 2, 1), []
    table = RuleTable(RuleSet.from_rules([Chain(0, (1,))]), {"weight": [2.0]})
    found, samples = with_anyburl_statistics(table, graph, tick=lambda *step: told.append(step))
    assert found.row(0) == {"weight": 2.0, "predictions": 2, "support": 2, "confidence": 1.0}
    assert (samples, told) == (0, [(1, 1)])
