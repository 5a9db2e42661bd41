"""Sums by confidence: they are weights of the rules, and confident rules get more of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.budget import Work
from rnnlogic.data.graph import Graph
from rnnlogic.features.chains.kernels import ANSWER, LEFT_OUT, WRONG
from rnnlogic.predictors.loglinear.confidence import STEEPNESS, confidences, with_sums
from rnnlogic.predictors.loglinear.fit import Lesson, solve_relations
from rnnlogic.predictors.loglinear.kernels import loss_and_gradient
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from rnnlogic.predictors.values import RuleValues
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.problems import problems
from tests.helpers.walks import candidates_of

NONE = np.zeros(0, np.float32)


@pytest.mark.parametrize("way", [True, "noisy_or", "only"])
@given(found=problems(), seed=st.integers(0, 2**32 - 1))
def test_folded_weights_score_as_rules_and_sums_do(way, found, seed):
    is_named = np.arange(len(found.ids)) == 1
    summed = with_sums(found, 100.0, is_named, way)
    assert len(summed.shares) == len(STEEPNESS) + (way is not True)
    own = int(is_named.sum()) if way == "only" else len(found.ids)
    weights = np.random.default_rng(seed).normal(scale=0.1, size=own + len(summed.shares))
    apart, _ = loss_and_gradient(summed.found.examples, NONE, weights)
    together, _ = loss_and_gradient(found.examples, NONE, summed.folded(weights))
    assert together == pytest.approx(apart, rel=1e-4, abs=1e-4)
    assert not summed.shares[:, 1:2].any(), "named evidence takes no part"


def test_confidences_leave_one_out_and_count_a_wrong_result_once_for_each_head():
    # Two questions about head 7, one about 8; rule 0 is right 3 times and wrong at 7 (asked twice) and 8
    labels = [ANSWER, WRONG, LEFT_OUT, ANSWER, WRONG, ANSWER, WRONG]
    found = candidates_of([0, 3, 5, 7], range(8), [0] * 7, [1.0] * 7, labels, heads=[7, 7, 8])
    assert confidences(found).tolist() == [2 / (2 + 2 + 5)]


def test_confident_rules_are_trusted_where_questions_are_few():
    rng = np.random.default_rng(0)
    facts = [(i, 1, i + 20) for i in range(20)] + [(i, 0, i + 20) for i in range(20)]
    facts += [(i, r, int(rng.integers(20, 40))) for i in range(20) for r in range(2, 12)]
    graph = Graph.from_triples(facts, 40, 12)
    rules = RuleSet.from_rules(Chain(0, (r,)) for r in range(1, 12))
    queries = training_queries(graph, None, 0)
    values = RuleValues(rules, "binary")

    def learned(**changes):
        solved = solve_relations(Lesson(graph, values, queries, LogLinearSettings(**changes), 0), Work(1))
        return next(one.weights for one in solved if one.relation == 0)

    weights = {on: learned(by_confidence=on) for on in (False, True, "only")}
    assert weights[False][0] > 0
    for way in (True, "only"):
        assert weights[way][0] > 10 * weights[False][0]
        assert weights[way][0] > 2 * np.abs(weights[way][1:]).max()
    halves = learned(weight_decay=1.0), learned(by_confidence="noisy_or")
    assert learned(by_confidence="mean") == pytest.approx(sum(halves) / 2)
