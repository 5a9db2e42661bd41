"""The dataset of a run, and the mark that says by which layout of the folder it was written.

vocabulary.json      format of the folder, names, labels, where the facts came from
dataset.safetensors  facts of train, valid and test as ids
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rnnlogic.base.errors import DataError
from rnnlogic.base.sealed import MANIFEST
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.packed import FACT_ARRAYS, pack_dataset, unpack_dataset
from rnnlogic.runs.arrays import read_arrays, write_arrays
from rnnlogic.runs.files import RunError, read_object, unreadable, write_object

VOCABULARY, FACTS = "vocabulary.json", "dataset.safetensors"
FORMAT = 3  # of the whole folder; folders of version 0.1 have no mark
READ = (2, FORMAT)  # folders of format 2 have no checksums


def write_dataset(folder: Path, dataset: Dataset) -> None:
    """Keep a dataset in a run folder."""
    names, arrays = pack_dataset(dataset)
    write_object(folder / VOCABULARY, {"format": FORMAT, **names})
    write_arrays(folder / FACTS, arrays)


def read_dataset(folder: Path) -> Dataset:
    """The dataset of a run, from the folder alone."""
    names = _names(folder)
    try:
        return unpack_dataset(names, read_arrays(folder / FACTS, FACT_ARRAYS))
    except DataError as error:
        raise unreadable(folder, f"{VOCABULARY} and {FACTS} do not fit: {error}") from None


def require_format(folder: Path) -> None:
    """Refuse a folder of another version."""
    _names(folder)


def _names(folder: Path) -> dict[str, Any]:
    names = read_object(folder / VOCABULARY)
    found = names.get("format")
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
    return names
