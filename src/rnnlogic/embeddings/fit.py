"""Train an embedding, in a folder if wanted, where a stopped training resumes."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rnnlogic.base.lock import exclusive
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.base import Embedding
from rnnlogic.embeddings.checkpoints import Checkpoint
from rnnlogic.embeddings.files import (
    is_finished,
    load_embedding,
    read_about,
    remove_embedding,
    save_embedding,
)
from rnnlogic.embeddings.methods import MakeStepper, method_of
from rnnlogic.embeddings.settings import TrainingSettings
from rnnlogic.embeddings.train import Method, Training, train

PACKAGES = ("rnnlogic", "numpy", "numba", "safetensors")


def fit(
    dataset: Dataset,
    settings: TrainingSettings,
    folder: str | Path | None = None,
    progress: Progress = silent,
    threads: int | None = None,
    max_minutes: float | None = None,
    restart: bool = False,
    make_stepper: MakeStepper | None = None,
) -> Embedding:
    """Train on a dataset the embedding that the settings belong to.

    With a folder the embedding is saved there. A stopped training resumes at its last checkpoint and a
    finished one is only loaded, unless `restart` drops them. After `max_minutes` training stops with the
    best embedding so far.
    """
    method = method_of(dataset, settings, make_stepper)
    if folder is None:
        training = train(dataset, method, threads, None, progress, max_minutes)
        return method.embedding(training.best(), threads)
    with exclusive(folder):
        return _fit_in(Path(folder), dataset, method, progress, threads, max_minutes, restart)


def _fit_in(
    folder: Path,
    dataset: Dataset,
    method: Method,
    progress: Progress,
    threads: int | None,
    max_minutes: float | None,
    restart: bool,
) -> Embedding:
    checkpoint = Checkpoint(folder, dataset, method)
    if restart:
        checkpoint.remove()
        remove_embedding(folder)
    if is_finished(folder):
        checkpoint.require_same(read_about(folder).get("origin", {}))
    else:
        training = train(dataset, method, threads, checkpoint, progress, max_minutes)
        about = _about(dataset, checkpoint.origin, training) | _extent(method, training)
        save_embedding(folder, method.embedding(training.best(), threads), dataset.vocab, about)
    checkpoint.remove()
    return load_embedding(folder, dataset.vocab)[0].on_threads(threads)


def _extent(method: Method, training: Training) -> dict[str, Any]:
    """How many steps were planned, and whether time ran out before they were done."""
    return {"planned_steps": method.steps, "ran_out_of_time": training.ran_out_of_time}


def _about(dataset: Dataset, origin: dict[str, Any], training: Training) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "origin": origin,
        **{package: version(package) for package in PACKAGES},
        "python": platform.python_version(),
        "steps": training.step,
        "minutes": round(training.seconds / 60, 3),
        "history": training.history,
    }
