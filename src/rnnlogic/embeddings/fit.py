"""Train an embedding, in a folder if wanted, where a stopped training resumes."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rnnlogic.base.lock import exclusive
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.checkpoints import Checkpoint
from rnnlogic.embeddings.files import (
    is_finished,
    load_embedding,
    read_about,
    remove_embedding,
    save_embedding,
)
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.settings import RotatESettings, settings_for
from rnnlogic.embeddings.train import MakeStepper, Training, train

PACKAGES = ("rnnlogic", "numpy", "numba", "safetensors")


def fit(
    dataset: Dataset,
    settings: RotatESettings | None = None,
    folder: str | Path | None = None,
    progress: Progress = silent,
    threads: int | None = None,
    max_minutes: float | None = None,
    restart: bool = False,
    make_stepper: MakeStepper | None = None,
) -> RotatE:
    """Train RotatE on a dataset, with the packaged settings by default.

    With a folder the embedding is saved there. A stopped training resumes at its last checkpoint and a
    finished one is only loaded, unless `restart` drops them. After `max_minutes` training stops with the
    best embedding so far.
    """
    settings = settings or settings_for(dataset)
    if folder is None:
        training = train(dataset, settings, threads, None, progress, max_minutes, make_stepper)
        return training.best(settings.margin, threads)
    with exclusive(folder):
        return _fit_in(Path(folder), dataset, settings, progress, threads, max_minutes, restart, make_stepper)


def _fit_in(
    folder: Path,
    dataset: Dataset,
    settings: RotatESettings,
    progress: Progress,
    threads: int | None,
    max_minutes: float | None,
    restart: bool,
    make_stepper: MakeStepper | None,
) -> RotatE:
    checkpoint = Checkpoint(folder, dataset, settings)
    if restart:
        checkpoint.remove()
        remove_embedding(folder)
    if is_finished(folder):
        checkpoint.require_same(read_about(folder).get("origin", {}))
    else:
        training = train(dataset, settings, threads, checkpoint, progress, max_minutes, make_stepper)
        about = _about(dataset, checkpoint.origin, training)
        save_embedding(folder, training.best(settings.margin), dataset.vocab, about)
    checkpoint.remove()
    return replace(load_embedding(folder, dataset.vocab)[0], threads=threads)


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
