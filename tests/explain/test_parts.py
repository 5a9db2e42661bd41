"""What aggregates add is split among rules with constants, as the kernel counts them."""

import math

import numpy as np
import pytest

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import Question
from rnnlogic.explain.reasons import shares
from rnnlogic.features.base import Query
from rnnlogic.features.chains.paths import paths
from rnnlogic.features.constants.source import counted
from rnnlogic.features.sources import terms_of
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.features import FEATURES, of_groups
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.explained import explain

ENTITIES, RELATIONS = 9, 2
VOCAB = Vocab(tuple(f"e{i}" for i in range(ENTITIES)), tuple(f"r{i}" for i in range(RELATIONS)))
AGGREGATES = of_groups({"constants"})


def random_graph(seed, facts=60):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, ENTITIES, (2, facts))
    triples = np.stack([ends[0], rng.integers(0, RELATIONS, facts), ends[1]], axis=1)
    return Graph.from_triples(triples, ENTITIES, RELATIONS)


def scorer_of(relation, seed, extra=()):
    """Every feature, a few chains, and rules with constants of their own."""
    named = [Feature(relation, name) for name in FEATURES]
    chains = [Chain(relation, (1, 1)), Chain(relation, (3, 0)), Chain(relation, ((relation + 2) % 4,))]
    rules = RuleSet.from_rules([*named, *chains, *extra])
    rng = np.random.default_rng(seed)
    return RuleScorer(rules.trusted(rng.uniform(0, 1, len(rules))), rng.normal(size=len(rules)), "log1p", 1)


def asked(graph):
    """Every third question."""
    for relation in range(2 * RELATIONS):
        for head in range(ENTITIES):
            for tail in range((head + relation) % 3, ENTITIES, 3):
                yield Question(head, relation, tail)


@pytest.mark.parametrize("seed", range(3))
def test_the_rules_behind_an_aggregate_give_the_value_of_the_kernel(seed):
    graph, compared = random_graph(seed), 0
    for question in asked(graph):
        is_hidden = graph.has(*question)
        scorer = scorer_of(question.relation, 0)
        parts = scorer.contributions(graph, *question, is_hidden)
        told = {scorer.rules[int(rule)]: value for rule, value in zip(parts.rule, parts.count, strict=True)}
        for name in AGGREGATES:
            behind = [one.confidence for one in terms_of(graph, name, Query(*question, is_hidden))]
            noisy_or = -sum(math.log1p(-value) for value in behind)
            value = math.log1p(100 * max(behind, default=0)) if name.startswith("best") else noisy_or
            assert told.get(Feature(question.relation, name), 0) == pytest.approx(value, abs=1e-6)
            compared += bool(behind)
    assert compared > 100


def test_the_rules_behind_an_aggregate_are_counted_together_as_each_is_by_itself():
    graph = random_graph(2)
    found = [
        (one, head if name.endswith("_x") else tail)
        for head, relation, tail in asked(graph)
        for name in AGGREGATES
        for one in terms_of(graph, name, Query(head, relation, tail, graph.has(head, relation, tail)))
    ]
    assert len(found) > 100
    assert all(one._replace(weight=1.0) == counted(graph, one.rule, entity) for one, entity in found)


@pytest.mark.parametrize("seed", range(3))
def test_shares_sum_to_the_score_and_no_aggregate_is_left(seed):
    graph = random_graph(seed)
    for question in asked(graph):
        scorer = scorer_of(question.relation, seed)
        told = explain(graph, VOCAB, scorer, *question, known=graph)
        if told.contributions:
            assert abs(math.fsum(one.contribution for one in told.contributions) - told.score) < 1e-6
        rules = [one.chain for one in told.contributions]
        assert len(rules) == len(set(rules))
        assert not any(isinstance(rule, Feature) and rule.name in AGGREGATES for rule in rules)


def test_each_rule_gets_its_term_and_the_best_one_what_best_adds():
    graph = random_graph(1)
    compared = 0
    for question in asked(graph):
        rules = RuleSet.from_rules([Feature(question.relation, name) for name in AGGREGATES[:2]])
        scorer = RuleScorer(rules, np.array([2.0, -3.0]), "log1p", 1)
        is_hidden = graph.has(*question)
        found = shares(graph, rules, scorer.contributions(graph, *question, is_hidden), question, is_hidden)
        behind = terms_of(graph, AGGREGATES[1], Query(*question, is_hidden))
        expected = {one.rule: 3 * math.log1p(-one.confidence) for one in behind}
        if behind:
            expected[behind[0].rule] += 2 * math.log1p(100 * behind[0].confidence)
        assert {one.rule: one.value for one in found} == pytest.approx(expected, abs=1e-5)
        compared += len(behind) > 1
    assert compared > 20


def test_a_rule_with_a_weight_of_its_own_has_one_entry():
    facts = [(e, 1, 0) for e in range(2, 9)] + [(e, 0, 1) for e in range(3, 9)]  # r1(e, e0), r0(e, e1)
    graph = Graph.from_triples([*facts, (0, 1, 8)], ENTITIES, RELATIONS)
    own = Constant(0, 1, 1, 0)
    rules = RuleSet.from_rules([own, Feature(0, "best_constant_of_x")])
    told = explain(graph, VOCAB, RuleScorer(rules, np.array([1.5, 2.0]), "binary", 1), 2, 0, 1, known=graph)
    (one,) = told.contributions
    assert one.rule == "r0(X,e1) <- r1(X,e0)"
    assert (one.record.right, one.record.cases) == (6, 6)
    assert one.record.confidence == pytest.approx(6 / 11)
    assert one.contribution == one.weight == pytest.approx(1.5 + 2 * math.log1p(100 * 6 / 11))
    assert [path.entities for path in one.paths] == [(2, 0)]
    assert told.hangs_on.facts == ((2, 1, 0),)


@pytest.mark.parametrize("seed", range(2))
def test_records_of_rules_with_constants_by_brute_force(seed):
    graph, compared = random_graph(seed), 0
    facts = set(map(tuple, graph.triples().tolist()))
    facts |= {(t, r + RELATIONS, h) for h, r, t in facts}
    for question in asked(graph):
        head, relation, tail = question
        for name in (AGGREGATES[1], AGGREGATES[3]):
            for right, holders, rule in rules_of(graph, name, question):
                about, constant = (tail, head) if rule.at_head else (head, tail)
                step = (rule.step + RELATIONS) % (2 * RELATIONS) if rule.at_head else rule.step
                link = (relation + RELATIONS) % (2 * RELATIONS) if rule.at_head else relation
                others = {h for h, r, t in facts if r == step and rule.other in (NONE, t)} - {about}
                assert (len(others), constant) == (holders, rule.constant)
                assert sum((one, link, constant) in facts for one in others) == right
                assert paths(graph, head, rule, tail).total == 1
                assert counted(graph, rule, about).support == right
                compared += 1
    assert compared > 100


def rules_of(graph, name, question):
    return [(one.support, one.holders, one.rule) for one in terms_of(graph, name, Query(*question, False))]
