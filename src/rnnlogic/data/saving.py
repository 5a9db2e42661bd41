"""A dataset as a folder of text files that `load_dataset` reads back, and as values and arrays for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from operator import ge, lt
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import DataError
from rnnlogic.base.files import write_atomically
from rnnlogic.base.types import Arrays
from rnnlogic.data.annotations import Annotations, of_splits
from rnnlogic.data.attributes import Attribute, Values, value_text
from rnnlogic.data.cleaning import CleaningReport
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset
from rnnlogic.data.files import (
    ATTRIBUTES,
    ENTITY_DICT,
    ENTITY_LABELS,
    EXTRAS,
    RELATION_DICT,
    RELATION_LABELS,
    more_train_candidates,
    split_candidates,
)
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab

SPLITS = EVIDENCE_SPLITS["all"]
REVIEWED = ("accepted", "rejected")  # only there if a review decided on facts
FACT_ARRAYS: Declaration = {
    **{
        kind: Declared("int32", (f"{kind}_facts", 3), least=0, optional=kind in REVIEWED)
        for kind in (*SPLITS, *REVIEWED)
    },
    **{
        f"{split}_weights": Declared("float64", (f"{split}_facts",), least=0, most=1, optional=True)
        for split in SPLITS
    },
    **{
        f"{split}_sources": Declared("int32", (f"{split}_facts",), least=0, optional=True) for split in SPLITS
    },
    "values": Declared("float64", ("attributes", "entities"), finite=False, optional=True),
}


@dataclass
class _Names:
    """What `pack_dataset` gives for JSON."""

    name: str
    source: str
    relations: tuple[str, ...]
    relation_labels: dict[str, str]
    entities: tuple[str, ...]
    entity_labels: dict[str, str]
    cleaning: CleaningReport
    templates: dict[str, tuple[str, str]] = field(default_factory=dict)  # older runs have none
    source_sets: tuple[tuple[str, ...], ...] = ()  # sources of facts, by the ids that the arrays have
    attributes: tuple[Attribute, ...] = ()


def facts_by_split(dataset: Dataset) -> dict[str, Triples]:
    """The facts of train, valid and test."""
    return {split: dataset.facts(split) for split in SPLITS}


def reviewed_facts(dataset: Dataset) -> dict[str, Triples]:
    """The facts that a review accepted and rejected, if there are any."""
    found = {"accepted": dataset.accepted, "rejected": dataset.rejected}
    return {kind: facts for kind, facts in found.items() if len(facts)}


def pack_dataset(dataset: Dataset) -> tuple[dict[str, Any], Arrays]:
    """Names, labels and the cleaning report as values for JSON; facts of every split as arrays."""
    vocab = dataset.vocab
    names: dict[str, Any] = {
        "name": dataset.name,
        "source": dataset.source,
        "relations": vocab.relations,
        "relation_labels": dict(vocab.relation_labels),
        "entities": vocab.entities,
        "entity_labels": dict(vocab.entity_labels),
        "cleaning": dataset.report.as_dict(),
    }
    if vocab.templates:
        names["templates"] = dict(vocab.templates)
    beside, source_sets = annotation_arrays(dataset)
    if source_sets:
        names["source_sets"] = source_sets
    if vocab.attributes:
        names["attributes"] = [list(one) for one in vocab.attributes]
    return names, facts_by_split(dataset) | reviewed_facts(dataset) | beside | value_arrays(dataset)


def value_arrays(dataset: Dataset) -> Arrays:
    """Numbers and dates of entities, if there are any."""
    return {} if dataset.values is None else {"values": dataset.values}


def annotation_arrays(dataset: Dataset) -> tuple[Arrays, tuple[tuple[str, ...], ...]]:
    """Weights and sources beside the facts of every split, and what the numbers of the sources mean."""
    notes, arrays = dataset.annotations, Arrays()
    if notes is None:
        return arrays, ()
    places = {split: notes.find(facts) for split, facts in facts_by_split(dataset).items()}
    if notes.weights is not None:
        for split, place in places.items():
            arrays[f"{split}_weights"] = np.where(place >= 0, notes.weights[place], 1.0)
    if notes.sources is None:
        return arrays, ()
    sets = ((), *notes.source_sets)  # 0: no source
    for split, place in places.items():
        arrays[f"{split}_sources"] = np.where(place >= 0, notes.sources[place] + 1, 0).astype(np.int32)
    return arrays, sets


def unpack_dataset(names: Mapping[str, Any], arrays: Arrays) -> Dataset:
    """The dataset that `pack_dataset` packed; parts that do not belong together are refused."""
    try:
        told = TypeAdapter(_Names).validate_python(dict(names))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        problem = f"{key!r} is missing" if first["type"] == "missing" else f"{key}: {first['msg'].lower()}"
        raise DataError(problem) from None
    known = {figure.name for figure in fields(CleaningReport)}
    unknown = [key for key in names["cleaning"] if key not in known]
    if unknown:
        raise DataError(f"cleaning.{unknown[0]} is not known")
    shown = told.entity_labels, told.relation_labels
    vocab = Vocab(told.entities, told.relations, *shown, templates=told.templates, attributes=told.attributes)
    for kind, listed in (("entities", vocab.entities), ("relations", vocab.relations)):
        if not _ascend(listed) and len(set(listed)) < len(listed):
            raise DataError(f"{kind}: a name is given twice")
    missing = [split for split in SPLITS if split not in arrays]
    if missing:
        raise DataError(f"{missing[0]!r} is missing")
    train, valid, test = (_checked(split, arrays[split], vocab) for split in SPLITS)
    none = np.empty((0, 3), np.int32)
    accepted, rejected = (_checked(kind, arrays.get(kind, none), vocab) for kind in REVIEWED)
    notes = _annotations(dict(zip(SPLITS, (train, valid, test), strict=True)), arrays, told.source_sets)
    return Dataset(
        told.name,
        vocab,
        train,
        valid,
        test,
        told.cleaning,
        told.source,
        accepted,
        rejected,
        annotations=notes,
        values=_values(arrays, vocab),
    )


def _values(arrays: Arrays, vocab: Vocab) -> Values | None:
    """The numbers and dates of entities; infinite ones are refused."""
    values = arrays.get("values")
    shape = (len(vocab.attributes), vocab.num_entities)
    if (values is None) == bool(vocab.attributes) or (values is not None and values.shape != shape):
        raise DataError("attributes do not fit their values")
    if values is not None and np.isinf(values).any():
        raise DataError("a value of an attribute is infinite")
    return values


def _beside(splits: Mapping[str, Triples], arrays: Arrays, kind: str) -> dict[str, Any]:
    """The arrays of one kind beside the facts of splits: of all of them, or of none."""
    found = {split: arrays[f"{split}_{kind}"] for split in splits if f"{split}_{kind}" in arrays}
    if found and any(len(found.get(split, ())) != len(facts) for split, facts in splits.items()):
        raise DataError(f"{kind} do not fit the facts")
    return found


def _annotations(
    splits: Mapping[str, Triples], arrays: Arrays, source_sets: tuple[tuple[str, ...], ...]
) -> Annotations | None:
    """Weights and sources of facts; what messages or kernels would stumble over is refused."""
    weights, sources = _beside(splits, arrays, "weights"), _beside(splits, arrays, "sources")
    if any(not ((part > 0) & (part <= 1)).all() for part in weights.values()):
        raise DataError("a weight is not above 0 and at most 1")
    if any(len(part) and not 0 <= part.min() <= part.max() < len(source_sets) for part in sources.values()):
        raise DataError("a source has no name")
    return of_splits(splits, weights, sources, source_sets)


def _ascend(names: tuple[str, ...]) -> bool:
    """Whether names ascend, as they do unless their order was given: then each occurs once."""
    return all(map(lt, names, islice(names, 1, None)))


def _checked(split: str, facts: Triples, vocab: Vocab) -> Triples:
    """Facts whose ids all have names; kernels rely on it."""
    if facts.dtype != np.int32 or facts.ndim != 2 or facts.shape[1] != 3:
        raise DataError(f"{split} facts are {facts.dtype} {list(facts.shape)}, not int32 [n, 3]")
    limits = (vocab.num_entities, vocab.num_relations, vocab.num_entities)
    largest = [column.max(initial=-1) for column in facts.T]  # max(axis=0) takes five times as long
    if facts.min(initial=0) < 0 or any(map(ge, largest, limits)):
        raise DataError(f"{split} facts have ids without a name")
    return facts


def save_dataset(dataset: Dataset, folder: str | Path, *, force: bool = False) -> Path:
    """Write a dataset as a folder that `load_dataset` reads back.

    It gets train.txt, valid.txt and test.txt, labels, attributes, and .dict files unless ids follow from
    names. Facts with weights or sources go to train.tsv, valid.tsv and test.tsv, whose header names these
    columns. Every file appears whole or not at all.

    Args:
        dataset: All of its splits need facts.
        folder: It must be new or empty, unless `force`.
        force: Replace the files of the folder. Other dataset files in it are removed, as `load_dataset` would
            read them too.

    Returns:
        The folder.

    Raises:
        RNNLogicError: If the folder is not empty or cannot be written, or if a split is empty.
    """
    folder = Path(folder)
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise DataError("the folder is not empty; choose another or use force", folder)
    for split, facts in facts_by_split(dataset).items():
        if not len(facts):
            raise DataError(f"the {split} split of {dataset.name} is empty; split it by other ratios first")
    texts = _texts(dataset)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stale = [path for path in _dataset_files(folder) if path.name not in texts]
        for name, lines in texts.items():
            write_atomically(folder / name, "".join(line + "\n" for line in lines))
    except OSError as problem:
        raise DataError(f"cannot be written ({problem.strerror or problem})", folder) from None
    for path in stale:
        path.unlink()
    return folder


def _texts(dataset: Dataset) -> dict[str, list[str]]:
    """The lines of every file to write."""
    vocab = dataset.vocab
    suffix = "txt" if dataset.annotations is None else "tsv"
    texts = {
        f"{split}.{suffix}": _fact_lines(facts, dataset) for split, facts in facts_by_split(dataset).items()
    }
    if dataset.values is not None:
        texts[ATTRIBUTES] = list(_value_lines(dataset.values, vocab))
    if not _names_follow_from_facts(dataset):
        texts[ENTITY_DICT] = [f"{i}\t{name}" for i, name in enumerate(vocab.entities)]
        texts[RELATION_DICT] = [f"{i}\t{name}" for i, name in enumerate(vocab.relations)]
    labels = {
        ENTITY_LABELS: _label_lines(vocab.entity_labels),
        RELATION_LABELS: _label_lines(vocab.relation_labels),
    }
    return texts | {name: lines for name, lines in labels.items() if lines}


def _fact_lines(facts: Triples, dataset: Dataset) -> list[str]:
    entities, relations = dataset.vocab.entities, dataset.vocab.relations
    lines = [f"{entities[h]}\t{relations[r]}\t{entities[t]}" for h, r, t in facts.tolist()]
    notes = dataset.annotations
    if notes is None:
        return lines
    header = "head\trelation\ttail"
    if notes.weights is not None:
        header += "\tweight"
        weights = notes.weights_of(facts).tolist()
        lines = [f"{line}\t{weight!r}" for line, weight in zip(lines, weights, strict=True)]
    if notes.sources is not None:
        header += "\tsource"
        sources = ("|".join(notes.sources_of(fact)) for fact in facts.tolist())
        lines = [f"{line}\t{source}" for line, source in zip(lines, sources, strict=True)]
    return [header, *lines]


def _value_lines(values: Values, vocab: Vocab) -> Iterator[str]:
    for own, (name, kind) in zip(values, vocab.attributes, strict=True):
        for entity in np.flatnonzero(~np.isnan(own)).tolist():
            yield f"{vocab.entities[entity]}\t{name}\t{value_text(float(own[entity]), kind)}"


def _label_lines(labels: Mapping[str, str]) -> list[str]:
    return [f"{name}\t{label}" for name, label in labels.items()]


def _names_follow_from_facts(dataset: Dataset) -> bool:
    """Whether reading the facts alone would give every name the same id."""
    facts = np.concatenate(list(facts_by_split(dataset).values()))
    vocab = dataset.vocab
    return (
        _ascend(vocab.entities)
        and _ascend(vocab.relations)
        and len(np.unique(facts[:, [0, 2]])) == vocab.num_entities
        and len(np.unique(facts[:, 1])) == vocab.num_relations
    )


def _dataset_files(folder: Path) -> list[Path]:
    read = [path for _, path in split_candidates(folder)] + more_train_candidates(folder)
    return [Path(str(path)) for path in read] + [
        path for path in map(folder.joinpath, EXTRAS) if path.is_file()
    ]
