"""A dataset as a folder of text files, which `load_dataset` reads back to the same ids, facts and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from rnnlogic.base.atomic import write_atomically
from rnnlogic.base.errors import DataError
from rnnlogic.data.attributes import Values, value_text
from rnnlogic.data.dataset import Dataset
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
from rnnlogic.data.packed import facts_by_split
from rnnlogic.data.vocab import Vocab


def save_dataset(dataset: Dataset, folder: str | Path, *, force: bool = False) -> Path:
    """Write train.txt, valid.txt, test.txt, labels, attributes, and .dict files unless ids follow from names.

    Facts with weights or sources go to train.tsv, valid.tsv and test.tsv, whose header names these columns.
    Every file appears whole or not at all. A folder that is not empty is refused. With `force` its files are
    replaced, and other dataset files in it are removed, as `load_dataset` would read them too.
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
        _is_sorted(vocab.entities)
        and _is_sorted(vocab.relations)
        and len(np.unique(facts[:, [0, 2]])) == vocab.num_entities
        and len(np.unique(facts[:, 1])) == vocab.num_relations
    )


def _is_sorted(names: tuple[str, ...]) -> bool:
    return all(a < b for a, b in pairwise(names))


def _dataset_files(folder: Path) -> list[Path]:
    read = [path for _, path in split_candidates(folder)] + more_train_candidates(folder)
    return [Path(str(path)) for path in read] + [
        path for path in map(folder.joinpath, EXTRAS) if path.is_file()
    ]
