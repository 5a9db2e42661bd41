"""Training of RotatE: steps, evaluations of the validation set, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.sampling import Piece, Sampler
from rnnlogic.embeddings.settings import RotatESettings
from rnnlogic.embeddings.step import CpuStepper, Parameters, initial_parameters
from rnnlogic.evaluation.evaluate import evaluate

SHOW_EVERY = 0.5  # seconds between two calls of the progress function
KEEP_EVERY = 120.0  # seconds between two checkpoints


class Stepper(Protocol):
    """Takes the steps of training, on the CPU or on a GPU."""

    @property
    def parameters(self) -> Parameters:
        """The parameters as they are now."""
        ...

    def step(self, pieces: Sequence[Piece], rate: float) -> float:
        """Change the parameters by one step of Adam; returns the loss."""
        ...

    def close(self) -> None:
        """Release threads or memory."""
        ...


MakeStepper = Callable[[Parameters, Sampler], Stepper]


@dataclass
class Training:
    """The state of a training: all that is needed to resume it."""

    parameters: Parameters
    step: int = 0
    seconds: float = 0.0
    best_entity: NDArray[np.float32] | None = None  # at the highest validation MRR so far
    best_phase: NDArray[np.float32] | None = None
    history: list[dict[str, float]] = field(default_factory=list)  # one record per evaluation

    def best(self, margin: float, threads: int | None = None) -> RotatE:
        """The embedding with the highest validation MRR, or the last one if the validation set is empty."""
        entity, phase = self.best_entity, self.best_phase
        if entity is None or phase is None:
            entity, phase = self.parameters.entity.values, self.parameters.phase.values
        return RotatE(entity, phase, margin, threads)

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
    settings: RotatESettings,
    threads: int | None = None,
    keeper: Keeper | None = None,
    progress: Progress = silent,
    max_minutes: float | None = None,
    make_stepper: MakeStepper | None = None,
) -> Training:
    """Train on the training facts for at most `max_minutes`, resuming what `keeper` holds."""
    sampler = Sampler.of(dataset, settings)
    training = keeper.load() if keeper is not None else None
    if training is None:
        size = (dataset.vocab.num_entities, dataset.vocab.num_relations)
        training = Training(initial_parameters(*size, settings))
    threads = threads or default_threads()
    make_stepper = make_stepper or (lambda parameters, sampler: CpuStepper(parameters, sampler, threads))
    most_seconds = math.inf if max_minutes is None else 60 * max_minutes
    with closing(make_stepper(training.parameters, sampler)) as stepper:
        while training.step < sampler.steps and training.seconds < most_seconds:
            _run_to_next_mark(training, stepper, sampler, progress, keeper, most_seconds)
            training.parameters = stepper.parameters
            _measure(training, dataset, settings, threads)
            if keeper is not None:
                keeper.save(training)
            if settings.patience is not None and training.since_best() >= settings.patience:
                break
    return training


def _run_to_next_mark(
    training: Training,
    stepper: Stepper,
    sampler: Sampler,
    progress: Progress,
    keeper: Keeper | None,
    most_seconds: float,
) -> None:
    """Take steps until the next evaluation, or until time is up."""
    end = _next_mark(training.step, sampler.steps, sampler.settings.evaluations)
    order = sampler.order(training.step // sampler.steps_per_epoch)
    shown = kept = now = time.perf_counter()
    while training.step < end and training.seconds < most_seconds:
        if training.step % sampler.steps_per_epoch == 0:
            order = sampler.order(training.step // sampler.steps_per_epoch)
        rate = learning_rate(sampler.settings, training.step, sampler.steps)
        loss = stepper.step(sampler.pieces(training.step, order), rate)
        if not math.isfinite(loss):
            raise RNNLogicError(
                f"RotatE training diverged at step {training.step:,}; set learning_rate below"
                f" {sampler.settings.learning_rate}"
            )
        training.step += 1
        before, now = now, time.perf_counter()
        training.seconds += now - before
        if now - shown > SHOW_EVERY or training.step == end:
            shown = now
            progress("train", training.step, sampler.steps, _note(loss, training))
        if keeper is not None and now - kept > KEEP_EVERY:
            training.parameters = stepper.parameters
            keeper.save(training)
            kept = now = time.perf_counter()


def learning_rate(settings: RotatESettings, step: int, steps: int) -> float:
    """The learning rate of a step."""
    if settings.schedule == "cosine":
        return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * step / steps))
    return settings.learning_rate * (0.1 if settings.schedule == "step" and 2 * step >= steps else 1.0)


def _next_mark(step: int, steps: int, evaluations: int) -> int:
    """The next step that is followed by an evaluation; they are evenly spaced, the last one at the end."""
    return next(mark for k in range(1, evaluations + 1) if (mark := -(-steps * k // evaluations)) > step)


def _measure(training: Training, dataset: Dataset, settings: RotatESettings, threads: int) -> None:
    """Evaluate validation facts, if there are any, and keep the embedding if it is the best so far."""
    if not len(dataset.valid):
        return
    started = time.perf_counter()
    entity, phase = training.parameters.entity.values, training.parameters.phase.values
    scorer = RotatE(entity, phase, settings.margin, threads)
    report = evaluate(scorer, dataset, "valid", most_facts=settings.valid_facts)
    mrr = report.as_dict()["both"]["expected"]["mrr"]
    training.seconds += time.perf_counter() - started
    training.history.append({"step": training.step, "seconds": training.seconds, "valid_mrr": mrr})
    if training.since_best() == 0:
        training.best_entity, training.best_phase = entity.copy(), phase.copy()


def _note(loss: float, training: Training) -> str:
    measured = f", valid MRR {training.history[-1]['valid_mrr']:.3f}" if training.history else ""
    return f"loss {loss:.3f}{measured}"
