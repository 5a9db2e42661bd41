"""The scorer of every baseline can be called from several Python threads at once, and can be pickled."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from rnnlogic.data.graph import Graph
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from rnnlogic.studies.baselines.confidence import confidence_scorer
from rnnlogic.studies.baselines.differentiable import (
    DifferentiableScorer,
    DifferentiableSettings,
    make_model,
)
from rnnlogic.studies.baselines.pathrank import PathRankScorer
from tests.family import RULES, family

DATASET = family()
GRAPH = DATASET.graph("train")
FEWER = Graph.from_triples(DATASET.train[::2], GRAPH.num_entities, GRAPH.num_relations)
HEADS = np.repeat(np.arange(GRAPH.num_entities, dtype=np.int32), 2 * GRAPH.num_relations)
RELATIONS = np.tile(np.arange(2 * GRAPH.num_relations, dtype=np.int32), GRAPH.num_entities)
CALLS, CALLERS = 24, 8


def table() -> RuleTable:
    rules = RuleSet.from_text(list(RULES), DATASET.vocab)
    support = np.arange(len(rules)) % 7 + 1
    return RuleTable(rules, {"predictions": [10] * len(rules), "support": support.tolist()})


def differentiable(name: str) -> DifferentiableScorer:
    settings = DifferentiableSettings(model=name, steps=2, hidden_size=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return DifferentiableScorer(make_model(2 * GRAPH.num_relations, settings), batch_size=16)


def pathrank() -> PathRankScorer:
    rules = table().rules
    return PathRankScorer(rules, np.random.default_rng(0).normal(size=len(rules)))


SCORERS = {
    "max": lambda: confidence_scorer(table(), "max", threads=1),
    "noisy-or": lambda: confidence_scorer(table(), "noisy-or", threads=1),
    "pathrank": pathrank,
    "neural-lp": lambda: differentiable("neural-lp"),
    "drum": lambda: differentiable("drum"),
}
every_scorer = pytest.mark.parametrize("name", SCORERS)


@every_scorer
def test_several_threads_may_ask_about_different_graphs(name):
    expected = [SCORERS[name]().score(graph, HEADS, RELATIONS) for graph in (GRAPH, FEWER)]
    assert not np.array_equal(*expected)
    shared = SCORERS[name]()
    graphs = [(GRAPH, FEWER)[i % 2] for i in range(CALLS)]
    with ThreadPoolExecutor(CALLERS) as pool:
        found = list(pool.map(lambda graph: shared.score(graph, HEADS, RELATIONS), graphs))
    for i, scores in enumerate(found):
        assert np.array_equal(scores, expected[i % 2])


class Interrupted:
    """A model that is asked about another graph in the middle of every batch, as if by another thread."""

    def __init__(self, scorer):
        self.scorer, self.model, self.is_inside = scorer, scorer.model, False

    def __call__(self, edges, questions):
        if not self.is_inside:
            self.is_inside = True
            self.scorer.score(FEWER, HEADS, RELATIONS)
            self.is_inside = False
        return self.model(edges, questions)


@pytest.mark.parametrize("name", ["neural-lp", "drum"])
def test_a_call_keeps_the_edges_of_its_graph(name):
    scorer = differentiable(name)
    expected = scorer.score(GRAPH, HEADS, RELATIONS)
    scorer.model = Interrupted(scorer)
    assert np.array_equal(scorer.score(GRAPH, HEADS, RELATIONS), expected)


@every_scorer
def test_a_pickled_copy_gives_the_same_scores(name):
    scorer = SCORERS[name]()
    copied = pickle.loads(pickle.dumps(scorer))
    assert np.array_equal(copied.score(GRAPH, HEADS, RELATIONS), scorer.score(GRAPH, HEADS, RELATIONS))


@pytest.mark.parametrize("name", [name for name in SCORERS if name != "noisy-or"])  # a RuleScorer: see there
def test_a_scorer_can_be_pickled_after_use(name):
    scorer = SCORERS[name]()
    scores = scorer.score(GRAPH, HEADS, RELATIONS)
    assert np.array_equal(pickle.loads(pickle.dumps(scorer)).score(GRAPH, HEADS, RELATIONS), scores)


def test_the_last_graph_is_not_pickled():
    scorer = differentiable("drum")
    before = pickle.dumps(scorer)
    scorer.score(GRAPH, HEADS, RELATIONS)
    assert pickle.dumps(scorer) == before
