"""NeuralLP and DRUM keep the edges of the last graph ready: no other call may disturb them."""

import pickle

import numpy as np
import pytest
import torch

from paper.baselines.differentiable import (
    DifferentiableScorer,
    DifferentiableSettings,
    make_model,
)
from rnnlogic.data.graph import Graph
from tests.helpers.family import family

DATASET = family()
GRAPH = DATASET.graph("train")
FEWER = Graph.from_triples(DATASET.train[::2], GRAPH.num_entities, GRAPH.num_relations)
HEADS = np.repeat(np.arange(GRAPH.num_entities, dtype=np.int32), 2 * GRAPH.num_relations)
RELATIONS = np.tile(np.arange(2 * GRAPH.num_relations, dtype=np.int32), GRAPH.num_entities)


def differentiable(name: str) -> DifferentiableScorer:
    settings = DifferentiableSettings(model=name, steps=2, hidden_size=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return DifferentiableScorer(make_model(2 * GRAPH.num_relations, settings), batch_size=16)


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


def test_the_last_graph_is_not_pickled():
    scorer = differentiable("drum")
    before = pickle.dumps(scorer)
    scorer.score(GRAPH, HEADS, RELATIONS)
    assert pickle.dumps(scorer) == before
