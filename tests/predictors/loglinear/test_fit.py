"""The log-linear predictor on a graph where one rule is right and one is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.base.budget import Work
from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.features.kernels import ANSWER, LEFT_OUT
from rnnlogic.features.table import no_candidates, transformed
from rnnlogic.predictors.base import RuleValues
from rnnlogic.predictors.loglinear.fit import (
    Lesson,
    discounted,
    fit_weights,
    initial_weights,
    sampled,
    solve_relations,
)
from rnnlogic.predictors.loglinear.kernels import loss_and_gradient
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from rnnlogic.predictors.paths.predictor import PathModel, PathValues
from rnnlogic.rules.rule import Chain, Feature
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.embeddings import path_score, random_embedding
from tests.helpers.problems import examples

PARENT, SIBLING, AUNT = 0, 1, 2  # relations; aunt(X,Y) <- parent(X,Z) & sibling(Z,Y)


@pytest.fixture
def family():
    """20 children with a parent each, who has a sibling: the aunt. Siblings know a wrong neighbour too."""
    triples = []
    for i in range(20):
        child, parent, aunt = 3 * i, 3 * i + 1, 3 * i + 2
        triples += [(child, PARENT, parent), (parent, SIBLING, aunt), (child, AUNT, aunt)]
        triples += [(parent, SIBLING, (aunt + 3) % 60)] if i % 4 == 0 else []
    return Graph.from_triples(np.array(triples), 60, 3)


@pytest.fixture
def rules():
    return RuleSet.from_rules(
        [Chain(AUNT, (PARENT, SIBLING)), Chain(AUNT, (PARENT,)), Chain(AUNT, (AUNT, 3 + AUNT, AUNT))]
    )


def problem_of(graph, rules, leave_out=True, most=10**6, feature="count"):
    queries = training_queries(graph, None, 0)
    values = RuleValues(rules, feature)
    return examples(Grounder(graph, rules, 1), queries[queries[:, 1] == AUNT], values, leave_out, most)


def solved(graph, rules, settings, seed, threads=None):
    values = RuleValues(rules, settings.feature)
    lesson = Lesson(graph, values, training_queries(graph, None, 0), settings, seed)
    return solve_relations(lesson, Work(threads))


def test_the_right_rule_gets_the_weight(family, rules):
    settings = LogLinearSettings(weight_decay=0.1, feature="count")
    found = solved(family, rules, settings, seed=0, threads=2)
    (aunt,) = [one for one in found if one.relation == AUNT]
    right, wrong, never = aunt.weights
    assert right > 0.5
    assert wrong < -0.5
    assert never == 0.0  # its only walk would use the hidden fact


def test_a_sample_of_candidates_stands_for_all(family, rules):
    everything = problem_of(family, rules, leave_out=False)
    few = sampled([everything], 4, [0])
    assert few.multiplicity.tolist() == [1.0] * len(few)  # no query has more than 3 candidates
    many = replace(
        everything,
        query_ptr=np.array([0, len(everything)]),
        queries=everything.queries[:1],
        heads=everything.heads[:1],
        label=(np.arange(len(everything)) == 3).astype(np.int8),
        value=np.arange(len(everything.value), dtype=np.float32),  # no two are equal
    )
    few = sampled([many], 10, [0])
    assert len(few) == 10
    assert few.multiplicity.sum() == pytest.approx(len(everything))
    assert few.label.sum() == 1
    alike = sampled([replace(many, value=np.ones_like(many.value))], 10, [0])
    assert len(alike) < 10  # equal ones are held once, and stand for all of them
    assert alike.multiplicity.sum() == pytest.approx(len(everything))


def test_own_fact_is_hidden_and_other_answers_are_left_out(rules):
    triples = [(0, PARENT, 1), (1, SIBLING, 2), (1, SIBLING, 3), (0, AUNT, 2), (0, AUNT, 3)]
    graph = Graph.from_triples(np.array(triples), 4, 3).counting("walks")
    assert sorted(problem_of(graph, rules).label.tolist()) == [0, 0, ANSWER, ANSWER, LEFT_OUT, LEFT_OUT]
    assert LEFT_OUT not in problem_of(graph, rules, leave_out=False).label
    problem = problem_of(graph, rules)
    over_other_fact = np.repeat(problem.label, np.diff(problem.candidate_ptr))[problem.rule == 2]
    assert over_other_fact.tolist() == [LEFT_OUT, LEFT_OUT]  # aunt & aunt^-1 & aunt never uses its own fact


def test_the_penalised_minimum_is_reached(family, rules):
    settings = LogLinearSettings(weight_decay=2.0, steps=400, feature="count")
    problem = problem_of(family, rules)
    weights, _ = fit_weights(problem, settings)
    _, gradient = loss_and_gradient(problem.examples, problem.multiplicity, weights)
    np.testing.assert_allclose(gradient + 2.0 * weights, 0, atol=0.02)


def test_no_weight_is_beyond_the_limit(family, rules):
    settings = LogLinearSettings(weight_decay=0.1, weight_limit=0.2, feature="count")
    weights, _ = fit_weights(problem_of(family, rules), settings)
    assert weights.tolist() == [0.2, -0.2, 0.0]


def test_every_start_leads_to_the_same_minimum(family, rules):
    problem = problem_of(family, rules)
    zero = LogLinearSettings(weight_decay=2.0, steps=400, feature="count")
    expectation = zero.model_copy(update={"initial": "expectation"})
    found, other = (fit_weights(problem, settings)[0] for settings in (zero, expectation))
    assert found.any()
    np.testing.assert_allclose(found, other, atol=0.01)


def test_expectation_is_the_mean_margin(family, rules):
    problem = problem_of(family, rules)
    settings = LogLinearSettings(initial="expectation", feature="count")
    start = initial_weights(problem, settings)
    # 15 queries have 2 candidates, 5 have 3: rule 0 reaches the answer (or a neighbour), rule 1 the parent.
    assert start[0] == pytest.approx((15 * (1 - 1 / 2) + 5 * (1 - 2 / 3)) / 20)
    assert start[1] == pytest.approx(-(15 / 2 + 5 / 3) / 20)


def test_results_are_bounded_in_memory(family, rules):
    assert problem_of(family, rules).num_queries == 20
    grounder, values = Grounder(family, rules, 1, chunk_queries=4), RuleValues(rules, "count")
    few = examples(grounder, training_queries(family, None, 0)[-80:][:20], values, True, 1)
    assert few.num_queries == 4


def test_values_are_features_times_phi(family, rules):
    paths = PathModel(random_embedding(60, 3), delta=9.0)
    queries = training_queries(family, None, 0)
    queries = queries[queries[:, 1] == AUNT]
    grounder = Grounder(family, rules, 1, chunk_queries=8)
    plain = examples(grounder, queries, RuleValues(rules, "count"), True, 10**6)
    scored = examples(grounder, queries, PathValues(rules, "count", paths), True, 10**6)
    heads = np.repeat(plain.heads, np.diff(plain.candidate_ptr[plain.query_ptr]))
    ends = np.repeat(plain.entity, np.diff(plain.candidate_ptr))
    phi = [
        path_score(paths, h, rules[int(k)].body, e) for h, k, e in zip(heads, plain.rule, ends, strict=True)
    ]
    np.testing.assert_allclose(scored.value, plain.value * phi, rtol=1e-4)
    assert len(set(phi)) > 20
    for name in ("queries", "heads", "query_ptr", "entity", "candidate_ptr", "rule", "label"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(scored, name))


def test_the_discount_is_for_answers_only(family, rules):
    problem = problem_of(family, rules)
    chains = np.zeros(len(problem.ids), bool)
    changed = discounted(problem, 0.5, chains).value / problem.value
    of_answer = np.repeat(problem.label == ANSWER, np.diff(problem.candidate_ptr))
    assert np.array_equal(changed, np.where(of_answer, 0.5, 1.0))
    first_is_named = np.arange(len(problem.ids)) == 0
    changed_chains = discounted(problem, 0.5, first_is_named).value / problem.value
    assert np.array_equal(changed_chains, np.where(of_answer & (problem.rule > 0), 0.5, 1.0))
    assert set(changed) == {0.5, 1.0}
    settings = LogLinearSettings(weight_decay=2.0, steps=400, feature="count", answer_discount=0.5)
    found = solved(family, rules, settings, seed=0)
    weights = next(one.weights for one in found if one.relation == AUNT)
    _, gradient = loss_and_gradient(discounted(problem, 0.5, chains).examples, problem.multiplicity, weights)
    np.testing.assert_allclose(gradient + 2.0 * weights, 0, atol=0.02)


def test_features():
    counts = np.array([1, 3, 2**40])
    found = replace(
        no_candidates(0, 0), rule=np.array([0, 0, 1]), count=counts, counts_paths=np.array([True, False])
    )
    assert transformed(found, "count").tolist() == [1.0, 3.0, 2.0**40]
    assert transformed(found, "binary").tolist() == [1.0, 1.0, 2.0**40], "features keep their values"
    np.testing.assert_allclose(transformed(found, "log1p"), [np.log(2), np.log(4), 2.0**40], rtol=1e-6)


def test_same_seed_same_weights_for_any_thread_count(family, rules):
    settings = LogLinearSettings(queries_per_relation=12)
    one, two = (solved(family, rules, settings, seed=3, threads=threads) for threads in (1, 4))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.weights, b.weights)


def test_named_evidence_bears_a_share_of_the_decay_and_itself_the_square_of_it(family, rules):
    rules |= RuleSet.from_rules([Chain(AUNT, (PARENT, 3 + PARENT))])  # leads back to X
    rules |= RuleSet.from_rules(Feature(AUNT, name) for name in ("linked", "itself"))
    settings = LogLinearSettings(weight_decay=3.0, evidence_decay=0.1, steps=400, feature="count")
    family = family.counting("walks")
    found = solved(family, rules, settings, seed=0)
    weights = next(one.weights for one in found if one.relation == AUNT)
    problem = problem_of(family, rules)
    _, gradient = loss_and_gradient(problem.examples, problem.multiplicity, weights)
    decay = 3.0 * np.array([1, 1, 1, 1, 0.1, 0.01])
    np.testing.assert_allclose(gradient, -decay * weights, atol=0.02)
    assert weights[-1] < -1, "nobody is their own aunt"
