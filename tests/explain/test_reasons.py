"""The reasons that are named: the shortest rule close to the best record, then others on other facts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.explain import Basis, explain_on
from rnnlogic.explain.question import Question, comes_back, facts_of
from rnnlogic.explain.reasons import REASONS, choose
from rnnlogic.explain.records import Record, Records
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.rule import Feature
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.questions import KINDS, VOCAB, questions

NAMES = Vocab(tuple("abcdef"), ("r", "s", "t", "u"))
# s(a,c) t(c,b) u(a,b); a there-and-back by s
FACTS = [(0, 1, 2), (2, 2, 1), (0, 3, 1), (0, 1, 3)]
RULES = ["r <- u", "r <- s & t", "r <- s & s^-1 & u"]


def told_of(confidences, weights=(1, 1, 1), rules=RULES, facts=FACTS, path_kind="simple"):
    graph = Graph.from_triples(facts, 6, 4).counting(path_kind)
    scorer = RuleScorer(RuleSet.from_text(rules, NAMES), np.array(weights, float), "binary", 1)

    known = {
        place: None if confidence is None else Record(round(100 * confidence), 100, confidence)
        for place, confidence in enumerate(confidences)
    }
    records = Records(graph, scorer.rules, known)
    return explain_on(Basis(graph, NAMES, scorer, graph, None, records), Question(0, 0, 1))


def named(told):
    return [reason.rule.rule for reason in told.reasons]


@pytest.mark.parametrize(
    ("confidences", "weights", "expected"),
    [
        ((0.8, 0.9, 0), (1, 1, 1), ["r(X,Y) <- u(X,Y)", "r(X,Y) <- s(X,Z) & t(Z,Y)"]),  # close: the short one
        ((0.7, 0.9, 0), (1, 1, 1), ["r(X,Y) <- s(X,Z) & t(Z,Y)", "r(X,Y) <- u(X,Y)"]),  # not close
        ((0.7, 0.9, 0), (1, -1, 1), ["r(X,Y) <- u(X,Y)"]),  # what speaks against is no reason
        ((0.5, 0.4, 1), (1, 1, 9), ["r(X,Y) <- u(X,Y)", "r(X,Y) <- s(X,Z) & t(Z,Y)"]),  # a detour is none
        ((None, None, None), (1, 9, 1), ["r(X,Y) <- u(X,Y)", "r(X,Y) <- s(X,Z) & t(Z,Y)"]),
        ((0.9, 0.9, 0), (1000, 1, 0), ["r(X,Y) <- u(X,Y)"]),  # what adds next to nothing is not named
    ],
)
def test_the_shortest_rule_close_to_the_best_record_comes_first(confidences, weights, expected):
    assert named(told_of(confidences, weights)) == expected


def test_ties_of_length_go_to_confidence_and_further_reasons_add_most():
    facts = [(0, 1, 1), (0, 2, 1), (0, 3, 1)]
    rules = ["r <- s", "r <- t", "r <- u"]
    assert named(told_of((0.85, 0.9, 0.9), (5, 1, 2), rules, facts)) == [
        "r(X,Y) <- u(X,Y)",
        "r(X,Y) <- s(X,Y)",
        "r(X,Y) <- t(X,Y)",
    ]
    assert named(told_of((0.4, 0.9, 0.9), (5, 1, 2), rules, facts)) == [  # less than half as confident
        "r(X,Y) <- u(X,Y)",
        "r(X,Y) <- t(X,Y)",
    ]


def test_a_detour_is_named_where_there_is_nothing_else():
    told = told_of((0.9,), (1,), ["r <- s & s^-1 & u"], path_kind="walks")
    (reason,) = told.reasons
    assert comes_back(reason.path) is not None
    assert reason.share == 1


def test_reasons_share_no_fact():
    told = told_of(
        (0.9, 0.8), (1, 1), ["r <- u", "r <- s & s^-1 & u"], [(0, 1, 2), (3, 1, 2), (3, 3, 1), (0, 3, 1)]
    )
    assert [reason.path.entities for reason in told.reasons] == [(0, 1), (0, 2, 3, 1)]
    told = told_of((0.9, 0.8), (1, 1), ["r <- s & t", "r <- s & t & t^-1 & t"], [(0, 1, 2), (2, 2, 1)])
    assert named(told) == ["r(X,Y) <- s(X,Z) & t(Z,Y)"]


@given(questions(KINDS))
def test_reasons_speak_for_the_answer_and_rest_on_different_facts(question):
    graph, scorer, *asked = question
    rng = np.random.default_rng(0)
    known = {i: Record(1, 2, value) for i, value in enumerate(rng.uniform(0, 1, len(scorer.rules)))}
    basis = Basis(graph, VOCAB, scorer, graph, None, Records(graph, scorer.rules, known))
    told = explain_on(basis, Question(*asked))
    gains = [one for one in told.contributions if one.contribution > 0]
    assert len(told.reasons) <= REASONS
    assert bool(told.reasons) == bool(gains)
    facts = [set(facts_of(reason.path, VOCAB)) for reason in told.reasons]
    assert sum(map(len, facts)) == len(set().union(*facts))
    assert len({reason.rule.chain for reason in told.reasons}) == len(told.reasons)
    for reason in told.reasons:
        assert reason.rule.contribution > 0
        assert 0 < reason.share <= 1
        assert (reason.path.entities[0], reason.path.entities[-1]) == (asked[0], asked[2])
    plain = told.as_dict()["reasons"]
    assert [one["rule"] for one in plain] == named(told)
    assert math.fsum(one["share"] for one in plain) <= 1 + 1e-9


def test_features_are_no_reasons():
    told = told_of((0.8, 0.9, 0))
    feature = replace(told.contributions[0], chain=Feature(0, "linked"), contribution=99.0)
    assert choose([feature], lambda _: (), NAMES, 99.0) == ()


def test_a_rule_that_people_call_a_bad_reason_stands_behind_others():
    graph = Graph.from_triples(FACTS, 6, 4)
    scorer = RuleScorer(RuleSet.from_text(RULES, NAMES), np.ones(3), "binary", 1)
    known = {place: Record(90, 100, 0.9) for place in range(3)}
    named_rules = []
    for doubted in ({}, {scorer.rules[0]: 1}):
        records = Records(graph, scorer.rules, dict(known), doubted=doubted)
        told = explain_on(Basis(graph, NAMES, scorer, graph, None, records), Question(0, 0, 1))
        named_rules.append(named(told)[0])
    assert named_rules == ["r(X,Y) <- u(X,Y)", "r(X,Y) <- s(X,Z) & t(Z,Y)"]
