"""Embedding models from PyKEEN: its models and training loop, our data and our evaluation.

All are trained the same way: PyKEEN's LCWA loop (all answers of an (entity, relation) at once), inverse
relations, Adam. They differ in `RECIPES`: the class, its fixed arguments, the loss, and a small grid of
settings to choose from by validation MRR.
"""

from __future__ import annotations

import copy
import gc
import logging
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rnnlogic.base.errors import UnknownNameError
from rnnlogic.base.executor import default_threads
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.pykeen_scorer import PyKEENScorer
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.generator.train import torch_threads

Settings = dict[str, Any]

MOST_EPOCHS, EVALUATE_EVERY, PATIENCE = 100, 10, 3  # epochs, epochs between evaluations, evaluations
VALID_FACTS = 1000
RATES = (0.003, 0.01)
BATCH_SIZE = 256


@dataclass(frozen=True)
class Recipe:
    """A PyKEEN model, its fixed arguments, and the settings to choose from."""

    model: str
    grid: tuple[Settings, ...]  # each with learning_rate and arguments of the model
    fixed: Settings = field(default_factory=dict)
    loss: str = "crossentropy"


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, its settings, and its validation MRR."""

    scorer: PyKEENScorer
    settings: Settings
    epochs: int
    valid_mrr: float
    minutes: float


def _power(weights: tuple[float, ...], p: float) -> tuple[Settings, ...]:
    """Settings that differ in the strength of a penalty on |x|^p."""
    return tuple(
        {"learning_rate": rate, "regularizer_kwargs": {"weight": weight, "p": p}}
        for weight in weights
        for rate in RATES
    )


def _rates(name: str, values: tuple[Any, ...], rates: tuple[float, ...] = RATES) -> tuple[Settings, ...]:
    """Settings that differ in the learning rate and one argument of the model."""
    return tuple({"learning_rate": rate, name: value} for value in values for rate in rates)


COMPLEX = {
    "embedding_dim": 200,
    "entity_initializer": "xavier_uniform_",
    "relation_initializer": "xavier_uniform_",
    "regularizer": "powersum",
}
RECIPES = {
    "transe": Recipe("TransE", _rates("embedding_dim", (100, 200)), {"entity_constrainer": None}),
    "distmult": Recipe(
        "DistMult",
        _power((0.001, 0.01), 2),
        {"embedding_dim": 200, "entity_constrainer": None, "regularizer": "powersum"},
    ),
    "complex": Recipe("ComplEx", _power((0.001, 0.01), 2), COMPLEX),
    "complex-n3": Recipe("ComplEx", _power((0.05, 0.1), 3), COMPLEX),
    "conve": Recipe("ConvE", _rates("feature_map_dropout", (0.2, 0.4)), {"embedding_dim": 200}),
    "tucker": Recipe("TuckER", _rates("dropout_2", (0.3, 0.5)), {"embedding_dim": 100, "relation_dim": 30}),
    # PyKEEN's RotatE scores by an L2 norm, which is too flat for a softmax; its authors' loss has a margin.
    "rotate-pykeen": Recipe(
        "RotatE",
        _rates("loss_kwargs", ({"margin": 6.0}, {"margin": 9.0}), (0.01, 0.02)),
        {"embedding_dim": 100},
        "nssa",
    ),
}


def grid_of(name: str) -> tuple[Settings, ...]:
    """The settings of a model to choose from."""
    return _recipe(name).grid


def train_pykeen(
    name: str,
    dataset: Dataset,
    settings: Mapping[str, Any],
    seed: int = 0,
    progress: Tick = no_tick,
    most_epochs: int = MOST_EPOCHS,
) -> Trained:
    """Train a model with some settings and keep the epoch of best validation MRR.

    Random states and torch's number of threads are the same afterwards as before.
    """
    with torch_threads(default_threads()), _contained():
        return _train(name, dataset, settings, seed, progress, most_epochs)


def _train(
    name: str, dataset: Dataset, settings: Mapping[str, Any], seed: int, progress: Tick, most_epochs: int
) -> Trained:
    from pykeen.training import LCWATrainingLoop

    began, factory = time.monotonic(), make_factory(dataset)
    arguments = {key: value for key, value in settings.items() if key != "learning_rate"}
    model = _make_model(_recipe(name), factory, arguments, seed)
    optimizer = torch.optim.Adam(model.parameters(), settings["learning_rate"])
    loop = LCWATrainingLoop(
        model=model, triples_factory=factory, optimizer=optimizer, automatic_memory_optimization=False
    )
    scorer = PyKEENScorer(model, factory, dataset.vocab, batch_size=BATCH_SIZE)
    best, best_epoch, best_state = -1.0, 0, model.state_dict()
    for epoch in range(EVALUATE_EVERY, most_epochs + 1, EVALUATE_EVERY):
        with _little_garbage():
            loop.train(
                factory,
                num_epochs=epoch,
                batch_size=BATCH_SIZE,
                continue_training=epoch > EVALUATE_EVERY,
                use_tqdm=False,
                pin_memory=False,
            )
        mrr = evaluate(scorer, dataset, "valid", most_facts=VALID_FACTS).metrics()["mrr"]
        if mrr > best:
            best, best_epoch, best_state = mrr, epoch, copy.deepcopy(model.state_dict())
        progress(epoch, most_epochs, f"valid MRR {mrr:.3f}")
        if epoch - best_epoch >= PATIENCE * EVALUATE_EVERY:
            break
    model.load_state_dict(best_state)
    return Trained(scorer, dict(settings), best_epoch, best, (time.monotonic() - began) / 60)


@contextmanager
def _contained() -> Iterator[None]:
    """Keep PyKEEN quiet and undo what it changes for the whole process: it seeds torch, numpy and random."""
    log = logging.getLogger("pykeen")
    level, of_numpy, of_python = log.level, np.random.get_state(), random.getstate()  # noqa: NPY002
    log.setLevel(logging.ERROR)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        log.setLevel(level)
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)


@contextmanager
def _little_garbage() -> Iterator[None]:
    """Hide all present objects from the garbage collector.

    PyKEEN calls it after every epoch, which otherwise takes as long as the training itself.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def make_factory(dataset: Dataset) -> Any:
    """The training facts for PyKEEN, with inverse relations and our ids."""
    from pykeen.triples import TriplesFactory

    return TriplesFactory(
        torch.as_tensor(dataset.train.astype("int64")),
        entity_to_id={name: i for i, name in enumerate(dataset.vocab.entities)},
        relation_to_id={name: i for i, name in enumerate(dataset.vocab.relations)},
        create_inverse_triples=True,
    )


def _make_model(recipe: Recipe, factory: Any, arguments: Settings, seed: int) -> Any:
    from pykeen.models import model_resolver

    return model_resolver.make(
        recipe.model,
        {**recipe.fixed, **arguments},
        triples_factory=factory,
        loss=recipe.loss,
        random_seed=seed,
    )


def _recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise UnknownNameError("model", name, RECIPES)
    return RECIPES[name]
