"""Decisions set probabilities right: those of their relation, and no others."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlogic.model import RNNLogic
from tests.helpers.family import family, given_rules, tiny_config


def fitted(data):
    return RNNLogic()._take(data, tiny_config(), given_rules(data))


def proposals(model, number):
    vocab = model.dataset.vocab
    facts = list(model.complete(most=number, facts="train"))
    ids = [
        (vocab.entity_id(one.head), vocab.relation_id(one.relation), vocab.entity_id(one.tail))
        for one in facts
    ]
    return np.array(ids, np.int32)


def chances(model, facts):
    return model.level("train").probabilities(model.dataset.graph("train"), model.scorer, facts)


@pytest.mark.parametrize("kind", ["rejected", "accepted"])
def test_probabilities_of_a_relation_follow_its_decisions(kind):
    data = family()
    model = fitted(data)
    found = proposals(model, 200)
    relation = found[0, 1]
    own, others = found[found[:, 1] == relation], found[found[:, 1] != relation]
    assert len(own) > 4
    assert len(others)
    decided = fitted(replace(data, **{kind: own[:4]}))
    before, after = chances(model, own[4:]), chances(decided, own[4:])
    assert (after < before).all() if kind == "rejected" else (after >= before).all()
    assert np.array_equal(chances(model, others), chances(decided, others))
