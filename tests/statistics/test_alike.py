"""Rules that say the same are found by the pairs that they predict."""

import numpy as np
import pytest
from hypothesis import given, settings

from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics import pairs as module
from rnnlogic.statistics.pairs import alike_rules
from tests.helpers.graphs import cases
from tests.helpers.walks import facts_of, paths


def by_hand(graph, rules, least):
    facts, found = facts_of(graph), []
    pairs = [
        {(x, path[-1]) for x in range(graph.num_entities) for path in paths(facts, x, rule.body)}
        for rule in rules
    ]
    for i, rule in enumerate(rules):
        same = [
            j
            for j in range(i)
            if found[j] == j
            and rules[j].head == rule.head
            and len(pairs[i] & pairs[j]) >= least * len(pairs[i] | pairs[j])
            and pairs[i]
        ]
        found.append(same[0] if same else i)
    return found


@settings(max_examples=60)
@given(case=cases())
@pytest.mark.parametrize(("least", "together"), [(0.9, 1), (0.5, 500)])
def test_alike_rules_equal_comparing_all_pairs(case, least, together):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TOGETHER", together)
        found = alike_rules(case.graph, case.rules, least, threads=1)
    assert found == by_hand(case.graph, case.rules, least)


def test_large_sets_are_compared_on_what_both_have_seen(monkeypatch):
    """Relation 1 repeats 97 of 100 facts of relation 0 backwards; relation 2 is another one."""
    monkeypatch.setattr(module, "PAIRS", 1000)
    monkeypatch.setattr(module, "FIRST", 10)
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(500, size=(20_000, 2)), axis=0).tolist()
    triples = [(h, 0, t) for h, t in pairs]
    triples += [(t, 1, h) for h, t in pairs if rng.random() < 0.97]
    triples += [(h, 2, t) for h, t in rng.integers(500, size=(20_000, 2)).tolist()]
    graph = Graph.from_triples(triples, 500, 3)
    rules = RuleSet.from_rules([Chain(0, (2,)), Chain(0, (4,)), Chain(0, (0,)), Chain(1, (0,))])
    assert alike_rules(graph, rules) == [0, 1, 1, 3]
    monkeypatch.setattr(module, "MOST", 2)
    assert alike_rules(graph, rules) == [0, 1, 2, 3]


def test_rules_with_constants_are_compared_and_named_evidence_is_not():
    graph = Graph.from_triples([(i, r, 9) for i in range(5) for r in (0, 1)] + [(7, 0, 8)], 10, 3)
    graph = graph.counting("walks")
    told = [(0, 6, 9), (1, 6, 9), (0, 6, NONE), (0, 6, NONE, True)]
    stated = [Constant(2, *one) for one in told]
    named = [Feature(2, "reversed"), Feature(2, "linked")]
    rules = RuleSet.from_rules(
        [*named, stated[0], Chain(2, (1,)), stated[1], Chain(2, (1, 3, 1)), *stated[2:]]
    )
    assert alike_rules(graph, rules, 0.9, threads=1) == [0, 1, 2, 3, 2, 3, 6, 7]
