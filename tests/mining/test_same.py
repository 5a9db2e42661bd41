"""Rules that predict the same pairs stand together."""

import numpy as np
import pytest
from hypothesis import given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.mining.same import groups_of_same, predicted_pairs
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet
from tests.grounding.conftest import cases
from tests.grounding.oracles import facts_of, walks


@settings(max_examples=30)
@given(case=cases())
def test_pairs_and_groups_by_hand(case):
    facts, entities = facts_of(case.graph), case.graph.num_entities
    expected = [
        {(x, walk[-1]) for x in range(entities) for walk in walks(facts, x, rule.body)} for rule in case.rules
    ]
    found = predicted_pairs(case.graph, case.rules, threads=1)
    assert [{(k // entities, k % entities) for k in keys.tolist()} for keys in found] == expected
    for overlap in (0.5, 1.0):
        groups = groups_of_same(case.graph, case.rules, overlap, threads=1)
        leaders = []
        for i, rule in enumerate(case.rules):
            alike = [
                k
                for k in leaders
                if case.rules[k].head == rule.head
                and expected[k] | expected[i]
                and len(expected[k] & expected[i]) >= overlap * len(expected[k] | expected[i])
            ]
            assert groups[i] == (alike[0] if alike else i)
            leaders += [] if alike else [i]


def test_a_sample_of_heads_is_enough_to_see_it():
    chain = [(i, r, (i + 1) % 90) for i in range(90) for r in (0, 1)]
    graph = Graph.from_triples(chain, 90, 2)
    rules = RuleSet.from_rules([Rule(0, (1, 1)), Rule(0, (0, 1)), Rule(0, (1,)), Rule(1, (1, 1))])
    assert groups_of_same(graph, rules, most_heads=10).tolist() == [0, 0, 2, 3]
    assert sum(map(len, predicted_pairs(graph, rules, most_heads=10))) == 40
    assert np.diff(predicted_pairs(graph, rules)[0]).min() > 0


@pytest.mark.parametrize("rules", [[], [Rule(0, (0, 0, 0))]])
def test_nothing_predicted(rules):
    graph = Graph.from_triples([(0, 0, 1)], 3, 1)
    assert groups_of_same(graph, RuleSet.from_rules(rules)).tolist() == list(range(len(rules)))
