"""A dataset as plain values and arrays, for whoever keeps one on disk beside other things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.base.types import Arrays
from rnnlogic.data.cleaning import CleaningReport
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab

SPLITS = EVIDENCE_SPLITS["all"]


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
        vocab = Vocab(
            tuple(names["entities"]),
            tuple(names["relations"]),
            names["entity_labels"],
            names["relation_labels"],
        )
        unseen = {key: tuple(names["cleaning"][key]) for key in ("unseen_entities", "unseen_relations")}
        report = CleaningReport(**(names["cleaning"] | unseen))
        train, valid, test = (_checked(split, arrays[split], vocab) for split in SPLITS)
        return Dataset(names["name"], vocab, train, valid, test, report, names["source"])
    except KeyError as error:
        raise DataError(f"{error} is missing") from None
    except TypeError as error:
        raise DataError(str(error)) from None


def _checked(split: str, facts: Triples, vocab: Vocab) -> Triples:
    """Facts whose ids all have names; kernels rely on it."""
    if facts.dtype != np.int32 or facts.ndim != 2 or facts.shape[1] != 3:
        raise DataError(f"{split} facts are {facts.dtype} {list(facts.shape)}, not int32 [n, 3]")
    limits = (vocab.num_entities, vocab.num_relations, vocab.num_entities)
    if len(facts) and (facts.min() < 0 or (facts.max(axis=0) >= limits).any()):
        raise DataError(f"{split} facts have ids without a name")
    return facts
