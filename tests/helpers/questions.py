"""Random questions for scorers of every kind, and a vocabulary for them."""

import math

import numpy as np
from hypothesis import strategies as st

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.predictors.base import RuleValues
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.predictors.paths.predictor import PathModel, PathRuleScorer
from rnnlogic.predictors.plus.predictor import PlusParameters, PlusScorer
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.embeddings import random_embedding

FEATURE = {"count": lambda n: n, "log1p": math.log1p, "binary": lambda n: 1.0}
ENTITIES, RELATIONS = 5, 2
VOCAB = Vocab(tuple(f"e{i}" for i in range(ENTITIES)), tuple(f"r{i}" for i in range(RELATIONS)))
EMBEDDING = random_embedding(ENTITIES, RELATIONS)
KINDS = ("rules", "paths", "paths and embedding", "plus", "plus and embedding")


@st.composite
def questions(draw, kinds=("rules",)):
    """A random graph, weighted rules, a question with a known answer, and any entity as the answer asked."""
    entity, relation = st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1)
    facts = draw(st.lists(st.tuples(entity, relation, entity), min_size=6, max_size=20))
    any_relation = st.integers(0, 2 * RELATIONS - 1)
    head, asked, tail = draw(st.sampled_from(facts))
    if draw(st.booleans()):
        head, asked = tail, asked + RELATIONS
    bodies = draw(st.lists(st.lists(any_relation, min_size=1, max_size=3).map(tuple), min_size=1, max_size=6))
    rules = RuleSet.from_rules(Chain(asked, body) for body in bodies)
    weights = np.array(
        draw(st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=len(rules), max_size=len(rules)))
    )
    feature = draw(st.sampled_from(sorted(FEATURE)))
    graph = Graph.from_triples(facts, ENTITIES, RELATIONS)
    return graph, scorer_of(draw(st.sampled_from(kinds)), rules, weights, feature), head, asked, draw(entity)


def scorer_of(kind, rules, weights, feature):
    """A scorer of one of the kinds."""
    eta = 0.5 if "embedding" in kind else 0.0
    if kind == "rules":
        return RuleScorer(rules, weights, feature, 1)
    if kind.startswith("paths"):
        return PathRuleScorer(rules, weights, feature, PathModel(EMBEDDING, 8.0, 2.0), eta, 1)
    rng = np.random.default_rng(len(rules))
    sizes = {
        "vectors": (len(rules), 3),
        "psi": len(rules),
        "relations": (2 * RELATIONS, 5),
        "layer": (3, 12, 5),
        "output": 5,
    }
    arrays = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    eta_by_relation = np.full(2 * RELATIONS, eta)
    parameters = PlusParameters("pna", usual_degree=0.9, eta=eta_by_relation, **arrays)
    return PlusScorer(rules, weights, parameters, RuleValues(rules, feature), EMBEDDING, 1)
