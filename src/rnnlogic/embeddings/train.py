"""Training of an embedding: steps, evaluations of the validation set, checkpoints."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared, Size
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


Tables = dict[str, Any]  # parameters by name, each a named tuple of arrays that begins with `values`
Shapes = Mapping[str, tuple[Size, ...]]
ORDER = 0  # the random stream of the order of queries


class Stepper(Protocol):
    """Takes the steps of training."""

    @property
    def parameters(self) -> Tables:
        """The parameters as they are now."""
        ...

    def step(self, batch: Any, rate: float) -> float:
        """Change the parameters by one step; returns the loss."""
        ...

    def close(self) -> None:
        """Release threads or memory."""
        ...


class Method(ABC):
    """What differs between kinds of embeddings.

    A step depends only on its number and the seed, so a resumed training equals an uninterrupted one.
    """

    table: ClassVar[Any]  # named tuple of the arrays of each parameter
    shapes: ClassVar[Shapes]  # of the values of each parameter
    settings: TrainingSettings

    @property
    @abstractmethod
    def num_queries(self) -> int:
        """Training queries."""

    @abstractmethod
    def batch(self, step: int, order: NDArray[np.int64]) -> Any:
        """What a step needs, given the order of its epoch."""

    @abstractmethod
    def first(self) -> Tables:
        """Random parameters."""

    @abstractmethod
    def stepper(self, parameters: Tables, threads: int) -> Stepper:
        """Takes steps."""

    @abstractmethod
    def embedding(self, values: Mapping[str, Floats], threads: int | None) -> Embedding:
        """The embedding with these parameters."""

    @property
    def batch_size(self) -> int:
        """Queries per step."""
        return min(self.settings.batch_size, self.num_queries)

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch; the remaining queries are left out of it."""
        return self.num_queries // self.batch_size

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return max(1, round(self.settings.epochs * self.num_queries / self.batch_size))

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The queries of an epoch in random order."""
        return np.random.default_rng([self.settings.seed, ORDER, epoch]).permutation(self.num_queries)

    def places(self, step: int, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The queries of a step, given the order of its epoch."""
        first = step % self.steps_per_epoch * self.batch_size
        return order[first : first + self.batch_size]

    @property
    def declared(self) -> Declaration:
        """The arrays of a checkpoint: tables of parameters, and the best of them if there are any yet."""
        tables = {
            f"{name}.{field}": Declared("float32", shape)
            for name, shape in self.shapes.items()
            for field in self.table._fields
        }
        return tables | {
            BEST + name: Declared("float32", shape, optional=True) for name, shape in self.shapes.items()
        }

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> Tables:
        """The parameters of a checkpoint."""
        fields = self.table._fields
        return {name: self.table(*(arrays[f"{name}.{field}"] for field in fields)) for name in self.shapes}


@dataclass
class Training:
    """The state of a training: all that is needed to resume it."""

    parameters: Tables
    step: int = 0
    seconds: float = 0.0
    best_values: dict[str, Floats] | None = None  # at the highest validation MRR so far
    history: list[dict[str, float]] = field(default_factory=list)  # one record per evaluation
    ran_out_of_time: bool = False

    def values(self) -> dict[str, Floats]:
        """The parameters as they are now, by name."""
        return {name: table.values for name, table in self.parameters.items()}

    def best(self) -> dict[str, Floats]:
        """The parameters with the highest validation MRR, or the last ones if the validation set is empty."""
        return self.values() if self.best_values is None else self.best_values

    def is_best(self) -> bool:
        """Whether the last evaluation is the first of the highest ones."""
        measured = [record["valid_mrr"] for record in self.history]
        return int(np.argmax(measured)) == len(measured) - 1


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
    training = keeper.load() if keeper is not None else None
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
    """The learning rate of a step: half a cosine from the rate of the settings to 0."""
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * step / steps))


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
    if training.is_best():
        training.best_values = {name: array.copy() for name, array in values.items()}
    return not report.is_sample


def _note(loss: float, training: Training) -> str:
    measured = f", valid MRR {training.history[-1]['valid_mrr']:.3f}" if training.history else ""
    return f"loss {loss:.3f}{measured}"
