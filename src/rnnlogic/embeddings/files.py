"""Embeddings as a folder of arrays, names and origin; the authors' checkpoints.

embedding.safetensors  entity [E, 2D]; RotatE: phase [R, D]; ComplEx: relation [2R, 2D]
names.json             entities and relations, in the order of the rows
about.json             model, margin (RotatE), settings, versions; written last: training is finished
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as from_safetensors
from safetensors.numpy import save as to_safetensors

from rnnlogic.base.atomic import write_atomically
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.base import Embedding
from rnnlogic.embeddings.complex import ComplEx
from rnnlogic.embeddings.rotate import RotatE

MODELS: dict[str, type[Embedding]] = {"RotatE": RotatE, "ComplEx": ComplEx}
FORMAT = 2  # the newest that can be read
FORMATS = {"RotatE": 1, "ComplEx": 2}  # what is written
ARRAYS, NAMES, ABOUT = "embedding.safetensors", "names.json", "about.json"


class EmbeddingError(RNNLogicError):
    """An embedding folder cannot be used; the message says why and what to do."""

    def __init__(self, path: str | Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def save_embedding(folder: str | Path, embedding: Embedding, vocab: Vocab, about: dict[str, Any]) -> None:
    """Write arrays, names and `about`; every file appears whole, about.json last."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    packed = to_safetensors({name: np.ascontiguousarray(array) for name, array in embedding.arrays.items()})
    names = {"entities": vocab.entities, "relations": vocab.relations}
    write_atomically(folder / ARRAYS, packed)
    write_atomically(folder / NAMES, json.dumps(names, ensure_ascii=False, indent=1) + "\n")
    model = embedding.model
    facts = {"format": FORMATS[model], **about, "model": model, "dim": embedding.dim, **embedding.constants}
    write_atomically(folder / ABOUT, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")


def load_embedding(folder: str | Path, vocab: Vocab) -> tuple[Embedding, dict[str, Any]]:
    """The embedding, its rows matched by name to `vocab`, and the contents of about.json."""
    folder = Path(folder)
    about = read_about(folder)
    names = _read_json(folder / NAMES)
    try:
        arrays = from_safetensors((folder / ARRAYS).read_bytes())
    except (OSError, SafetensorError) as error:
        raise EmbeddingError(folder / ARRAYS, f"cannot be read ({error}); was it copied whole?") from None
    kind = MODELS.get(about["model"])
    if kind is None:
        raise EmbeddingError(folder, f"holds a {about['model']}; known are {', '.join(MODELS)}")
    entity = arrays["entity"][_rows("entity", names["entities"], vocab.entities, folder)]
    rows = np.array(_rows("relation", names["relations"], vocab.relations, folder), np.int64)
    relation, number = arrays[kind.relation_array], len(names["relations"])
    inverses = [rows + first for first in range(number, len(relation), number)]  # with rows of their own
    return kind.of_arrays(entity, relation[np.concatenate([rows, *inverses])], about), about


def is_finished(folder: str | Path) -> bool:
    """Whether the folder holds an embedding whose training is finished."""
    return (Path(folder) / ABOUT).is_file()


def read_about(folder: str | Path) -> dict[str, Any]:
    """The contents of about.json: model, dim, settings, versions, minutes, validation MRR."""
    about: dict[str, Any] = _read_json(Path(folder) / ABOUT)
    if about.get("format", 0) > FORMAT:
        raise EmbeddingError(
            folder, f"was made by rnnlogic {about.get('rnnlogic')}; install that version or a newer one"
        )
    return about


def remove_embedding(folder: str | Path) -> None:
    """Remove the files of an embedding; others stay."""
    for name in (ABOUT, NAMES, ARRAYS):
        (Path(folder) / name).unlink(missing_ok=True)


def checksum(folder: str | Path) -> str:
    """SHA-256 of the arrays, by which a run recognises its embedding."""
    try:
        return hashlib.sha256((Path(folder) / ARRAYS).read_bytes()).hexdigest()
    except OSError as error:
        raise EmbeddingError(folder, f"is not an embedding folder ({error.strerror})") from None


def load_authors_checkpoint(
    folder: str | Path, vocab: Vocab, entities_dict: str | Path, relations_dict: str | Path
) -> RotatE:
    """A checkpoint of the public RotatE code; two files of `id<TAB>name` lines say what its ids mean.

    entity_embedding.npy is [E, 2D], real half first; relation_embedding.npy holds phases [R, D] scaled by
    (gamma + 2) / D / pi.
    """
    folder = Path(folder)
    config = _read_json(folder / "config.json")
    margin, dim = float(config["gamma"]), int(config["hidden_dim"])
    entities, relations = _names_by_id(entities_dict), _names_by_id(relations_dict)
    entity = np.load(folder / "entity_embedding.npy", allow_pickle=False)
    scaled = np.load(folder / "relation_embedding.npy", allow_pickle=False)
    phase = (scaled * (np.pi * dim / (margin + 2))).astype(np.float32)
    return RotatE(
        entity[_rows("entity", entities, vocab.entities, folder)],
        phase[_rows("relation", relations, vocab.relations, folder)],
        margin,
    )


def _rows(kind: str, names: Sequence[str], wanted: Sequence[str], folder: Path) -> list[int]:
    """The row of every wanted name."""
    row_of = {name: row for row, name in enumerate(names)}
    missing = [name for name in wanted if name not in row_of]
    if missing:
        some = ", ".join(map(repr, missing[:3]))
        raise EmbeddingError(
            folder,
            f"has no embedding of {kind} {some} ({len(missing):,} of {len(wanted):,} missing); it was trained"
            " on other data: train one on this dataset with `rnnlogic embed`",
        )
    return [row_of[name] for name in wanted]


def _names_by_id(path: str | Path) -> list[str]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    pairs = sorted((int(number), name) for number, name in (line.split("\t") for line in lines))
    return [name for _, name in pairs]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EmbeddingError(path, "is missing; `rnnlogic embed DATASET -o EMB` makes embeddings") from None
    except (OSError, ValueError) as error:
        raise EmbeddingError(path, f"cannot be read ({error}); was the folder copied whole?") from None
