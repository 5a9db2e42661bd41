"""Honest signs: what lift is, and that weights keep to it."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.base.budget import Work
from rnnlogic.constraints.find import seldom_together
from rnnlogic.data.graph import Graph
from rnnlogic.features.kernels import ANSWER
from rnnlogic.predictors.base import RuleValues
from rnnlogic.predictors.loglinear.fit import (
    Lesson,
    among_linked,
    blocks_of,
    lifts_of,
    problem_of,
    signs_of,
    solve_relations,
)
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from rnnlogic.rules.rule import Chain, Feature
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.examples import candidates

MARGINS = [1.0, 2.0, None]


def random_problem(seed):
    """Facts at random, and a relation that follows from two others: rules help, hinder, or do the same."""
    rng = np.random.default_rng(seed)
    first, second = (rng.integers(20, size=(60, 2)) for _ in range(2))
    third = [(a, d) for a, b in first.tolist() for c, d in second.tolist() if b == c][:60]
    named = zip((first.tolist(), second.tolist(), third), range(3), strict=True)
    graph = Graph.from_triples(np.array([(h, r, t) for pairs, r in named for h, t in pairs]), 20, 3)
    bodies = {tuple(rng.integers(6, size=rng.integers(1, 4)).tolist()) for _ in range(40)} - {(2,)}
    chains = [Chain(2, body) for body in sorted({(0, 1), *bodies})]
    return graph, RuleSet.from_rules([*chains, Feature(2, "itself"), Feature(2, "linked")])


def test_lift_is_answers_over_those_of_chance():
    """Two queries of four candidates; rule 0 reaches both answers and nothing else, rule 1 all but them."""
    found = candidates([[[0], [1], [1], [1]], [[0], [1], [1], []]])
    lift = lifts_of(found, np.zeros(3, bool))
    assert lift[0] == pytest.approx((2 + 1) / (2 / 4 + 1))
    assert lift[1] == pytest.approx(1 / (3 / 4 + 2 / 4 + 1))
    assert np.isnan(lift[2])  # it reaches nothing


def test_features_count_by_their_values_whatever_their_unit():
    found = candidates([[[0], [0], [0], [1]]])
    by_value = replace(found, value=np.array([3, 1, 1, 1], np.float32))
    large = replace(found, value=np.array([30, 10, 10, 1], np.float32))
    flags = np.array([True, False, False])
    mean = 5 / 3
    assert lifts_of(by_value, flags)[0] == pytest.approx((3 + mean) / (5 / 4 + mean))
    assert lifts_of(large, flags)[0] == pytest.approx(lifts_of(by_value, flags)[0])
    nothing = replace(found, value=np.zeros(4, np.float32))
    assert np.isnan(lifts_of(nothing, flags)[0])
    assert lifts_of(by_value, ~flags)[0] == pytest.approx((1 + 1) / (3 / 4 + 1))


def test_a_relation_that_excludes_the_head_but_for_exceptions_is_compared_with_chance_among_linked_pairs():
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (2,)), Chain(0, (1, 1)), Feature(0, "linked")])
    lift = np.array([5.0, np.nan, 3.0, 2.0])
    found = among_linked(lift, rules, {(0, 1): 0.1, (0, 2): 0.2, (3, 1): 0.3})
    assert found.tolist() == pytest.approx([0.1, np.nan, 3.0, 2.0], nan_ok=True)
    assert lift[0] == 5.0


def test_an_exclusive_relation_with_exceptions_counts_against_answers():
    """Friends and rivals know each other, so each is linked more often than chance, but seldom both."""
    rng = np.random.default_rng(0)
    known = [(a, b) for a in range(120) for b in range(120) if a != b and a % 24 == b % 24]
    kinds = rng.permutation(len(known)) % 25
    named = zip(known, kinds.tolist(), strict=True)
    facts = [(h, r, t) for (h, t), kind in named for r in ((0, 1) if kind == 0 else (kind % 2,))]
    graph = Graph.from_triples(np.array(facts), 120, 2)
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (0, 0)), Feature(0, "seen")])
    queries = training_queries(graph, None, 0)
    asked, settings = queries[queries[:, 1] == 0], LogLinearSettings(weight_decay=0.1)
    lesson = Lesson(graph, RuleValues(rules, "log1p"), asked, settings, 0)
    (solved,) = solve_relations(lesson, Work(1))
    found = problem_of(lesson.job(), blocks_of(asked, lesson.values, None)[0])[0]
    assert lifts_of(found, rules.are_features)[0] > 1.5
    assert solved.lift[0] == seldom_together(graph)[0, 1] < 0.4
    assert solved.weights[0] < -0.5 < 0.5 < solved.weights[1]


def test_signs_follow_lift():
    lift = np.array([0.4, 0.5, 0.9, 1.0, 1.9, 2.0, np.nan])
    assert signs_of(lift, 2.0).tolist() == [-1, -1, 0, 0, 0, 1, 0]
    assert signs_of(lift, 1.0).tolist() == [-1, -1, -1, 1, 1, 1, 0]
    assert not signs_of(lift, None).any()


@pytest.mark.parametrize("margin", MARGINS)
def test_no_weight_has_a_sign_against_its_lift(margin):
    against = 0
    for seed in range(3):
        graph, rules = random_problem(seed)
        settings = LogLinearSettings(weight_decay=0.1, sign_lift=margin)
        queries = training_queries(graph, None, 0)
        (solved,) = [
            one
            for one in solve_relations(
                Lesson(graph, RuleValues(rules, "log1p"), queries, settings, 0), Work(1)
            )
            if one.relation == 2
        ]
        assert np.isfinite(solved.lift).sum() > 10
        assert (solved.weights != 0).sum() > 10
        against += int((solved.weights * signs_of(solved.lift, margin or 1.0) < 0).sum())
    assert (against > 0) == (margin is None), "without the margin the problem must tempt"


def test_a_limit_holds_beside_signs():
    graph, rules = random_problem(0)
    settings = LogLinearSettings(weight_decay=0.1, weight_limit=0.05)
    for one in solve_relations(
        Lesson(graph, RuleValues(rules, "log1p"), training_queries(graph, None, 0), settings, 0), Work(1)
    ):
        assert np.abs(one.weights).max() <= 0.05
        assert (one.weights * signs_of(one.lift, settings.sign_lift) >= 0).all()


def test_the_helper_makes_the_first_candidate_the_answer():
    assert candidates([[[0], [1]]]).label.tolist() == [ANSWER, 0]
