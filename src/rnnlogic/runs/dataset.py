"""The dataset of a run, and the mark that says by which layout of the folder it was written.

vocabulary.json      format of the folder, names, labels, where the facts came from
dataset.safetensors  facts of train, valid and test as ids
graphs/              the graphs of a large dataset, ready to use: their files are mapped, not read
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.base.files import MANIFEST, require_whole
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
from rnnlogic.data.graph import Graph, GraphArrays
from rnnlogic.data.saving import FACT_ARRAYS, pack_dataset, unpack_dataset
from rnnlogic.runs.files import (
    RunError,
    read_arrays,
    read_object,
    unreadable,
    write_arrays,
    write_file,
    write_object,
)

VOCABULARY, FACTS = "vocabulary.json", "dataset.safetensors"
GRAPHS = "graphs"
KEPT: tuple[Evidence, ...] = ("train", "all")  # what predict, evaluate and complete look at by default
LARGE = 200_000  # facts from which on it takes longer to sort a graph than to map it
FORMAT = 3  # of the whole folder; folders of version 0.1 have no mark
READ = (2, FORMAT)  # folders of format 2 have no checksums
MARK = re.compile(rb'\{\s*"format": (\d{1,9}),')  # how a vocabulary begins; the rest may take seconds to read


def write_dataset(folder: Path, dataset: Dataset) -> None:
    """Keep a dataset in a run folder."""
    write_vocabulary(folder, dataset)
    write_arrays(folder / FACTS, pack_dataset(dataset)[1])


def write_vocabulary(folder: Path, dataset: Dataset) -> None:
    """Keep the names and labels of a dataset in a run folder."""
    write_object(folder / VOCABULARY, {"format": FORMAT, **pack_dataset(dataset)[0]})


def read_dataset(folder: Path) -> Dataset:
    """The dataset of a run, from the folder alone."""
    names = _names(folder)
    try:
        dataset = unpack_dataset(names, read_arrays(folder / FACTS, FACT_ARRAYS))
    except DataError as error:
        raise unreadable(folder, f"{VOCABULARY} and {FACTS} do not fit: {error}") from None
    for evidence in KEPT:
        dataset.keep_graph(evidence, partial(_kept_graph, folder))
    return dataset


def write_graphs(folder: Path, dataset: Dataset) -> None:
    """Keep the graphs of a large dataset; of a small one they are made again in no time."""
    for evidence in KEPT:
        place = _graph_folder(folder, dataset, evidence)
        if place is not None:
            for name, array in dataset.graph(evidence).arrays._asdict().items():
                write_file(place / f"{name}.npy", partial(np.save, arr=array, allow_pickle=False))


def _kept_graph(folder: Path, dataset: Dataset, evidence: Evidence) -> Graph | None:
    """The graph that a run keeps, if it keeps one and is still there."""
    place = _graph_folder(folder, dataset, evidence)
    if place is None or not all(path.is_file() for path in _graph_files(place)):
        return None
    return _mapped_graph(place, dataset)


def _graph_folder(folder: Path, dataset: Dataset, evidence: Evidence) -> Path | None:
    """Where a graph is kept: the name has the hash of its facts; None for small ones."""
    facts = [dataset.facts(split) for split in EVIDENCE_SPLITS[evidence]]
    if sum(map(len, facts)) < LARGE:
        return None
    digest = hashlib.sha256()
    for part in facts:
        digest.update(np.ascontiguousarray(part).data)
    return folder / GRAPHS / f"{evidence}-{digest.hexdigest()[:16]}"


def _graph_files(place: Path) -> list[Path]:
    return [place / f"{name}.npy" for name in GraphArrays._fields]


def _mapped_graph(place: Path, dataset: Dataset) -> Graph:
    """A graph whose files are mapped: they are what was written, and their ids are within range."""
    paths = _graph_files(place)
    try:
        for path in paths:
            require_whole(path)
        arrays = [np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray) for path in paths]
        return Graph.from_arrays(
            GraphArrays(*arrays), dataset.vocab.num_entities, dataset.vocab.num_relations
        )
    except (OSError, ValueError) as error:
        raise unreadable(place, error) from None


def require_format(folder: Path) -> None:
    """Refuse a folder of another version."""
    try:
        with (folder / VOCABULARY).open("rb") as file:
            mark = MARK.match(file.read(64))
    except OSError:
        mark = None
    if mark is None:
        _names(folder)
    else:
        _require_known(folder, int(mark[1]))


def _names(folder: Path) -> dict[str, Any]:
    names = read_object(folder / VOCABULARY)
    _require_known(folder, names.get("format"))
    return names


def _require_known(folder: Path, found: object) -> None:
    """Refuse a format that this version does not read."""
    if found is None:
        raise RunError(
            folder,
            "holds a run of rnnlogic 0.1, which this version cannot read; fit again in a new folder, or in"
            " this one with --restart",
        )
    if found == FORMAT and not (folder / MANIFEST).is_file():
        raise unreadable(folder / MANIFEST, "no such file, so nobody can tell whether the run is whole")
    if found not in READ:
        raise RunError(
            folder,
            f"holds a run of another version of rnnlogic (format {found}; this one reads {FORMAT}); install"
            " that version, or fit again in a new folder",
        )
