"""Training of an embedding: steps, evaluations of the validation set, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration
from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.base import Embedding, Floats
from rnnlogic.embeddings.settings import TrainingSettings
from rnnlogic.evaluation.evaluate import evaluate

SHOW_EVERY = 0.5  # seconds between two calls of the progress function
SHARE = 0.85  # of a budget; the rest is for files, and for who evaluates the embedding
KEEP_EVERY = 120.0  # seconds between two checkpoints
BEST = "best_"  # before the names of the best parameters so far, in a checkpoint


class Parameters(Protocol):
    """A named tuple of tables, each a named tuple of arrays, the first of which are the `values`."""

    def _asdict(self) -> dict[str, Any]: ...


class Stepper(Protocol):
    """Takes the steps of training, on the CPU or on a GPU."""

    @property
    def parameters(self) -> Parameters:
        """The parameters as they are now."""
        ...

    def step(self, batch: Any, rate: float) -> float:
        """Change the parameters by one step; returns the loss."""
        ...

    def close(self) -> None:
        """Release threads or memory."""
        ...


class Method(Protocol):
    """What differs between kinds of embeddings."""

    @property
    def settings(self) -> TrainingSettings:
        """How it is trained."""
        ...

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch."""
        ...

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        ...

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The queries of an epoch in random order."""
        ...

    def batch(self, step: int, order: NDArray[np.int64]) -> Any:
        """What a step needs, given the order of its epoch."""
        ...

    def first(self) -> Parameters:
        """Random parameters."""
        ...

    @property
    def declared(self) -> Declaration:
        """The arrays of a checkpoint."""
        ...

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> Parameters:
        """The parameters of a checkpoint."""
        ...

    def stepper(self, parameters: Parameters, threads: int) -> Stepper:
        """Takes steps."""
        ...

    def embedding(self, values: Mapping[str, Floats], threads: int | None) -> Embedding:
        """The embedding with these parameters."""
        ...


@dataclass
class Training:
    """The state of a training: all that is needed to resume it."""

    parameters: Parameters
    step: int = 0
    seconds: float = 0.0
    best_values: dict[str, Floats] | None = None  # at the highest validation MRR so far
    history: list[dict[str, float]] = field(default_factory=list)  # one record per evaluation
    ran_out_of_time: bool = False

    def values(self) -> dict[str, Floats]:
        """The parameters as they are now, by name."""
        return {name: table.values for name, table in self.parameters._asdict().items()}

    def best(self) -> dict[str, Floats]:
        """The parameters with the highest validation MRR, or the last ones if the validation set is empty."""
        return self.values() if self.best_values is None else self.best_values

    def since_best(self) -> int:
        """Evaluations after the best one."""
        measured = [record["valid_mrr"] for record in self.history]
        return len(measured) - 1 - int(np.argmax(measured)) if measured else 0


class Keeper(Protocol):
    """Keeps a training so that it survives the process."""

    def load(self) -> Training | None:
        """The training kept so far, if any."""
        ...

    def save(self, training: Training) -> None:
        """Keep a training; it replaces the one kept before."""
        ...


def train(
    dataset: Dataset,
    method: Method,
    threads: int | None = None,
    keeper: Keeper | None = None,
    progress: Progress = silent,
    max_minutes: float | None = None,
) -> Training:
    """Train on the training facts, resuming what `keeper` holds.

    It takes at most SHARE of `max_minutes`, over all sessions, evaluations of the validation set included.
    """
    settings, training = method.settings, keeper.load() if keeper is not None else None
    if training is None:
        training = Training(method.first())
    threads = threads or default_threads()
    most_seconds = math.inf if max_minutes is None else SHARE * 60 * max_minutes
    with closing(method.stepper(training.parameters, threads)) as stepper:
        is_over = training.seconds >= most_seconds
        while training.step < method.steps and not is_over:
            end = _end_of_steps(training, most_seconds)
            _run_to_next_mark(training, stepper, method, progress, keeper, end)
            training.parameters = stepper.parameters
            is_over = training.seconds >= end
            is_over |= not _measure(training, dataset, method, threads, most_seconds)
            if keeper is not None and not is_over:
                keeper.save(training)
            if settings.patience is not None and training.since_best() >= settings.patience:
                break
    training.ran_out_of_time = is_over and training.step < method.steps
    return training


def _run_to_next_mark(
    training: Training,
    stepper: Stepper,
    method: Method,
    progress: Progress,
    keeper: Keeper | None,
    most_seconds: float,
) -> None:
    """Take steps until the next evaluation, or until time is up."""
    end = _next_mark(training.step, method.steps, method.settings.evaluations)
    order = method.order(training.step // method.steps_per_epoch)
    shown = kept = now = time.perf_counter()
    while training.step < end and training.seconds < most_seconds:
        if training.step % method.steps_per_epoch == 0:
            order = method.order(training.step // method.steps_per_epoch)
        rate = learning_rate(method.settings, training.step, method.steps)
        loss = stepper.step(method.batch(training.step, order), rate)
        if not math.isfinite(loss):
            raise RNNLogicError(
                f"training diverged at step {training.step:,}; set learning_rate below"
                f" {method.settings.learning_rate}"
            )
        training.step += 1
        before, now = now, time.perf_counter()
        training.seconds += now - before
        if now - shown > SHOW_EVERY or training.step == end:
            shown = now
            progress("train", training.step, method.steps, _note(loss, training))
        if keeper is not None and now - kept > KEEP_EVERY:
            training.parameters = stepper.parameters
            keeper.save(training)
            kept = now = time.perf_counter()


def _end_of_steps(training: Training, most_seconds: float) -> float:
    """When to stop, so that an evaluation ends in time; how long that takes is known after the first."""
    if most_seconds == math.inf:
        return math.inf
    # The first evaluation may take this share of the time for training
    measured = training.history[-1].get("evaluation", 0.0) if training.history else 0.15 * most_seconds
    return most_seconds - measured


def learning_rate(settings: TrainingSettings, step: int, steps: int) -> float:
    """The learning rate of a step."""
    if settings.schedule == "cosine":
        return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * step / steps))
    return settings.learning_rate * (0.1 if settings.schedule == "step" and 2 * step >= steps else 1.0)


def _next_mark(step: int, steps: int, evaluations: int) -> int:
    """The next step that is followed by an evaluation; they are evenly spaced, the last one at the end."""
    return next(mark for k in range(1, evaluations + 1) if (mark := -(-steps * k // evaluations)) > step)


def _measure(training: Training, dataset: Dataset, method: Method, threads: int, most_seconds: float) -> bool:
    """Evaluate validation facts, if there are any, and keep the embedding if it is the best so far.

    The first time there may be too little time for all of them; then it is the last, which returns False.
    """
    if not len(dataset.valid):
        return True
    started = time.perf_counter()
    values = training.values()
    scorer, most = method.embedding(values, threads), method.settings.valid_facts
    is_first = not training.history and most_seconds < math.inf
    budget = Budget.of_minutes((most_seconds - training.seconds) / 60) if is_first else UNLIMITED
    report = evaluate(scorer, dataset, "valid", most_facts=most, budget=budget)
    mrr = report.as_dict()["both"]["expected"]["mrr"]
    took = time.perf_counter() - started
    training.seconds += took
    record = {"step": training.step, "seconds": training.seconds, "evaluation": took, "valid_mrr": mrr}
    training.history.append(record)
    if training.since_best() == 0:
        training.best_values = {name: array.copy() for name, array in values.items()}
    return not report.is_sample


def _note(loss: float, training: Training) -> str:
    measured = f", valid MRR {training.history[-1]['valid_mrr']:.3f}" if training.history else ""
    return f"loss {loss:.3f}{measured}"
