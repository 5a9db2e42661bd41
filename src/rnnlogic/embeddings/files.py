"""Embeddings as a folder of arrays, names and origin; the authors' checkpoints.

embedding.safetensors  entity [E, 2D]; RotatE: phase [R, D]; ComplEx: relation [2R, 2D]
names.json             entities and relations, in the order of the rows
about.json             model, margin (RotatE), settings, versions; written last: training is finished
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnlogic.base.arrays import Declaration, Declared, WrongArraysError, parse_arrays, write_arrays
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.files import (
    MANIFEST,
    Content,
    begin_manifest,
    digest,
    read_sealed,
    refuse_links,
    seal,
    write_sealed,
)
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.base import Embedding
from rnnlogic.embeddings.complex import ComplEx
from rnnlogic.embeddings.rotate import RotatE

MODELS: dict[str, type[Embedding]] = {"RotatE": RotatE, "ComplEx": ComplEx}
CONSTANTS: dict[str, tuple[str, ...]] = {"RotatE": ("margin",), "ComplEx": ()}
FORMAT = 2  # the newest that can be read
FORMATS = {"RotatE": 1, "ComplEx": 2}  # what is written
ARRAYS, NAMES, ABOUT = "embedding.safetensors", "names.json", "about.json"
FILES = (MANIFEST, ARRAYS, NAMES, ABOUT)
_ENTITY: Declaration = {"entity": Declared("float32", ("entities", "2*dim"))}
DECLARED: dict[str, Declaration] = {
    "RotatE": _ENTITY | {"phase": Declared("float32", ("relations", "dim"))},
    "ComplEx": _ENTITY | {"relation": Declared("float32", ("2*relations", "2*dim"))},
}


class EmbeddingError(RNNLogicError):
    """An embedding folder cannot be used; the message says why and what to do."""

    def __init__(self, path: str | Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def save_embedding(folder: str | Path, embedding: Embedding, vocab: Vocab, about: dict[str, Any]) -> None:
    """Write arrays, names and `about`; every file appears whole, about.json last."""
    folder = Path(folder)
    begin_folder(folder)
    names = {"entities": vocab.entities, "relations": vocab.relations}
    write_file(folder / ARRAYS, lambda file: write_arrays(file, embedding.arrays))
    write_file(folder / NAMES, json.dumps(names, ensure_ascii=False, indent=1) + "\n")
    model = embedding.model
    facts = {"format": FORMATS[model], **about, "model": model, "dim": embedding.dim, **embedding.constants}
    write_file(folder / ABOUT, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")


def begin_folder(folder: Path) -> None:
    """Make the folder; from now on its files are known by their checksums."""
    try:
        begin_manifest(folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def write_file(path: Path, content: Content) -> None:
    """Write a file of an embedding folder, whole or not at all."""
    try:
        write_sealed(path, content)
    except OSError as error:
        raise _unwritable(path, error) from None


def copy_embedding(source: Path, target: Path) -> None:
    """Put an embedding into another folder; where the disk allows it, without taking up more space."""
    for name in (ARRAYS, NAMES, ABOUT):
        read_file(source / name)  # refuses a damaged one
    try:
        begin_manifest(target)
        for name in (ARRAYS, NAMES, ABOUT):
            (target / name).unlink(missing_ok=True)
            try:
                os.link(source / name, target / name)
            except OSError:
                shutil.copyfile(source / name, target / name)
            seal(target / name)
    except OSError as error:
        raise _unwritable(target, error) from None


def load_embedding(folder: str | Path, vocab: Vocab) -> tuple[Embedding, dict[str, Any]]:
    """The embedding, its rows matched by name to `vocab`, and the contents of about.json."""
    folder = Path(folder)
    if folder.is_dir():
        refuse_links(folder)
    about = read_about(folder)
    model = str(about.get("model"))
    if model not in MODELS:
        raise EmbeddingError(folder, f"holds a {model}; known are {', '.join(MODELS)}")
    names = {kind: _names(folder, kind) for kind in ("entities", "relations")}
    sizes = {kind: len(listed) for kind, listed in names.items()} | {
        "dim": _number(folder, about, "dim", int)
    }
    for key in CONSTANTS[model]:
        _number(folder, about, key, float)
    try:
        arrays = parse_arrays(read_file(folder / ARRAYS), DECLARED[model], sizes).arrays
    except WrongArraysError as error:
        raise EmbeddingError(folder / ARRAYS, f"cannot be read ({error}); was it copied whole?") from None
    kind = MODELS[model]
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
    about = _read_json(Path(folder) / ABOUT)
    if _number(Path(folder), {"format": 0} | about, "format", int) > FORMAT:
        raise EmbeddingError(
            folder, f"was made by rnnlogic {about.get('rnnlogic')}; install that version or a newer one"
        )
    return about


def remove_embedding(folder: str | Path) -> None:
    """Remove the files of an embedding; others stay."""
    for name in reversed(FILES):
        (Path(folder) / name).unlink(missing_ok=True)


def checksum(folder: str | Path) -> str:
    """SHA-256 of the arrays, by which a run recognises its embedding."""
    try:
        return digest(Path(folder) / ARRAYS).sha256
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


def read_file(path: Path) -> bytearray:
    """The bytes of a file of an embedding folder, which are what was written there."""
    try:
        return read_sealed(path)
    except FileNotFoundError:
        raise EmbeddingError(path, "is missing; `rnnlogic embed DATASET -o EMB` makes embeddings") from None
    except OSError as error:
        raise _unreadable(path, error.strerror or error) from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(values, dict):
        raise _unreadable(path, f"expected an object, found {type(values).__name__}")
    return values


def _names(folder: Path, kind: str) -> list[str]:
    names = _read_json(folder / NAMES).get(kind)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _unreadable(folder / NAMES, f"{kind} is no list of names")
    return names


def _number(folder: Path, about: dict[str, Any], key: str, kind: type) -> Any:
    value = about.get(key)
    fits = isinstance(value, int) or (kind is float and isinstance(value, float) and math.isfinite(value))
    if isinstance(value, bool) or not fits or abs(value or 0) > 1e9:
        raise _unreadable(folder / ABOUT, f"{key} is no number that makes sense")
    return value


def _unreadable(path: Path, problem: object) -> EmbeddingError:
    return EmbeddingError(path, f"cannot be read ({problem}); was the folder copied whole?")


def _unwritable(path: Path, error: OSError) -> EmbeddingError:
    return EmbeddingError(path, f"cannot be written ({error.strerror or error})")
