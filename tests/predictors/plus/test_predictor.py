"""RNNLogic+ as a scorer, against its parts put together by hand."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import transformed
from rnnlogic.predictors.base import RuleValues, reaching
from rnnlogic.predictors.eta import combinations, reciprocal_ranks
from rnnlogic.predictors.paths.predictor import PathValues, path_model
from rnnlogic.predictors.paths.settings import PathSettings
from rnnlogic.predictors.plus.predictor import PlusParameters, PlusScorer
from tests.helpers.embeddings import path_score, random_embedding
from tests.helpers.family import family, given_rules

DATA = family().counting("walks")  # more rules reach an answer
GRAPH, KNOWN = DATA.graph("train"), given_rules(DATA)
NUM_RELATIONS = 2 * DATA.vocab.num_relations
EMBEDDING = random_embedding(DATA.vocab.num_entities, DATA.vocab.num_relations)
PARENT = DATA.vocab.relation_id("parent")
HEADS = np.array([DATA.vocab.entity_id(name) for name in ("grandpa0", "child1_0", "child2_1")], np.int32)


def parameters_of(eta=0.0, **changes):
    rng = np.random.default_rng(0)
    sizes = {
        "vectors": (len(KNOWN.rules), 3),
        "psi": len(KNOWN.rules),
        "relations": (NUM_RELATIONS, 5),
        "layer": (3, 12, 5),
        "output": 5,
    }
    arrays = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    weights = np.full(NUM_RELATIONS, eta)
    return PlusParameters("pna", usual_degree=0.9, eta=weights, **(arrays | changes))


def scorer_of(eta=0.0, paths=None, threads=1):
    rules = KNOWN.rules
    values = RuleValues(rules, "log1p") if paths is None else PathValues(rules, "log1p", paths)
    return PlusScorer(rules, KNOWN.weights, parameters_of(eta), values, EMBEDDING, threads)


def score_by_hand(head, tail, paths=None, without=None):
    """The network on the rules that lead from head to tail, and how many rules those are."""
    found = reaching(Grounder(GRAPH, KNOWN.rules, 1), head, PARENT, tail, is_hidden=False)
    rule = found.rule_id
    kept = np.array([k != without for k in rule], bool)
    ptr, value = np.array([0, kept.sum()]), transformed(found, "log1p", np.float32)[kept]
    whole = parameters_of()
    by_network = replace(whole, psi=0 * whole.psi).rule_scores(PARENT, ptr, rule[kept], value)[0]
    bodies = [KNOWN.rules[int(k)].body for k in rule[kept]]
    phi = [1.0 if paths is None else path_score(paths, head, body, tail) for body in bodies]
    return len(rule), by_network + sum(whole.psi[rule[kept]] * value * phi)


@pytest.mark.parametrize("with_paths", [False, True])
@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_scores(eta, with_paths):
    paths = path_model(EMBEDDING, PathSettings()) if with_paths else None
    scores = scorer_of(eta, paths, 2).score(GRAPH, HEADS, np.full(3, PARENT, np.int32))
    share = eta * EMBEDDING.score(GRAPH, HEADS, np.full(3, PARENT, np.int32))
    reached = 0
    for row, head in enumerate(HEADS):
        for tail in range(DATA.vocab.num_entities):
            rules, by_rules = score_by_hand(int(head), tail, paths)
            reached += bool(rules)
            expected = by_rules + share[row, tail] if rules or eta else -np.inf
            assert scores[row, tail] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert reached >= 5


def test_contributions_are_by_leaving_out():
    scorer, head = scorer_of(0.3), int(HEADS[1])
    several = 0
    for tail in range(DATA.vocab.num_entities):
        parts = scorer.contributions(GRAPH, head, PARENT, tail)
        _, whole = score_by_hand(head, tail)
        for rule, value in zip(parts.rule, parts.values, strict=True):
            expected = whole - score_by_hand(head, tail, without=rule)[1]
            assert value == pytest.approx(expected, rel=1e-4, abs=1e-4)
        several += len(parts.rule) > 1
        assert parts.kind == "leave-one-out"
        total = scorer.score(GRAPH, HEADS[1:2], np.array([PARENT], np.int32))[0, tail]
        assert parts.rest + whole == pytest.approx(total, rel=1e-4, abs=1e-4)
    assert several


def test_without_an_embeddings_say_there_is_no_rest():
    assert scorer_of().contributions(GRAPH, int(HEADS[0]), PARENT, 0).rest is None


@pytest.mark.parametrize("most_facts", [10, 10**6])
def test_every_eta_is_measured_as_evaluation_does(most_facts):
    tried = (0.0, 0.2, 3.0)
    alone, each = scorer_of().without_embedding(), combinations(tried, EMBEDDING)
    sums, asked = reciprocal_ranks(alone, EMBEDDING, DATA, each, most_facts)
    found = sums.sum(axis=0) / asked.sum()
    for eta, mrr in zip(tried, found, strict=True):
        expected = evaluate(scorer_of(eta), DATA, "valid", most_facts=most_facts).metrics()["mrr"]
        assert mrr == pytest.approx(expected)
    assert len(set(found)) == 3
