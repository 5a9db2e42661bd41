"""Rules with path scores against listing every walk and scoring it by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.data.graph import Graph
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.predictors.paths.predictor import PathModel, PathRuleScorer
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.embeddings import path_distance, path_score, random_embedding
from tests.helpers.graphs import ENTITIES, RELATIONS, cases, entities, relation_ids
from tests.helpers.walks import expected_counts

FEATURE = {"count": lambda n: n, "log1p": math.log1p, "binary": lambda n: 1.0}


@st.composite
def scorers(draw):
    """Random rules with weights on a random graph, with or without a say of the embedding itself."""
    case = draw(cases())
    weights = np.random.default_rng(draw(st.integers(0, 9))).normal(size=len(case.rules))
    paths = PathModel(random_embedding(ENTITIES, RELATIONS), 8.0, draw(st.sampled_from([1.0, 3.0])))
    feature = draw(st.sampled_from(sorted(FEATURE)))
    return case, PathRuleScorer(case.rules, weights, feature, paths, draw(st.sampled_from([0.0, 0.5])), 1)


def expected_scores(case, scorer):
    """Scores [queries, E] as sums over rules of weight * feature(number of walks) * phi."""
    paths, eta = scorer.paths, scorer.eta
    scores = np.full((len(case.queries), ENTITIES), -np.inf)
    for q, (head, relation, _) in enumerate(case.queries if eta else ()):
        for end in range(ENTITIES):
            distance = path_distance(paths.embedding, head, (relation,), end)
            scores[q, end] = eta * (paths.embedding.margin - distance)
    for (q, end, i), count in expected_counts(case).items():
        phi = path_score(paths, case.queries[q][0], case.rules[i].body, end)
        before = 0.0 if scores[q, end] == -np.inf else scores[q, end]
        scores[q, end] = before + scorer.weights[i] * FEATURE[scorer.feature](count) * phi
    return scores


@given(scorers())
def test_scores_by_listing_walks(given_scorer):
    case, scorer = given_scorer
    scores = np.full((len(case.queries), ENTITIES), -np.inf)
    for chunk in scorer.scored(case.graph, case.heads, case.relations, case.hidden):
        chunk.fill(scores)
    np.testing.assert_allclose(scores, expected_scores(case, scorer), rtol=1e-3, atol=1e-4)


@given(scorers(), entities, relation_ids, entities)
def test_contributions_sum_to_the_score(given_scorer, head, relation, tail):
    case, scorer = given_scorer
    scores = np.full((1, ENTITIES), -np.inf)
    for chunk in scorer.scored(case.graph, [head], relation, tail):
        chunk.fill(scores)
    parts = scorer.contributions(case.graph, head, relation, tail, is_hidden=True)
    assert (parts.rest is None) == (scorer.eta == 0)
    if scores[0, tail] == -np.inf:
        assert len(parts.rule) == 0
    else:
        assert abs(parts.values.sum() + (parts.rest or 0.0) - scores[0, tail]) < 1e-6
    for rule, phi in zip(parts.rule, parts.phi, strict=True):
        expected = path_score(scorer.paths, head, case.rules[int(rule)].body, tail)
        assert phi == pytest.approx(expected, rel=1e-3, abs=1e-5)


@given(scorers())
def test_a_high_delta_makes_all_paths_alike(given_scorer):
    case, scorer = given_scorer
    alike = PathModel(scorer.paths.embedding, delta=1e4)
    rules = PathRuleScorer(case.rules, scorer.weights, scorer.feature, alike, 0.0, 1)
    plain = RuleScorer(case.rules, scorer.weights, scorer.feature, 1)
    asked = case.graph, np.array(case.heads), np.array(case.relations)
    np.testing.assert_allclose(rules.score(*asked), plain.score(*asked), rtol=1e-6, atol=1e-9)


def test_threads_and_company_change_no_bit():
    rng = np.random.default_rng(0)
    graph = Graph.from_triples(rng.integers(0, (20, 2, 20), (60, 3)), 20, 2)
    rules = RuleSet.from_rules(Chain(head, (a, b)) for head in (0, 1, 3) for a in range(4) for b in range(4))
    paths, weights = PathModel(random_embedding(20, 2, dim=40), 60.0), rng.normal(size=len(rules))
    heads, relations = rng.integers(0, 20, 500, np.int32), rng.integers(0, 4, 500, np.int32)
    for eta in (0.0, 1.0):
        one, four = (
            PathRuleScorer(rules, weights, "log1p", paths, eta, threads).score(graph, heads, relations)
            for threads in (1, 4)
        )
        np.testing.assert_array_equal(one, four)
        alone = PathRuleScorer(rules, weights, "log1p", paths, eta).score(graph, heads[:1], relations[:1])
        np.testing.assert_array_equal(alone[0], one[0])
        assert np.isfinite(one[relations != 2]).any()
        assert np.isfinite(one[relations == 2]).all() == bool(eta)  # no rules, but the embedding has a say
