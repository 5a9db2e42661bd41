"""A dataset as plain values and arrays, for whoever keeps one on disk beside other things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import islice
from operator import ge, lt
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import DataError
from rnnlogic.base.types import Arrays
from rnnlogic.data.cleaning import CleaningReport
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab

SPLITS = EVIDENCE_SPLITS["all"]
FACT_ARRAYS: Declaration = {split: Declared("int32", (f"{split}_facts", 3), least=0) for split in SPLITS}


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


def facts_by_split(dataset: Dataset) -> dict[str, Triples]:
    """The facts of train, valid and test."""
    return {split: dataset.facts(split) for split in SPLITS}


def pack_dataset(dataset: Dataset) -> tuple[dict[str, Any], Arrays]:
    """Names, labels and the cleaning report as values for JSON; facts of every split as arrays."""
    vocab = dataset.vocab
    names = {
        "name": dataset.name,
        "source": dataset.source,
        "relations": vocab.relations,
        "relation_labels": dict(vocab.relation_labels),
        "entities": vocab.entities,
        "entity_labels": dict(vocab.entity_labels),
        "cleaning": dataset.report.as_dict(),
    }
    return names, dict(facts_by_split(dataset))


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
    vocab = Vocab(told.entities, told.relations, told.entity_labels, told.relation_labels)
    for kind, listed in (("entities", vocab.entities), ("relations", vocab.relations)):
        if not _ascend(listed) and len(set(listed)) < len(listed):
            raise DataError(f"{kind}: a name is given twice")
    missing = [split for split in SPLITS if split not in arrays]
    if missing:
        raise DataError(f"{missing[0]!r} is missing")
    train, valid, test = (_checked(split, arrays[split], vocab) for split in SPLITS)
    return Dataset(told.name, vocab, train, valid, test, told.cleaning, told.source)


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
