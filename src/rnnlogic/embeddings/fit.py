"""Train an embedding, in a folder if wanted, where a checkpoint lets a stopped training resume."""

from __future__ import annotations

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rnnlogic.base.arrays import WrongArraysError, parse_arrays, write_arrays
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.files import MANIFEST, refuse_links
from rnnlogic.base.lock import LOCK, exclusive
from rnnlogic.base.types import Progress, silent
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.base import Embedding
from rnnlogic.embeddings.files import (
    ABOUT,
    ARRAYS,
    EmbeddingError,
    begin_folder,
    is_finished,
    load_embedding,
    read_about,
    read_file,
    remove_embedding,
    save_embedding,
    write_file,
)
from rnnlogic.embeddings.rotate_training import RotatEMethod
from rnnlogic.embeddings.settings import ComplExSettings, RotatESettings, TrainingSettings
from rnnlogic.embeddings.train import BEST, Method, Training, train

CHECKPOINT = "checkpoint.safetensors"
PACKAGES = ("rnnlogic", "numpy", "numba", "torch", "safetensors")


def fit(
    dataset: Dataset,
    settings: TrainingSettings,
    folder: str | Path | None = None,
    progress: Progress = silent,
    threads: int | None = None,
    max_minutes: float | None = None,
    restart: bool = False,
    device: str = "cpu",
) -> Embedding:
    """Train on a dataset the embedding that the settings belong to.

    With a folder the embedding is saved there. A stopped training resumes at its last checkpoint and a
    finished one is only loaded, unless `restart` drops them. After `max_minutes` training stops with the
    best embedding so far. ComplEx can train on another torch `device`.
    """
    method = method_of(dataset, settings, device)
    if folder is None:
        training = train(dataset, method, threads, None, progress, max_minutes)
        return method.embedding(training.best(), threads)
    with exclusive(folder):
        folder = Path(folder)
        checkpoint = Checkpoint(folder, dataset, method)
        if restart:
            checkpoint.remove()
            remove_embedding(folder)
        if is_finished(folder):
            checkpoint.require_same(read_about(folder).get("origin", {}))
        else:
            training = train(dataset, method, threads, checkpoint, progress, max_minutes)
            about = _about(dataset, method, training) | {"origin": checkpoint.origin}
            save_embedding(folder, method.embedding(training.best(), threads), dataset.vocab, about)
        checkpoint.remove()
        return load_embedding(folder, dataset.vocab)[0].on_threads(threads)


def method_of(dataset: Dataset, settings: TrainingSettings, device: str = "cpu") -> Method:
    """How to train what these settings belong to."""
    graph = dataset.graph("train")
    if isinstance(settings, ComplExSettings):
        from rnnlogic.embeddings.complex_training import ComplExMethod  # torch takes a second to load

        return ComplExMethod(graph, settings, device)
    assert isinstance(settings, RotatESettings)
    if device != "cpu":
        raise RNNLogicError(
            "RotatE is trained on the CPU only: leave out --device, or train ComplEx (--model complex)"
        )
    return RotatEMethod(graph, settings)


def _about(dataset: Dataset, method: Method, training: Training) -> dict[str, Any]:
    """What about.json says of a training."""
    return {
        "dataset": dataset.name,
        **{package: version(package) for package in PACKAGES},
        "python": platform.python_version(),
        "steps": training.step,
        "planned_steps": method.steps,
        "ran_out_of_time": training.ran_out_of_time,
        "minutes": round(training.seconds / 60, 3),
        "history": training.history,
    }


class Checkpoint:
    """The checkpoint in a folder; it belongs to one dataset and one set of settings."""

    def __init__(self, folder: Path, dataset: Dataset, method: Method) -> None:
        self._folder, self._path, self._method = folder, folder / CHECKPOINT, method
        self._origin = {"settings": method.settings.model_dump(), "data": fingerprint(dataset)}
        vocab = dataset.vocab
        self._sizes = {"E": vocab.num_entities, "R": vocab.num_relations, "dim": method.settings.dim}

    def load(self) -> Training | None:
        """The training kept so far, if any; an error if its data or settings differ."""
        if not self._path.is_file():
            self._refuse_foreign_files()
            return None
        refuse_links(self._folder)
        data = read_file(self._path)
        try:
            about = json.loads(parse_arrays(data).metadata["training"])
            self.require_same(about["origin"])  # first: with other settings the arrays have other sizes
            arrays = parse_arrays(data, self._method.declared, self._sizes).arrays
            step, seconds, history = int(about["step"]), float(about["seconds"]), list(about["history"])
        except (WrongArraysError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise EmbeddingError(self._path, f"cannot be read ({error}); remove it to start over") from None
        best = {name.removeprefix(BEST): a for name, a in arrays.items() if name.startswith(BEST)}
        return Training(self._method.restored(arrays), step, seconds, best or None, history)

    def save(self, training: Training) -> None:
        """Keep a training; it replaces the one kept before."""
        arrays = {
            f"{kind}.{name}": array
            for kind, table in training.parameters.items()
            for name, array in table._asdict().items()
        }
        arrays |= {BEST + name: array for name, array in (training.best_values or {}).items()}
        about = {
            "origin": self._origin,
            "step": training.step,
            "seconds": training.seconds,
            "history": training.history,
        }
        begin_folder(self._folder)
        metadata = {"training": json.dumps(about)}
        write_file(self._path, lambda file: write_arrays(file, arrays, metadata))

    def remove(self) -> None:
        """Remove the checkpoint, and partial files that a killed process left behind."""
        self._path.unlink(missing_ok=True)
        for partial in self._folder.glob(".*.partial"):
            partial.unlink(missing_ok=True)

    def require_same(self, origin: dict[str, Any]) -> None:
        """Refuse a training of other data or settings."""
        for what in ("data", "settings"):
            for key, wanted in self._origin[what].items():
                stored = origin.get(what, {}).get(key)
                if stored != wanted:
                    raise EmbeddingError(
                        self._folder,
                        f"holds a training with other {what} ({key}: {stored} there, {wanted} now);"
                        " choose another folder, or start over with --restart",
                    )

    @property
    def origin(self) -> dict[str, Any]:
        """The settings, and the fingerprint of the data."""
        return self._origin

    def _refuse_foreign_files(self) -> None:
        """Never write into a folder with other files: they may be somebody's work."""
        if self._folder.exists() and not self._folder.is_dir():
            raise EmbeddingError(self._folder, "is a file; choose a folder")
        names = (path.name for path in self._folder.iterdir()) if self._folder.exists() else ()
        foreign = sorted(name for name in names if not name.endswith((".partial", MANIFEST, LOCK)))
        if foreign and not {ABOUT, ARRAYS} & set(foreign):
            raise EmbeddingError(self._folder, f"holds other files ({foreign[0]}); choose another folder")


def fingerprint(dataset: Dataset) -> dict[str, str]:
    """What must be the same for a training to resume."""
    names = json.dumps([dataset.vocab.entities, dataset.vocab.relations]).encode()
    splits = {"train": dataset.train, "valid": dataset.valid}
    return {
        "names": hashlib.sha256(names).hexdigest()[:8],
        **{split: f"{len(facts):,} facts (hash {_digest(facts)})" for split, facts in splits.items()},
    }


def _digest(facts: np.ndarray[Any, np.dtype[np.int32]]) -> str:
    return hashlib.sha256(facts.astype("<i4").tobytes()).hexdigest()[:8]
