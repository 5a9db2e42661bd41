"""`Dataset` (names, facts of train, valid and test, cleaning report) and `load_dataset`, which makes one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError, UnknownNameError
from rnnlogic.data.cleaning import (
    CleaningReport,
    drop_duplicates,
    drop_repeats,
    fold_inverses,
    unseen_in_train,
)
from rnnlogic.data.columns import ReadOptions, parse_columns
from rnnlogic.data.doubts import doubts_of
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.labels import Labels, add_labels
from rnnlogic.data.raw import UNSPLIT, Names, RawFacts
from rnnlogic.data.rdf import prefixed
from rnnlogic.data.readers import parse_sep
from rnnlogic.data.sources import read_source
from rnnlogic.data.split import Ratios, check_ratios, default_ratios, split_facts
from rnnlogic.data.vocab import Vocab

Evidence = Literal["train", "train+valid", "all"]
EVIDENCE_SPLITS: dict[str, tuple[str, ...]] = {
    "train": ("train",),
    "train+valid": ("train", "valid"),
    "all": ("train", "valid", "test"),
}


class DataWarning(UserWarning):
    """Data that may have been read wrongly; the message shows how they were read, and how to change it."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Names and facts, split into train, valid and test; immutable."""

    name: str
    vocab: Vocab
    train: Triples  # [n, 3] head, relation (< R), tail
    valid: Triples
    test: Triples
    report: CleaningReport = field(default_factory=CleaningReport)
    source: str = ""  # one line: where the facts came from and how they were split
    _graphs: dict[str, Graph] = field(default_factory=dict, init=False, repr=False)
    _kept: dict[str, KeptGraph] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for facts in (self.train, self.valid, self.test):
            facts.setflags(write=False)

    def __repr__(self) -> str:
        sizes = f"{self.vocab.num_entities:,} entities, {self.vocab.num_relations:,} relations"
        facts = "/".join(f"{len(self.facts(split)):,}" for split in EVIDENCE_SPLITS["all"])
        return f"Dataset({self.name}: {sizes}, {facts} facts)"

    def with_vocab(self, vocab: Vocab) -> Dataset:
        """The same facts with other names to show; graphs that were built are kept."""
        shown = replace(self, vocab=vocab)
        shown._graphs.update(self._graphs)
        shown._kept.update(self._kept)
        return shown

    def facts(self, split: str) -> Triples:
        """The facts of "train", "valid" or "test"."""
        if split not in EVIDENCE_SPLITS["all"]:
            raise UnknownNameError("split", split, EVIDENCE_SPLITS["all"])
        facts: Triples = getattr(self, split)
        return facts

    def without_training_facts(self) -> list[str]:
        """Relations of which nothing can be learned, by name."""
        known = np.bincount(self.train[:, 1], minlength=self.vocab.num_relations)
        return [self.vocab.relations[relation] for relation in np.flatnonzero(known == 0)]

    def graph(self, evidence: Evidence = "train") -> Graph:
        """The graph of "train", "train+valid" or "all" facts; built or opened once."""
        if evidence not in EVIDENCE_SPLITS:
            raise UnknownNameError("evidence", evidence, EVIDENCE_SPLITS)
        if evidence not in self._graphs:
            kept = self._kept[evidence](self, evidence) if evidence in self._kept else None
            self._graphs[evidence] = self._built(evidence) if kept is None else kept
        return self._graphs[evidence]

    def keep_graph(self, evidence: Evidence, opened: KeptGraph) -> None:
        """Say how to open a graph that was built before from the same facts; asked when it is needed."""
        self._kept[evidence] = opened

    def _built(self, evidence: Evidence) -> Graph:
        facts = np.concatenate([self.facts(split) for split in EVIDENCE_SPLITS[evidence]])
        return Graph.from_triples(facts, self.vocab.num_entities, self.vocab.num_relations)


# Opens the graph of a dataset for some evidence; None if it is not there (any more)
KeptGraph = Callable[[Dataset, Evidence], Graph | None]


