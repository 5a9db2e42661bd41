"""Compaction as the last stage of a fit."""

import numpy as np
import pytest

from rnnlogic.config import changed
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.fit.pipeline import learn
from rnnlogic.fit.result import MemoryStore, pack_learned, unpack_learned
from rnnlogic.rules.rule import format_rule
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, tiny_config

DATA = family()
EMBEDDING = random_embedding(DATA.vocab.num_entities, DATA.vocab.num_relations, dim=3)
BASE = changed(tiny_config(), {"compact": {"enabled": True}, "em": {"rounds": 1}})
EMB = {"variant": "rnnlogic-emb", "paths": {"temperature": 2.0, "etas": (0.01, 0.02)}}


def fitted(store=None, embedding=None, **changes):
    store = store or MemoryStore()
    config = changed(BASE, changes)
    return learn(DATA, config, store, lambda *event: None, embedding=embedding), store, config


def same(one, other):
    first, second = pack_learned(one), pack_learned(other)
    return list(first) == list(second) and all(first[k].tobytes() == second[k].tobytes() for k in first)


def valid_mrr(learned):
    return evaluate(learned.predictor, DATA, "valid").metrics()["mrr"]


@pytest.fixture(scope="module")
def fit():
    return fitted()


def test_a_fit_leaves_the_compact_model_and_keeps_the_full_one(fit):
    learned, store, config = fit
    full = unpack_learned(store.stages["full"], config)
    assert 0 < len(learned.rules) < len(full.rules)
    assert valid_mrr(learned) >= valid_mrr(full) * (1 - config.compact.tolerance)
    frontier = store.stages["frontier"]
    assert frontier["rules"][frontier["chosen"]] == len(learned.rules)
    assert frontier["mrr"][frontier["chosen"]] == pytest.approx(valid_mrr(learned), abs=1e-6)
    assert frontier["mrr"][0] == pytest.approx(valid_mrr(full), abs=1e-9)


def test_its_figures_are_those_of_the_kept_rules(fit):
    learned, store, config = fit
    full = unpack_learned(store.stages["full"], config)
    for i, rule in enumerate(learned.rules):
        place = full.rules.index(rule)
        assert (learned.support[i], learned.confidence[i]) == (full.support[place], full.confidence[place])


@pytest.mark.parametrize("left", ["rules", "full", "frontier"])
def test_a_resumed_fit_gives_the_same_bytes(fit, left):
    """Killed after the stage `left`, the last one kept."""
    learned, store, _ = fit
    stages = list(store.stages)
    again = MemoryStore()
    again.stages = {name: store.stages[name] for name in stages[: stages.index(left) + 1]}
    resumed, _, _ = fitted(again)
    assert same(resumed, learned)
    for name, column in store.stages["frontier"].items():
        np.testing.assert_array_equal(column, again.stages["frontier"][name])


def test_without_compaction_the_full_model_is_left(fit):
    _, store, config = fit
    learned, other, _ = fitted(compact={"enabled": False})
    assert same(learned, unpack_learned(store.stages["full"], config))
    assert not {"compact", "frontier"} & set(other.stages)


def test_a_cap_and_a_pinned_rule(fit):
    _, store, config = fit
    full = unpack_learned(store.stages["full"], config)
    useless = format_rule(full.rules[int(np.argmin(full.support))], DATA.vocab)
    learned, _, _ = fitted(compact={"rules": 3}, pinned=(useless,))
    assert np.bincount(learned.rules.heads).max() <= 3
    assert useless in {format_rule(rule, DATA.vocab) for rule in learned.rules}


def test_with_path_scores():
    learned, store, config = fitted(embedding=EMBEDDING, **EMB)
    full = unpack_learned(store.stages["full"], config, EMBEDDING)
    assert np.array_equal(learned.predictor.eta, full.predictor.eta)
    assert np.all(full.predictor.eta > 0)
    assert len(learned.rules) < len(full.rules)
    assert valid_mrr(learned) >= valid_mrr(full) * (1 - config.compact.tolerance)
    frontier = store.stages["frontier"]
    assert frontier["mrr"][frontier["chosen"]] == pytest.approx(valid_mrr(learned), abs=1e-6)


def test_a_network_is_not_compacted():
    learned, store, _ = fitted(variant="plus")
    plain, _, _ = fitted(variant="plus", compact={"enabled": False})
    assert same(learned, plain)
    assert not {"compact", "frontier"} & set(store.stages)
