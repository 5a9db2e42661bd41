"""PyKEEN's models in our harness: every recipe can be made, training learns, the best setting is taken."""

import gc
import logging
import random

import numpy as np
import pytest
import torch

from paper.baselines import pykeen_models
from paper.baselines.pykeen_models import RECIPES, grid_of, make_factory, train_pykeen
from rnnlogic.base.errors import UnknownNameError
from rnnlogic.evaluation.evaluate import evaluate
from tests.helpers.family import family


@pytest.fixture(scope="module")
def dataset():
    return family()


def test_the_factory_has_our_ids(dataset):
    factory = make_factory(dataset)
    facts = {tuple(fact) for fact in factory.mapped_triples.tolist()}
    assert facts >= {tuple(fact) for fact in dataset.train.tolist()}
    assert list(factory.entity_to_id) == list(dataset.vocab.entities)


@pytest.mark.parametrize("name", RECIPES)
def test_every_setting_makes_a_model(name, dataset):
    factory, recipe = make_factory(dataset), RECIPES[name]
    for settings in recipe.grid:
        arguments = {key: value for key, value in settings.items() if key != "learning_rate"}
        model = pykeen_models._make_model(recipe, factory, arguments, seed=0)
        with torch.inference_mode():
            assert torch.isfinite(model.eval().score_t(torch.tensor([[0, 1], [2, 0]]))).all()


def test_training_learns_and_the_seed_decides(dataset, monkeypatch):
    monkeypatch.setattr(pykeen_models, "EVALUATE_EVERY", 8)
    setting, shown = RECIPES["distmult"].grid[1] | {"embedding_dim": 20, "learning_rate": 0.1}, []
    short = train_pykeen("distmult", dataset, setting, 0, lambda *done: shown.append(done), most_epochs=16)
    again = train_pykeen("distmult", dataset, setting, 0, most_epochs=16)
    reports = [evaluate(trained.scorer, dataset, "valid") for trained in (short, again)]
    assert np.array_equal(reports[0].ranks.better, reports[1].ranks.better)
    assert short.valid_mrr == reports[0].metrics()["mrr"]
    assert f"valid MRR {short.valid_mrr:.3f}" == max(note for _, _, note in shown)
    assert [(epoch, most) for epoch, most, _ in shown] == [(8, 16), (16, 16)]
    assert short.valid_mrr > 0.12  # chance: 0.07


def test_training_leaves_nothing_behind(dataset, monkeypatch):
    """PyKEEN seeds torch, numpy and random; the process gets its own states back."""
    monkeypatch.setattr(pykeen_models, "EVALUATE_EVERY", 1)
    monkeypatch.setattr(pykeen_models, "default_threads", lambda: 2)
    log = logging.getLogger("pykeen")
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate(), log.level  # noqa: NPY002
    setting = {"learning_rate": 0.01, "embedding_dim": 4}
    train_pykeen("transe", dataset, setting, most_epochs=1)
    after = torch.get_rng_state(), np.random.get_state()[1], random.getstate(), log.level  # noqa: NPY002
    assert torch.equal(before[0], after[0])
    assert np.array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    assert torch.get_num_threads() == 1
    assert gc.get_freeze_count() == 0


def test_training_stops_when_nothing_gets_better(dataset, monkeypatch):
    values = iter([0.2, 0.5, 0.1, 0.1, 0.1, 0.9])

    class Fake:
        def metrics(self):
            return {"mrr": next(values)}

    monkeypatch.setattr(pykeen_models, "evaluate", lambda *_, **__: Fake())
    monkeypatch.setattr(pykeen_models, "EVALUATE_EVERY", 1)
    trained = train_pykeen("transe", dataset, {"learning_rate": 0.01, "embedding_dim": 4})
    assert (trained.epochs, trained.valid_mrr) == (2, 0.5)
    assert next(values) == 0.9


def test_an_unknown_model_is_refused(dataset):
    assert grid_of("tucker") == RECIPES["tucker"].grid
    with pytest.raises(UnknownNameError, match="did you mean 'tucker'"):
        grid_of("tuckr")
