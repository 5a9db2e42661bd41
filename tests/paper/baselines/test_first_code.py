"""The paper's first code: kernels against plain Python, what weights mean, and a fit."""

import pickle

import numpy as np
import pytest

from paper.baselines import kernels, reference
from paper.baselines.first_code import (
    FirstCodeSettings,
    fit_first_code,
    learn_weights,
    selections_of,
)
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import FrequencyScorer, evaluate
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.family import family

SETTINGS = FirstCodeSettings(rounds=2, drawn=20, kept=5)


def problem(seed: int):
    """Four queries with up to three candidates (one has none), each reached by one or two of three rules."""
    rng = np.random.default_rng(seed)
    query_ptr = np.array([0, 3, 3, 5, 6])
    sizes = rng.integers(1, 3, 6)
    rule = np.concatenate([rng.permutation(3)[:size] for size in sizes])
    count, flags = rng.integers(1, 4, len(rule)), rng.random(6) < 0.5
    return query_ptr, np.append(0, np.cumsum(sizes)), rule, count, flags


@pytest.mark.parametrize("seed", range(5))
def test_kernels_do_what_their_twins_do(seed):
    *walks, flags = problem(seed)
    found, expected = (np.random.default_rng(seed).normal(size=3) for _ in range(2))
    kernels.adam_pass(*walks, flags, found, 0.01, 0.05, 2.0)
    reference.adam_pass(*(array.tolist() for array in walks), flags, expected, 0.01, 0.05, 2.0)
    assert found == pytest.approx(expected, rel=1e-9)
    selected = kernels.select(*walks, flags, found, 7)
    assert selected == pytest.approx(reference.select(*(a.tolist() for a in walks), flags, found, 7))
    assert selected.sum() == pytest.approx(3)  # a query without candidates selects nothing


def graph_with(share: float) -> Graph:
    """Relation 0 holds where 1 leads; 2 leads there for a share of the heads, and else elsewhere."""
    facts = [(i, r, i + 100) for i in range(100) for r in (0, 1)]
    facts += [(i, 2, i + 100 if i < 100 * share else 200) for i in range(100)]
    return Graph.from_triples(facts, 201, 3)


def test_a_weight_follows_the_share_of_walks_to_known_answers():
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (2,))])
    often, seldom = (learn_weights(graph_with(share), rules, SETTINGS) for share in (0.9, 0.3))
    assert often[0] > often[1] > seldom[1]
    assert selections_of(graph_with(0.3), rules, SETTINGS)[0] > 50


def test_other_known_answers_are_right_unless_told():
    facts = [(i, r, t) for i in range(50) for r in (0, 1) for t in (i + 50, (i + 1) % 50 + 50)]
    graph, rules = Graph.from_triples(facts, 100, 2), RuleSet.from_rules([Chain(0, (1,))])
    right, wrong = (learn_weights(graph, rules, SETTINGS, others_right=way)[0] for way in (True, False))
    assert right > 2 * abs(wrong)


def test_a_fit_answers_better_than_frequency_and_can_be_sent_elsewhere():
    dataset, told = family(), []
    scorer = fit_first_code(dataset, SETTINGS, lambda *given: told.append(given))
    assert [given[:2] for given in told] == [(1, 2), (2, 2)]
    found = evaluate(pickle.loads(pickle.dumps(scorer)), dataset, "valid").metrics()["mrr"]
    assert found == evaluate(scorer, dataset, "valid").metrics()["mrr"]
    assert found > evaluate(FrequencyScorer(), dataset, "valid").metrics()["mrr"]
    graph = dataset.graph("train")
    scores = scorer.score(graph, np.array([0], np.int32), np.array([0], np.int32))
    assert np.isfinite(scores).all()
