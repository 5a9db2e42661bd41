"""Trials of variants: each is judged as if it had been fitted and evaluated alone."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.config import override
from rnnlogic.evaluation.evaluate import reciprocal_ranks
from rnnlogic.fit import trials
from rnnlogic.fit.evidence import NO_RULES, evidence_rules
from rnnlogic.fit.trials import Trials, Variant
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.links import hidden_answers
from rnnlogic.mining.mine import mine_rules
from rnnlogic.predictors.base import Task, predictor_class
from rnnlogic.predictors.loglinear.fit import gathered, solve_relations
from rnnlogic.rules.patterns import Banned
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.family import family, tiny_config

ON = [
    "evidence.negative_evidence=learned",
    "evidence.constants=true",
    "evidence.prior=true",
    "evidence.surest=true",
]
MANY = 1000  # candidates: more than there are


@pytest.fixture(scope="module")
def task():
    data, config = family(), override(tiny_config(), ON)
    graph, banned = data.graph("train"), Banned((), data.vocab)
    chains = mine_rules(graph, config.mine, 2, seed=0, threads=1).rules
    chains = chains.trusted(np.random.default_rng(1).random(len(chains)))
    rules = chains | mine_constants(graph, 5) | evidence_rules(graph, config, banned, NO_RULES)
    return Task(data, rules, config, 1)


@pytest.fixture
def tried(task):
    queries = training_queries(task.dataset.graph("train"), None, 0)
    values = predictor_class("rnnlogic").values(task.rules, task.config, None)
    return Trials(task, values, task.dataset.valid, queries, MANY)


def variants_of(task):
    rules = task.rules
    rng, always = np.random.default_rng(0), np.zeros(len(rules), bool)
    masks = [~always, rng.random(len(rules)) < 0.5, ~rules.are_features, rules.lengths < 2, always]
    ways = [False, True, "noisy_or", "only", "only"]
    return [
        Variant(mask, task.config.predictor.model_copy(update={"by_confidence": way}))
        for mask, way in zip(masks, ways, strict=True)
    ]


def alone(task, variant, hides):
    """Reciprocal ranks by a predictor of the variant's rules only."""
    data, rules = task.dataset, task.rules.filter(variant.kept)
    graph = data.graph("train")
    queries = training_queries(graph, None, 0)
    values = predictor_class("rnnlogic").values(rules, task.config, None)
    hidden = hidden_answers(graph, data.valid, queries, task.config.seed) if hides else None
    solved = solve_relations(graph, values, queries, variant.settings, task.config.seed, 1, hidden=hidden)
    return reciprocal_ranks(values.scorer(gathered(len(rules), solved)[0], 1), data, data.valid)


@pytest.mark.parametrize("hides", [False, True])
def test_variants_rank_as_each_would_alone(task, tried, hides):
    variants = variants_of(task)
    found = tried.reciprocal_ranks(variants, hides)
    for variant, ranks in zip(variants, found, strict=True):
        np.testing.assert_allclose(ranks, alone(task, variant, hides), atol=1e-9)


@pytest.mark.parametrize("held", [trials.HELD, 0])
def test_ranks_do_not_depend_on_what_is_held_or_on_threads(task, tried, held, monkeypatch):
    monkeypatch.setattr(trials, "HELD", held)
    variants = variants_of(task)
    first = tried.reciprocal_ranks(variants, True)
    assert bool(tried._problems[True]) == (held > 0)
    np.testing.assert_array_equal(tried.reciprocal_ranks(variants[1:], True), first[1:])
    parallel = Trials(replace(task, threads=2), tried.values, tried.facts, tried.queries, MANY)
    np.testing.assert_array_equal(parallel.reciprocal_ranks(variants, True), first)
