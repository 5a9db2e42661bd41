"""The best rule that reaches an answer, as a feature."""

import numpy as np
import pytest

from rnnlogic.data.graph import Graph
from rnnlogic.features.aggregates import BEST_CHAIN, Best, NoisyOr
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.rule import Chain, Constant, Feature
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import trust_of


def test_every_answer_that_a_trusted_chain_reaches_gets_the_largest_trust():
    facts = [(0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 2, 3), (4, 2, 4)]
    graph = Graph.from_triples(facts, 5, 3).counting("walks")
    named = RuleSet.from_rules([Constant(0, 2, 2, 3), Feature(0, BEST_CHAIN)])
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (1, 4, 1)), Chain(0, (2,))]).trusted([0.5, 0.2, 0.0])
    rules |= named.trusted([0.9, 0.0])
    assert rules.are_feature(BEST_CHAIN).tolist() == [False] * 4 + [True]
    assert Best().strengths(rules) == pytest.approx(np.log1p([50, 20, 0, 0, 0]))
    found = next(Grounder(graph, rules, 1).ground([0], 0)).columns()
    values = {int(e): v for e, r, v in zip(found.entity, found.rule, found.count, strict=True) if r == 4}
    assert values == pytest.approx({1: np.log(51), 2: np.log(51)})
    fewer = next(Grounder(graph, rules[[1, 4]], 1).ground([0], 0)).columns()
    assert fewer.count[fewer.rule == 1] == pytest.approx(np.log([21, 21]))


def test_trust_goes_along_with_rules():
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(1, (0,)), Chain(1, (2,))])
    trusted = rules.trusted([0.1, 0.2, 0.3])
    assert trusted == rules
    assert not rules.trust.any()
    assert trusted[[2, 0]].trust == pytest.approx([0.3, 0.1])
    both = trusted[[0]] | rules.trusted([0.7, 0.8, 0.9])
    assert both.trust == pytest.approx([0.1, 0.8, 0.9]), "what is there already stays as it is"


def test_a_rule_is_trusted_by_other_facts_than_the_one_asked_about():
    support, confidence = np.array([0, 1, 11, 10]), np.array([0.0, 1.0, 1.0, 0.5])
    assert trust_of(support, confidence) == pytest.approx([0, 0, 10 / 15, 9 / 24])


def test_where_facts_have_weights_the_best_rule_counts_by_the_weights_of_its_path():
    facts = [(0, 1, 1), (0, 1, 2), (0, 2, 2)]
    weights = {(0, 1, 2): 0.5, (0, 2, 2): 0.75}
    plain = Graph.from_triples(facts, 5, 3)
    graph = plain.weighing(lambda all_: np.array([weights.get(tuple(f), 1.0) for f in all_.tolist()]))
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (2,)), Feature(0, BEST_CHAIN)])
    rules = rules.trusted([0.4, 0.2, 0.0])
    found = next(Grounder(graph, rules, 1).ground([0, 3], 0)).columns()
    values = {int(e): v for e, r, v in zip(found.entity, found.rule, found.count, strict=True) if r == 2}
    assert values == pytest.approx({1: np.log(41), 2: np.log(21)})  # .4 * .5 is more than .2 * .75
    assert NoisyOr().weakened(NoisyOr.strength_of(np.array([0.4])), np.array([0.5])) == pytest.approx(
        NoisyOr.strength_of(np.array([0.2]))
    )
