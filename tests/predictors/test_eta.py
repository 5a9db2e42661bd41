"""The weight of the embedding's own score, against evaluating every weight by itself."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.embeddings.base import Together
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.predictors.eta import best_etas, combinations, reciprocal_ranks
from rnnlogic.predictors.paths.predictor import PathRuleScorer, path_model
from rnnlogic.predictors.paths.settings import PathSettings
from tests.helpers.embeddings import random_complex, random_embedding
from tests.helpers.family import family, given_rules

ETAS = (0.0, 0.25, 2.0)


@pytest.mark.parametrize("most_facts", [10, 10**6])
def test_every_eta_is_measured_as_evaluation_does(monkeypatch, most_facts):
    monkeypatch.setattr("rnnlogic.predictors.eta.SCORES", 500)  # several pieces
    dataset = family()
    learned = given_rules(dataset)
    embedding = random_embedding(dataset.vocab.num_entities, dataset.vocab.num_relations)
    paths = path_model(embedding, PathSettings())

    def scorer(eta):
        return PathRuleScorer(learned.rules, learned.weights, "log1p", paths, eta)

    sums, asked = reciprocal_ranks(scorer(0.0), embedding, dataset, combinations(ETAS, embedding), most_facts)
    found = sums.sum(axis=0) / asked.sum()
    for eta, mrr in zip(ETAS, found, strict=True):
        expected = evaluate(scorer(eta), dataset, "valid", most_facts=most_facts).metrics()["mrr"]
        assert mrr == pytest.approx(expected)
    assert len(set(found)) == 3


def test_each_of_two_embeddings_has_its_own_eta():
    dataset = family()
    learned, size = given_rules(dataset), (dataset.vocab.num_entities, dataset.vocab.num_relations)
    both = Together((random_embedding(*size), random_complex(*size)))
    tried = combinations((0.05, 0.5, 2.0), both)
    assert tried.shape == (9, 2)
    alone = PathRuleScorer(learned.rules, learned.weights, "log1p", None, 0.0, 1, both)
    sums, asked = reciprocal_ranks(alone, both, dataset, tried, 10**6)
    etas = best_etas(sums, asked, tried, 0.0)
    assert etas.shape == (2, 2 * dataset.vocab.num_relations)
    assert len(np.unique(etas, axis=1).T) > 1
    expected = sums.max(axis=1).sum() / asked.sum()
    found = evaluate(replace(alone, eta=etas), dataset, "valid").metrics()["mrr"]
    assert found == pytest.approx(expected)
    assert found > (sums.sum(axis=0) / asked.sum()).max()


def test_an_eta_for_each_relation():
    sums, asked = np.array([[1.0, 2.0], [3.0, 2.9], [0.0, 0.0]]), np.array([4, 4, 2])
    tried = np.array([[0.0, 5.0], [1.0, 6.0]])  # for each of two embeddings
    assert best_etas(sums, asked, tried, 0.0).tolist() == [[1, 0, 0], [6, 5, 5]]
    assert best_etas(sums, asked, tried, 0.5).tolist() == [[1, 0, 1], [6, 5, 6]]
    assert best_etas(sums, asked, tried, 2.0).tolist() == [[1, 1, 1], [6, 6, 6]]
    assert best_etas(sums, asked, tried, np.inf).tolist() == [[1, 1, 1], [6, 6, 6]]


def test_settings_reach_the_path_model():
    embedding = random_embedding(4, 2, margin=3.5)
    assert path_model(embedding, PathSettings()).delta == 3.5
    assert path_model(embedding, PathSettings(shift=-1.0)).delta == 2.5
    chosen = path_model(embedding, PathSettings(delta=0.25, temperature=2.0))
    assert (chosen.delta, chosen.temperature) == (0.25, 2.0)
