import numpy as np
from hypothesis import given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import RuleStatistics, rule_statistics, training_queries
from tests.helpers.graphs import cases
from tests.helpers.walks import facts_of, paths


@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_statistics_equal_brute_force(case):
    queries = training_queries(case.graph, None, 0)
    assert {tuple(row) for row in queries.tolist()} == facts_of(case.graph)
    found = rule_statistics(case.graph, case.rules, queries, threads=2)
    for i, rule in enumerate(case.rules):
        support = wrong = 0
        for head, relation, answer in queries.tolist():
            if relation == rule.head:
                left = facts_of(case.graph, (head, relation, answer))
                reached = {path[-1] for path in paths(left, head, rule.body)}
                support += answer in reached
                known = {t for h, r, t in facts_of(case.graph) if (h, r) == (head, relation)}
                wrong += len(reached - known)
        assert (found.support[i], found.wrong[i]) == (support, wrong)


def test_frequent_relations_are_sampled():
    triples = np.array([(a, 0, b) for a in range(10) for b in range(10)] + [(0, 1, 1)])
    graph = Graph.from_triples(triples, 10, 2)
    queries = training_queries(graph, 7, 0)
    assert np.bincount(queries[:, 1]).tolist() == [7, 1, 7, 1]
    assert {tuple(row) for row in queries.tolist()} <= facts_of(graph)
    assert not np.array_equal(queries, training_queries(graph, 7, 1))


def test_quality_distrusts_rare_rules():
    statistics = RuleStatistics(np.array([1, 50, 0]), np.array([0, 50, 0]))
    assert statistics.confidence.tolist() == [1.0, 0.5, 0.0]
    assert np.argmax(statistics.quality(20.0)) == 1


def test_where_facts_have_weights_they_count_by_these():
    """0(a,b) <- 1(a,b): right once by a fact of weight .5 on a path of .5, wrong once on a path of 1."""
    weights = {(0, 0, 1): 0.5, (0, 1, 1): 0.5}
    graph = Graph.from_triples([(0, 0, 1), (0, 1, 1), (0, 1, 2), (3, 0, 2)], 4, 2)
    graph = graph.weighing(lambda facts: np.array([weights.get(tuple(f), 1.0) for f in facts.tolist()]))
    rules = RuleSet.from_rules([Chain(0, (1,))])
    queries = np.array([(0, 0, 1), (3, 0, 2)], np.int32)
    found = rule_statistics(graph, rules, queries, 1)
    assert found.support.tolist() == [0.25]
    assert found.wrong.tolist() == [0.25 + 0.5]  # the answer may be false, and the query counts half
    assert found.whole_support.tolist() == [0]
