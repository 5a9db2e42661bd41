"""Estimates of work: exact for one step, and of the right size for more."""

import numpy as np
import pytest

from rnnlogic.data.graph import Graph
from rnnlogic.features.chains.cost import Cost
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet


def walks(graph, head, body) -> int:
    """Edges that are visited along a body, every walk counted."""
    total, ends = 0, [head]
    for relation in body:
        ends = [t for h in ends for t in graph.neighbours(h, relation).tolist()]
        total += len(ends)
    return total


def test_regular_graphs_are_estimated_exactly():
    edges = [(i, r, (i * 3 + r + j) % 20) for i in range(20) for r in (0, 1) for j in range(3)]
    graph = Graph.from_triples(edges, 20, 2)
    rules = RuleSet.from_rules([Chain(0, (1, 0)), Chain(0, (0,)), Chain(1, (0, 0, 1)), Chain(0, ())])
    cost = Cost(graph, rules)
    for head in (0, 7):
        assert cost.of_question(head, 0) == pytest.approx(
            walks(graph, head, (1, 0)) + walks(graph, head, (0,))
        )
        assert cost.of_question(head, 1) == pytest.approx(walks(graph, head, (0, 0, 1)))
        assert cost.of_any_question(1) == pytest.approx(cost.of_question(head, 1))
    assert cost.of_question(0, 2) == 0.0


def test_random_graphs_are_estimated_within_reason():
    random = np.random.default_rng(0)
    graph = Graph.from_triples(np.stack([random.integers(0, n, 600) for n in (100, 3, 100)], axis=1), 100, 3)
    body = (0, 4, 2)
    cost = Cost(graph, RuleSet.from_rules([Chain(1, body)]))
    ratio = sum(cost.of_question(h, 1) for h in range(100)) / sum(walks(graph, h, body) for h in range(100))
    assert 0.5 < ratio < 1.5


def test_a_hub_is_dearer():
    graph = Graph.from_triples([(0, 0, i) for i in range(1, 50)] + [(1, 0, 2)], 50, 1)
    cost = Cost(graph, RuleSet.from_rules([Chain(0, (0, 1))]))
    assert cost.of_question(0, 0) > 10 * cost.of_question(1, 0)
    assert cost.of_question(2, 0) == 0.0
