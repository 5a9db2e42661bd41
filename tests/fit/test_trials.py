"""Trials of settings: each is judged as if it had been fitted and evaluated alone."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.base.budget import Work
from rnnlogic.config import override
from rnnlogic.data.annotations import Annotations
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.evaluation.ranks import query_metrics
from rnnlogic.fit.choice import Trials
from rnnlogic.fit.weights import NO_RULES, evidence_rules
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.links import hidden_answers
from rnnlogic.mining.mine import mine_rules
from rnnlogic.predictors.base import Task, predictor_class
from rnnlogic.predictors.loglinear.fit import Lesson, gathered, solve_relations
from rnnlogic.rules.patterns import Banned
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.family import family, tiny_config

ON = [
    "evidence.negative_evidence=learned",
    "evidence.constants=true",
    "evidence.prior=true",
    "evidence.surest=true",
]


@pytest.fixture(scope="module")
def task():
    data, config = family(), override(tiny_config(), ON)
    graph, banned = data.graph("train"), Banned((), data.vocab)
    chains = mine_rules(graph, config.mine, 2, seed=0, work=Work(1)).rules
    chains = chains.trusted(np.random.default_rng(1).random(len(chains)))
    rules = chains | mine_constants(graph, 5) | evidence_rules(graph, config, banned, NO_RULES)
    return Task(data, rules, config, 1)


@pytest.fixture
def tried(task):
    queries = training_queries(task.dataset.graph("train"), None, 0)
    values = predictor_class("rnnlogic").values(task.rules, task.config, None)
    return Trials(task, values, task.dataset.valid, queries)


def options_of(task):
    changes = [{}, {"weight_decay": 1.0}, {"evidence_decay": 0.01}, {"feature": "binary"}]
    return [task.config.predictor.model_copy(update=one) for one in changes]


def alone(task, settings):
    """Reciprocal ranks by a predictor that is learned with these settings."""
    data, rules = task.dataset, task.rules
    graph = data.graph("train")
    queries = training_queries(graph, None, 0)
    values = predictor_class("rnnlogic").values(rules, task.config, None)
    hidden = hidden_answers(graph, data.valid, queries, task.config.seed)
    solved = solve_relations(Lesson(graph, values, queries, settings, task.config.seed, hidden), Work(1))
    scorer = values.scorer(gathered(len(rules), solved)[0], 1)
    return query_metrics(evaluate(scorer, data, "valid").ranks)["mrr"]


def test_options_rank_as_each_would_alone(task, tried):
    options = options_of(task)[:3]
    found = tried.reciprocal_ranks(options)
    assert len({ranks.tobytes() for ranks in found}) == len(options), "they differ"
    for settings, ranks in zip(options, found, strict=True):
        np.testing.assert_allclose(ranks, alone(task, settings), atol=1e-9)


def test_ranks_do_not_depend_on_threads_and_progress_is_told(task, tried):
    options, seen = options_of(task), []
    first = tried.reciprocal_ranks(options, lambda done, total, note="": seen.append((done, total)))
    assert seen == [(done, len(tried.units)) for done in range(len(tried.units) + 1)]
    parallel = Trials(replace(task, threads=2), tried.values, tried.facts, tried.queries)
    np.testing.assert_array_equal(parallel.reciprocal_ranks(options), first)


def test_validation_answers_count_by_the_weights_of_their_facts(task, tried):
    data = task.dataset
    valid = data.valid[:3]
    told = Annotations(valid, np.array([0.25, 0.5, 0.5]))
    weighted = Trials(
        replace(task, dataset=replace(data, annotations=told)), tried.values, valid, tried.queries
    )
    importance = weighted.importance()
    asked = np.concatenate([unit.asked for unit in weighted.units])
    is_weak = np.array([{h, t} == {valid[0, 0], valid[0, 2]} for h, _, t in asked.tolist()])
    assert importance[~is_weak] == pytest.approx(1.2)
    assert importance[is_weak] == pytest.approx(0.6)
    assert tried.importance() == 1.0
