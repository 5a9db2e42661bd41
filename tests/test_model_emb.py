"""RNNLogic with embeddings, from fit to explanation, with the real learner on the family graph."""

import math

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import changed
from rnnlogic.model import RNNLogic
from rnnlogic.runs.folder import Run
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, tiny_config

DATA = family()
EMBEDDING = random_embedding(DATA.vocab.num_entities, DATA.vocab.num_relations, dim=3)
PATHS = {"temperature": 2.0, "etas": (0.01, 0.02)}  # so that the embedding surely has a say
CHANGES = {"variant": "rnnlogic-emb", "paths": PATHS, "em": {"rounds": 2}, "predictor": {"weight_decay": 0.1}}
CONFIG = changed(tiny_config(), CHANGES)


@pytest.fixture(scope="module")
def model() -> RNNLogic:
    return RNNLogic(CONFIG).fit(DATA, embeddings=EMBEDDING)


def test_paths_are_scored_in_training_too(model):
    plain = RNNLogic(changed(CONFIG, {"variant": "rnnlogic"})).fit(DATA)
    assert not np.array_equal(plain.learned.weights, model.learned.weights)
    assert plain.scorer.embedding is None
    assert set(np.unique(model.scorer.eta)) <= set(PATHS["etas"])


def test_answers_are_explained_to_the_last_bit(model):
    answers = model.predict("grandpa0", "grandparent", most=10**6, known="keep")
    assert len(answers) == DATA.vocab.num_entities
    reached = 0
    for answer in answers:
        told = model.explain("grandpa0", "grandparent", answer.entity)
        parts = [c.contribution for c in told.contributions]
        assert abs(math.fsum(parts) + told.embedding - told.score) < 1e-6
        assert told.is_known or told.score == pytest.approx(answer.score)
        reached += bool(parts)
    assert 0 < reached < len(answers)


def test_the_text_shows_phi_and_the_embeddings_share(model):
    best = model.predict("grandpa0", "grandparent", most=1, facts="train")[0].entity
    told = model.explain("grandpa0", "grandparent", best, facts="train")
    text = "\n".join(told.lines(everything=True))
    assert f", phi {told.contributions[0].phi:.4f}" in text
    assert f"{told.embedding:+9.4f}  The embedding itself " in text
    plain = told.as_dict()
    assert plain["embedding"] == told.embedding
    assert plain["rules"][0]["phi"] == told.contributions[0].phi


def test_an_unreached_answer_has_a_score(model):
    others = (model.explain("grandchild0_0", "grandparent", name) for name in DATA.vocab.entities)
    told = next(explanation for explanation in others if not explanation.contributions)
    assert told.as_dict()["score"] == pytest.approx(told.embedding)
    assert "because   nothing" in " ".join(told.lines())


def test_saving_and_loading_changes_no_answer(model, tmp_path):
    model.save(tmp_path / "run")
    loaded = RNNLogic.load(tmp_path / "run")
    assert loaded.evaluate("test").metrics() == model.evaluate("test").metrics()
    assert loaded.predict("grandma1", "parent") == model.predict("grandma1", "parent")
    assert loaded.rules("parent") == model.rules("parent")
    (tmp_path / "run" / "embedding" / "embedding.safetensors").write_bytes(b"another")
    with pytest.raises(RNNLogicError, match="was changed"):
        RNNLogic.load(tmp_path / "run")


def test_a_stopped_fit_goes_on_to_the_same_result(model, tmp_path, monkeypatch):
    save = Run.save

    def interrupted(self, stage, arrays):
        if stage == "round-2":
            raise KeyboardInterrupt
        save(self, stage, arrays)

    monkeypatch.setattr(Run, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        RNNLogic(CONFIG).fit(DATA, tmp_path / "run", embeddings=EMBEDDING)
    monkeypatch.setattr(Run, "save", save)
    resumed = RNNLogic(CONFIG).fit(DATA, tmp_path / "run")
    assert resumed.learned.rules == model.learned.rules
    np.testing.assert_array_equal(resumed.learned.weights, model.learned.weights)
    np.testing.assert_array_equal(resumed.scorer.eta, model.scorer.eta)


def test_the_variant_chooses_packaged_settings():
    assert RNNLogic({"seed": 2}, "rnnlogic-emb").config.variant == "rnnlogic-emb"
    with pytest.raises(RNNLogicError, match="variant rnnlogic has no use for them"):
        RNNLogic().fit(DATA, embeddings=EMBEDDING)
