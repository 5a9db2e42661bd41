"""Training queries with some of their candidates, against the whole problem."""

from itertools import pairwise

import numpy as np
import pytest

from rnnlogic.features.ground import Grounder
from rnnlogic.features.kernels import ANSWER, WRONG
from rnnlogic.predictors.base import RuleValues
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.predictors.plus.train import Examples, gather_segments
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.family import family, given_rules
from tests.helpers.problems import examples

DATA = family()
GRAPH = DATA.graph("train")
LEARNED = given_rules(DATA)


def batches_of(threads=1, unreached=False, **changes):
    settings = PlusSettings(batch_queries=4, **changes)
    values = RuleValues(LEARNED.rules, "count")
    return Examples(GRAPH, LEARNED.weights, values, settings, 0, DATA.valid, unreached).batches(threads)


def problem_of(relation):
    queries = training_queries(GRAPH, None, 0)
    grounder, values = Grounder(GRAPH, LEARNED.rules, 1), RuleValues(LEARNED.rules, "count")
    return examples(grounder, queries[queries[:, 1] == relation], values, True, 10**6)


def rows(candidates):
    """What each candidate is reached by, as something that compares."""
    rule, value = candidates.rule, candidates.value
    spans = pairwise(candidates.candidate_ptr)
    return [tuple(zip(rule[a:b].tolist(), value[a:b].tolist(), strict=True)) for a, b in spans]


def test_with_room_for_all_candidates_it_is_the_whole_problem():
    batches = batches_of(strongest=10**6)
    for relation in LEARNED.rules.head_relations().tolist():
        problem = problem_of(relation)
        kept = problem.label == ANSWER
        answers = [r for r, k in zip(rows(problem), kept, strict=True) if k]
        own = [batch for batch in batches if batch.candidates.relation == relation]
        found = [rows(batch.candidates) for batch in own]
        targets = [
            r for rs, b in zip(found, own, strict=True) for r, t in zip(rs, b.target, strict=True) if t
        ]
        assert sorted(targets) == sorted(answers)
        spans = list(zip(problem.query_ptr[:-1], problem.query_ptr[1:], strict=True))
        wrong = sum(int((problem.label[a:b] == WRONG).sum()) for a, b in spans if kept[a:b].any())
        assert sum(len(b.target) for b in own) == len(answers) + wrong
        assert all(not b.offset.any() for b in own)


def test_few_candidates_stand_for_many():
    whole, few = batches_of(strongest=10**6), batches_of(strongest=1, random=2)
    assert sum(len(batch.target) for batch in few) < sum(len(batch.target) for batch in whole)
    for one, other in zip(whole, few, strict=True):
        assert one.num_queries == other.num_queries
        for q in range(one.num_queries):
            part = other.offset[other.candidates.query_ptr[q] : other.candidates.query_ptr[q + 1]]
            assert len(part) <= 4
            assert np.exp(part).sum() == pytest.approx(np.diff(one.candidates.query_ptr)[q], rel=1e-5)


def test_the_strongest_are_kept():
    for one, other in zip(batches_of(strongest=10**6), batches_of(strongest=1, random=0), strict=True):
        psi = LEARNED.weights[LEARNED.rules.by_head(one.candidates.relation)]

        def best(batch, psi=psi):
            reached = rows(batch.candidates)
            sums = np.array([sum(psi[k] * x for k, x in row) for row in reached])
            sums[batch.target > 0] = -np.inf
            spans = pairwise(batch.candidates.query_ptr)
            return [sums[a:b].max(initial=-np.inf) for a, b in spans]

        np.testing.assert_allclose(best(one), best(other))


def test_the_unreached_are_one_candidate():
    plain, batches = batches_of(strongest=10**6), batches_of(strongest=10**6, unreached=True)
    assert sum(b.num_queries for b in batches) > sum(b.num_queries for b in plain)  # unreached answers
    for batch in batches:
        last = batch.candidates.query_ptr[1:] - 1
        assert not np.diff(batch.candidates.candidate_ptr)[last].any()
        assert (batch.offset[last] > 0).all()
        np.testing.assert_allclose(np.add.reduceat(batch.target, batch.candidates.query_ptr[:-1]), 1)


def test_scores_of_rnnlogic():
    for batch in batches_of():
        psi = LEARNED.weights[LEARNED.rules.by_head(batch.candidates.relation)]
        expected = [sum(psi[k] * x for k, x in row) for row in rows(batch.candidates)]
        np.testing.assert_allclose(batch.linear, expected, rtol=1e-5)
    assert all(not batch.linear.any() for batch in batches_of(linear="none"))


def test_threads_change_nothing():
    for one, other in zip(
        batches_of(random=1, strongest=1), batches_of(2, random=1, strongest=1), strict=True
    ):
        for name in ("offset", "target", "linear"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for name in ("relation", "query_ptr", "entity", "candidate_ptr", "rule", "value"):
            np.testing.assert_array_equal(getattr(one.candidates, name), getattr(other.candidates, name))


def test_gathered_segments():
    taken, ptr = gather_segments(np.array([0, 2, 2, 5]), np.array([2, -1, 0]))
    assert taken.tolist() == [2, 3, 4, 0, 1]
    assert ptr.tolist() == [0, 3, 3, 5]
