"""The checkpoint of an unfinished training: one file, which appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from rnnlogic.base.arrays import WrongArraysError, parse_arrays, write_arrays
from rnnlogic.base.files import MANIFEST, refuse_links
from rnnlogic.base.lock import LOCK
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.files import ABOUT, ARRAYS, EmbeddingError, begin_folder, read_file, write_file
from rnnlogic.embeddings.train import BEST, Method, Training

CHECKPOINT = "checkpoint.safetensors"


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
            for kind, table in training.parameters._asdict().items()
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
