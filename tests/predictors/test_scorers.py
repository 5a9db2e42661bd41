"""The weight of the embedding's own score, against evaluating every weight by itself."""

import numpy as np
import pytest
from rnnlogic.predictors.scorers import make_scorer, path_model, validation_mrr_by_weight

from rnnlogic.config import Config
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.predictors.paths.predictor import PathRuleScorer
from rnnlogic.predictors.paths.settings import PathSettings
from tests.family import family, given_rules
from tests.predictors.paths.oracles import random_embedding

WEIGHTS = (0.0, 0.25, 2.0)


@pytest.mark.parametrize("most_facts", [10, 10**6])
def test_every_weight_is_measured_as_evaluation_does(monkeypatch, most_facts):
    monkeypatch.setattr("rnnlogic.predictors.scorers.SCORES", 500)  # several pieces
    dataset = family()
    learned, config = given_rules(dataset), Config(variant="rnnlogic-emb")
    embedding = random_embedding(dataset.vocab.num_entities, dataset.vocab.num_relations)
    rules = make_scorer(learned.rules, learned.weights, config, embedding)
    found = validation_mrr_by_weight(dataset, rules, embedding, WEIGHTS, most_facts)
    for weight, mrr in zip(WEIGHTS, found, strict=True):
        scorer = make_scorer(learned.rules, learned.weights, config, embedding, weight)
        expected = evaluate(scorer, dataset, "valid", most_facts=most_facts).metrics()["mrr"]
        assert mrr == pytest.approx(expected)
    assert len(set(found)) == 3


def test_settings_reach_the_scorer():
    embedding = random_embedding(4, 2, margin=3.5)
    assert path_model(embedding, PathSettings()).delta == 3.5
    assert path_model(embedding, PathSettings(shift=-1.0)).delta == 2.5
    chosen = path_model(embedding, PathSettings(delta=0.25, temperature=2.0, distance="euclidean"))
    assert (chosen.delta, chosen.temperature, chosen.distance) == (0.25, 2.0, "euclidean")
    learned = given_rules(family())
    plain = make_scorer(learned.rules, learned.weights, Config(threads=3))
    assert isinstance(plain, RuleScorer)
    assert plain.threads == 3
    scored = make_scorer(
        learned.rules, learned.weights, Config(variant="rnnlogic-emb", threads=3), embedding, 0.5
    )
    assert isinstance(scored, PathRuleScorer)
    assert (scored.answer_weight, scored.threads) == (0.5, 3)
    np.testing.assert_array_equal(scored.weights, learned.weights)