def load_dataset(
    x: Any,
    *,
    seed: int = 0,
    ratios: Ratios | None = None,
    name: str | None = None,
    columns: str | Sequence[str | int] | Mapping[str, str | int] | None = None,
    sep: str | None = None,
    labels: Labels | None = None,
    query: str | None = None,
) -> Dataset:
    """Load a knowledge graph from nearly anything.

    `x` is a name (`umls`; folders under $RNNLOGIC_DATA come first), a folder with train/valid/test files, a
    single file or zip archive, `-` for standard input, the address of a SPARQL endpoint, a database file or
    connection (with `query`), a pandas or polars frame, a list or array of triples, a networkx graph, a
    PyKEEN dataset or triples factory, or a Dataset. A text that is a name is never taken as a path: write
    `./umls` for a folder called umls.

    `columns` names the columns of head, relation and tail (`"from,kind,to"`, or numbers from 1) where their
    own names do not say; `sep` is what separates them. `labels` are names to show, a mapping or a file of
    `name<TAB>label` lines, for entities and relations alike. If the data seem to have been read wrongly, a
    `DataWarning` and the report say why.

    Facts without a split are split at random by `ratios` (train, valid, test) and `seed`; train mentions
    every entity and relation. Names get ids in sorted order, unless the folder has entities.dict and
    relations.dict.
    """
    if isinstance(x, Dataset):
        if columns is not None or sep is not None or labels is not None or query is not None:
            raise DataError(
                "the dataset is loaded already; give columns, sep, labels and query when you load it"
            )
        return x if name is None else replace(x, name=name)
    if ratios is not None:
        ratios = check_ratios(ratios)
    options = ReadOptions(parse_columns(columns), parse_sep(sep), query)
    own_name, raw = read_source(x, options, keep_split=ratios is None)
    if labels is not None:
        add_labels(raw, labels)
    dataset = _assemble(raw, name or own_name, ratios, seed)
    for doubt in dataset.report.doubts:
        warnings.warn(doubt, DataWarning, stacklevel=2)
    return dataset


def _assemble(raw: RawFacts, name: str, ratios: Ratios | None, seed: int) -> Dataset:
    splits, gone, folded = fold_inverses(raw.splits, raw.relations, len(raw.entities))
    entities, entity_ids = _final_names(raw.entities, frozenset())
    relations, relation_ids = _final_names(raw.relations, gone)
    splits = {split: _renumbered(facts, entity_ids, relation_ids) for split, facts in splits.items()}
    size = (len(entities), len(relations))
    splits, duplicates = drop_duplicates(splits, *size)
    source, extra, repeated = raw.source, 0, dict[str, int]()
    if UNSPLIT in splits:
        ratios = ratios or default_ratios(name)
        splits, extra = split_facts(splits[UNSPLIT], ratios, seed, *size)
        source += f", seeded {'/'.join(f'{r:g}' for r in ratios)} split, seed {seed}"
    elif ratios is not None:
        raise DataError(f"{source} is split already; leave the ratios out, or give all facts as one file")
    else:
        splits, repeated = drop_repeats(splits, *size)
    report = CleaningReport(
        **(raw.tally.found() | folded),
        doubts=tuple(doubts_of(raw)),
        duplicates=duplicates,
        repeated=repeated,
        extra_train=extra,
        unseen_entities=unseen_in_train(splits, [0, 2], entities),
        unseen_relations=unseen_in_train(splits, [1], relations),
    )
    entity_labels = prefixed(entities, raw.prefixes) | _used(raw.entity_labels, entities)
    relation_labels = prefixed(relations, raw.prefixes) | _used(raw.relation_labels, relations)
    vocab = Vocab(entities, relations, entity_labels, relation_labels)
    return Dataset(name, vocab, splits["train"], splits["valid"], splits["test"], report, source)


def _renumbered(facts: Triples, entity_ids: NDArray[np.int32], relation_ids: NDArray[np.int32]) -> Triples:
    head, relation, tail = facts.T
    return np.stack([entity_ids[head], relation_ids[relation], entity_ids[tail]], axis=1)


def _final_names(names: Names, gone: frozenset[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Names in their final order (sorted, unless fixed), and the final id for each id so far."""
    kept = [name for name in names if name not in gone]
    final = tuple(kept if names.fixed else sorted(kept))
    ids = np.full(len(names), -1, np.int32)
    ids[[names[name] for name in final]] = np.arange(len(final))
    return final, ids


def _used(labels: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: labels[name] for name in names if name in labels} if labels else {}
