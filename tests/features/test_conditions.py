"""Conditions on a graph, against checking every pair by hand."""

import math

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.features.chains.paths import paths
from rnnlogic.features.conditions import counted, holds, joined
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.conditions import Condition, Interval, after
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import amie_statistics
from tests.features.test_door import VALUES, random_graph

GRAPH = random_graph(1)
RULES = [
    Condition(0, 2, 0, -1, Interval(low=2.0)),
    Condition(1, 3, -1, 1, Interval(1.0, after(3.0))),
    Condition(0, -1, 0, 1, Interval(low=after(0.0))),
    Condition(0, -1, 1, 1, Interval(-2.0, after(2.0))),
    Condition(2, -1, 1, 0, Interval(high=0.0)),
]


def is_true(rule, x, y):
    """By the definition of a condition."""
    if rule.compares:
        value = VALUES[rule.of_y, y] - VALUES[rule.of_x, x]
        return x != y and rule.interval.low <= value < rule.interval.high
    about, named = (y, x) if rule.at_head else (x, y)
    value = VALUES[max(rule.of_x, rule.of_y), about]
    return (
        named == rule.constant and not math.isnan(value) and rule.interval.low <= value < rule.interval.high
    )


@pytest.mark.parametrize("rule", RULES)
def test_pairs_are_those_that_the_condition_allows(rule):
    size = GRAPH.num_entities
    expected = {(x, y) for x in range(size) for y in range(size) if is_true(rule, x, y)}
    assert expected
    found = Grounder(GRAPH, RuleSet.from_rules([rule]), 1).ground(np.arange(size), rule.head)
    rows = [
        (x, y) for part in found for x, y in zip(part.columns().query, part.columns().entity, strict=True)
    ]
    assert len(rows) == len(set(rows))
    assert set(rows) == expected
    assert set(map(tuple, joined(GRAPH, rule, np.arange(size)).tolist())) == expected
    for x in range(size):
        for y in range(size):
            assert holds(GRAPH, rule, x, y) == ((x, y) in expected)
            assert paths(GRAPH, x, rule, y).total == ((x, y) in expected)
    told = amie_statistics(GRAPH, RuleSet.from_rules(RULES))
    right = {(x, y) for x, y in expected if GRAPH.has(x, rule.head, y)}
    assert (told.predictions[RULES.index(rule)], told.support[RULES.index(rule)]) == (
        len(expected),
        len(right),
    )


def test_a_condition_is_counted_without_the_entity_of_the_query():
    for rule in RULES[:2]:
        about = np.flatnonzero(
            [is_true(rule, x, rule.constant) or is_true(rule, rule.constant, x) for x in range(7)]
        )
        for entity in about.tolist():
            others = [x for x in about.tolist() if x != entity]
            relation = rule.head if rule.at_head else GRAPH.inverse(rule.head)
            right = sum(GRAPH.has(rule.constant, relation, x) for x in others)
            term = counted(GRAPH, rule, entity)
            assert (term.support, term.holders) == (right, len(others))
            assert term.confidence == pytest.approx(right / (len(others) + 5))


def test_a_graph_without_the_attribute_is_refused():
    with pytest.raises(RNNLogicError, match="attributes beyond the 0 of the graph"):
        Grounder(GRAPH.valued(None), RuleSet.from_rules(RULES))
