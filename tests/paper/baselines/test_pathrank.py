"""PathRank against plain loops and against scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from paper.baselines.pathrank import (
    Pairs,
    PathRankScorer,
    PathRankSettings,
    build_pairs,
    fit_pathrank,
    logistic_regression,
)
from rnnlogic.evaluation.evaluate import FrequencyScorer, evaluate
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries
from tests.helpers.family import RULES, family

DATASET = family().counting("walks")
GRAPH, RULESET = DATASET.graph("train"), RuleSet.from_text(list(RULES), DATASET.vocab)


def ends(body, head: int, hidden: tuple[int, int, int] | None) -> dict[int, int]:
    """Walks along a body to each entity, without one fact."""
    counts = {head: 1}
    for relation in body:
        after: dict[int, int] = {}
        for entity, count in counts.items():
            for tail in GRAPH.neighbours(entity, relation).tolist():
                forth, back = (entity, relation, tail), (tail, GRAPH.inverse(relation), entity)
                if hidden not in (forth, back):
                    after[tail] = after.get(tail, 0) + count
        counts = after
    return counts


def features(head: int, relation: int, tail: int, hidden: tuple[int, int, int] | None) -> list[float]:
    """The share of every rule's walks that end in the tail, by rule id."""
    found = []
    for i in RULESET.by_head(relation):
        counts = ends(RULESET[int(i)].body, head, hidden)
        found.append(counts.get(tail, 0) / max(1, sum(counts.values())))
    return found


def test_scores_are_weighted_shares_of_walks():
    weights = np.random.default_rng(0).normal(size=len(RULESET))
    queries = training_queries(GRAPH, 5, 0)
    scores = PathRankScorer(RULESET, weights).score(GRAPH, queries[:, 0], queries[:, 1])
    for row, (head, relation, _) in zip(scores, queries.tolist(), strict=True):
        for entity in range(GRAPH.num_entities):
            values = features(head, relation, entity, None)
            expected = weights[RULESET.by_head(relation)] @ values if any(values) else -np.inf
            assert row[entity] == pytest.approx(expected)


def test_pairs_are_answers_and_what_is_not_known():
    relation = DATASET.vocab.relation_id("parent")
    queries = training_queries(GRAPH, None, 0)
    queries = queries[queries[:, 1] == relation]
    grounder = Grounder(GRAPH, RULESET, threads=1)
    pairs = build_pairs(grounder, queries, 10**6, np.random.default_rng(0))
    right, wrong = [], []
    for query in queries.tolist():
        for entity in range(GRAPH.num_entities):
            values = features(query[0], relation, entity, tuple(query))
            if any(values) and entity == query[2]:
                right.append(values)
            elif any(values) and not GRAPH.has(query[0], relation, entity):
                wrong.append(values)
    for mask, expected in ((pairs.is_fact, right), (~pairs.is_fact, wrong)):
        assert np.sort(pairs.features.toarray()[mask], axis=0) == pytest.approx(np.sort(expected, axis=0))
    fewer = build_pairs(grounder, queries[:1], 1, np.random.default_rng(0))
    assert (~fewer.is_fact).sum() == 1


def test_weights_are_those_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    values = rng.random((200, 3)) * (rng.random((200, 3)) < 0.5)
    is_fact = rng.random(200) < 1 / (1 + np.exp(1 - 3 * values[:, 0] + 2 * values[:, 1]))
    found = logistic_regression(Pairs(csr_array(values), is_fact), weight_decay=0.5, steps=200)
    model = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000).fit(values, is_fact)
    np.testing.assert_allclose(found, model.coef_[0], rtol=1e-3, atol=1e-3)


def test_it_learns():
    scorer = fit_pathrank(DATASET, PathRankSettings(rules=40))
    floor = evaluate(FrequencyScorer(), DATASET, "valid").metrics()["mrr"]
    assert evaluate(scorer, DATASET, "valid").metrics()["mrr"] > floor + 0.3
    assert np.array_equal(scorer.weights, fit_pathrank(DATASET, PathRankSettings(rules=40)).weights)
