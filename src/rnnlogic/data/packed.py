"""A dataset as plain values and arrays, for whoever keeps one on disk beside other things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from operator import ge, lt
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import DataError
from rnnlogic.base.types import Arrays
from rnnlogic.data.annotations import Annotations, of_splits
from rnnlogic.data.attributes import Attribute, Values
from rnnlogic.data.cleaning import CleaningReport
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset
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
