"""The figures that people see: AMIE's, exact on small graphs and close on large ones."""

import numpy as np
import pytest
from hypothesis import given, settings

from rnnlogic.base.budget import Budget
from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics import pairs as module
from rnnlogic.statistics.pairs import amie_statistics, random_blocks, rule_figures
from tests.helpers.graphs import cases


@settings(max_examples=40)
@given(case=cases())
def test_small_graphs_give_the_exact_figures(case):
    found = rule_figures(case.graph, case.rules, threads=1)
    expected = amie_statistics(case.graph, case.rules).columns()
    assert [found.row(i) for i in range(len(case.rules))] == [
        {name: values[i] for name, values in expected.items()} for i in range(len(case.rules))
    ]
    assert (found.share == 1).all()


def test_without_time_there_are_no_figures():
    graph = Graph.from_triples([(0, 0, 1), (1, 0, 0)], 2, 1)
    with Budget(until=0.0).enforced():
        assert rule_figures(graph, RuleSet.from_rules([Chain(0, (1,))])).share.tolist() == [0]


def test_a_symmetric_relation_has_its_true_confidence():
    """Of 100 facts 88 hold both ways: a rule that reads them backwards is right in 88 of 100."""
    pairs = [(i, 0, 100 + i) for i in range(56)]
    triples = [*pairs, *((t, r, h) for h, r, t in pairs[:44])]
    graph = Graph.from_triples(triples, 200, 1)
    found = rule_figures(graph, RuleSet.from_rules([Chain(0, (1,))]))
    assert found.row(0) == {
        "predictions": 100,
        "support": 88,
        "confidence": 0.88,
        "pca_confidence": 1.0,
        "head_coverage": 0.88,
    }


def test_rules_with_many_pairs_are_estimated_and_say_so(monkeypatch):
    monkeypatch.setattr(module, "FIRST", 20)
    rng = np.random.default_rng(0)
    triples = np.unique(np.stack([rng.integers(n, size=6000) for n in (300, 1, 300)], axis=1), axis=0)
    graph = Graph.from_triples([*triples.tolist(), (0, 1, 1), (1, 1, 0)], 300, 2)
    rules = RuleSet.from_rules([Chain(0, (0, 0)), Chain(1, (3,))])
    exact, told = rule_figures(graph, rules, enough=10**9), []
    found = rule_figures(graph, rules, enough=5000, tick=lambda *step: told.append(step))
    assert exact.share.tolist() == [1, 1]
    assert found.share[0] < 0.5
    assert found.row(1) == exact.row(1)
    assert found.row(0) != exact.row(0)
    for name, tolerance in [("predictions", 0.1), ("support", 0.1), ("confidence", 0.1)]:
        assert found.row(0)[name] == pytest.approx(exact.row(0)[name], rel=tolerance)
    assert told[-1] == (2, 2)


def test_random_blocks_hold_every_entity_once():
    blocks = list(random_blocks(100, 8, seed=1))
    assert [len(block) for block in blocks] == [8, 8, 16, 32, 36]
    assert sorted(np.concatenate(blocks).tolist()) == list(range(100))
    assert not list(random_blocks(0, 8, seed=1))


def test_no_rules():
    assert len(rule_figures(Graph.from_triples([(0, 0, 1)], 2, 1), RuleSet.from_rules([])).support) == 0
