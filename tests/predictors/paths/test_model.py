"""phi against complex numbers, step by step."""

import numpy as np
import pytest

from rnnlogic.predictors.paths.predictor import PathModel
from rnnlogic.rules.rule import Chain, Feature
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.embeddings import path_score, random_embedding
from tests.helpers.walks import candidates_of

BODIES = [(0, 1), (1, 0), (0, 1, 2), (4, 0), (3,), (1, 3, 1), (0, 0, 0), ()]  # of relations 0..2 and inverses
RULES = RuleSet.from_rules([Chain(1, (2,)), *(Chain(0, body) for body in BODIES)])


@pytest.mark.parametrize("delta", [4.0, 7.0])
def test_phi_of_every_rule(delta):
    paths = PathModel(random_embedding(6, 3), delta, temperature=1.5)
    n = len(BODIES)
    heads, ends = [2, 5, 2], [0, 2, 4]
    rules = np.tile(np.arange(n), 3)
    results = candidates_of(np.arange(4), np.arange(4) * n, rules, heads=heads, entity=ends)
    expected = [
        path_score(paths, head, body, end) for head, end in zip(heads, ends, strict=True) for body in BODIES
    ]
    np.testing.assert_allclose(paths.phi(paths.turns(RULES, 0), results), expected, rtol=1e-4)
    assert max(expected) - min(expected) > 0.2


def test_bodies_of_the_same_relations_share_a_turn():
    turns = PathModel(random_embedding(6, 3), delta=1.0).turns(RULES, 0)
    by_body = dict(zip(BODIES, turns.of_rule.tolist(), strict=True))
    assert by_body[(0, 1)] == by_body[(1, 0)]
    assert by_body[(3,)] != by_body[(0, 0, 0)]
    assert len(turns.cosine) == len(set(by_body.values())) == len(BODIES) - 1


def test_named_evidence_has_phi_one():
    rules = RuleSet.from_rules([Chain(0, (0, 1)), Feature(0, "seen")])
    paths = PathModel(random_embedding(6, 3), delta=7.0)
    results = candidates_of([0, 1], [0, 2], [0, 1], heads=[2], entity=[0])
    chain, named = paths.phi(paths.turns(rules, 0), results)
    assert named == 1
    np.testing.assert_allclose(chain, path_score(paths, 2, (0, 1), 0), rtol=1e-4)


def test_a_far_end_has_phi_zero_without_a_warning():
    paths = PathModel(random_embedding(6, 3), delta=-1000.0)
    results = candidates_of([0, 1], [0, 1], [0], heads=[0], entity=[1])
    assert paths.phi(paths.turns(RULES, 0), results).tolist() == [0.0]
