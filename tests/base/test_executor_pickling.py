"""What the executor runs in a fit could run in another process: it survives pickling, and nothing changes."""

import importlib
import pickle

import numpy as np
import pytest

from rnnlogic.base.executor import map_ordered
from rnnlogic.config import changed
from rnnlogic.model import RNNLogic
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, tiny_config

USERS = (
    "embeddings.rotate",
    "evaluation.evaluate",
    "generator.network",
    "features.ground",
    "fit.compact.compact",
    "mining.mine",
    "statistics.statistics",
    "predictors.loglinear.fit",
    "predictors.base",
    "predictors.plus.train",
)
PLUS = {"epochs": 1, "dim": 4, "hidden": 5, "etas": (0.05,)}


KEEP = pickle.HIGHEST_PROTOCOL  # as between processes: read-only arrays stay so, as kernels know them


def elsewhere(packed, unit):
    """Unpack what came from another process, and do the work."""
    function, shared = pickle.loads(packed)
    return pickle.loads(pickle.dumps(function(shared, pickle.loads(pickle.dumps(unit)))))


@pytest.mark.parametrize("variant", ["rnnlogic", "plus-emb"])
def test_a_fit_through_pickles_is_the_same(monkeypatch, variant):
    data, used = family(), set()
    config = changed(tiny_config(), {"variant": variant, "plus": PLUS, "compact": {"enabled": True}})
    vectors = random_embedding(data.vocab.num_entities, data.vocab.num_relations, dim=3)
    embedding = vectors if config.has_embedding else None
    plain = RNNLogic(config).fit(data, embeddings=embedding)

    def pickled(function, units, shared, *rest, **named):
        used.add(function.__module__.removeprefix("rnnlogic."))
        return map_ordered(elsewhere, units, pickle.dumps((function, shared), KEEP), 1)

    for name in USERS:
        monkeypatch.setattr(importlib.import_module(f"rnnlogic.{name}"), "map_ordered", pickled)
    through = RNNLogic(config).fit(data, embeddings=embedding)
    assert through.learned.rules == plain.learned.rules
    np.testing.assert_array_equal(through.learned.weights, plain.learned.weights)
    expected = plain.evaluate("valid").metrics()
    assert through.evaluate("valid").metrics() == expected
    assert used >= set(USERS[1:8]) - {"fit.compact.compact", "grounding.ground"}
