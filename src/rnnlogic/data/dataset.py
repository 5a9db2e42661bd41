"""`Dataset` (names, facts of train, valid and test, cleaning report) and `load_dataset`, which makes one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError, RNNLogicError, UnknownNameError
from rnnlogic.base.types import PathKind
from rnnlogic.data.annotations import Annotations
from rnnlogic.data.attributes import Values, attributes_of
from rnnlogic.data.cleaning import (
    CleaningReport,
    Inverses,
    Ratios,
    check_ratios,
    default_ratios,
    drop_duplicates,
    drop_repeats,
    filtered,
    fold_inverses,
    split_facts,
    unseen_in_train,
    unused,
)
from rnnlogic.data.doubts import doubts_of
from rnnlogic.data.files import read_file, read_folder
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.labels import Labels, Templates, add_labels, templated
from rnnlogic.data.named import KNOWN, is_name, local_names, read_named
from rnnlogic.data.networks import is_network, read_networkx
from rnnlogic.data.options import NO_OPTIONS, Reading, ReadOptions, read_options
from rnnlogic.data.places import STANDARD_INPUT, StandardInput, stem_of, suffix_of
from rnnlogic.data.raw import UNSPLIT, Names, RawFacts
from rnnlogic.data.rdf import is_endpoint, prefixed, read_endpoint
from rnnlogic.data.tables import DATABASE_SUFFIXES, is_connection, read_connection, read_database, read_object
from rnnlogic.data.vocab import Vocab

LONGEST_NAME = 255  # bytes of a file's name, on every usual disk


def read_source(x: Any, options: ReadOptions, *, keep_split: bool = True) -> tuple[str, RawFacts]:
    """The facts of anything that `load_dataset` takes, with a name for them."""
    if is_connection(x):
        return "facts", read_connection(x, options)
    if isinstance(x, str) and is_endpoint(x):
        return "facts", read_endpoint(x, options)
    path = Path(x) if isinstance(x, str | os.PathLike) else None
    if isinstance(x, str) and len(os.fsencode(Path(x).name)) > LONGEST_NAME:
        raise _not_found(x[:60] + "...")  # the system would not even look
    if path is not None and suffix_of(path) in DATABASE_SUFFIXES and path.exists():
        return stem_of(path), read_database(path, options)
    if options.query is not None:
        raise DataError(
            "a query needs a database file, a database connection or the address of a SPARQL endpoint"
        )
    if isinstance(x, str) and is_name(x):
        return x, read_named(x, options, keep_split=keep_split)
    if path is None:
        return "facts", (read_networkx if is_network(x) else read_object)(x, options)
    if str(x) == STANDARD_INPUT:
        return "facts", read_file(StandardInput.read(), options)
    if path.is_dir():
        return path.resolve().name, read_folder(path, options)
    if path.is_file():
        return stem_of(path), read_file(path, options)
    if str(x).lower() in KNOWN:
        return read_source(str(x).lower(), options, keep_split=keep_split)
    raise _not_found(x)


def _not_found(x: str | os.PathLike[str]) -> RNNLogicError:
    if not isinstance(x, str) or Path(x).name != x or suffix_of(Path(x)):
        return DataError("no such file or folder", Path(x))
    names = [*KNOWN, *(name for name in local_names() if name not in KNOWN)]
    problem = UnknownNameError("dataset", x, names)
    return DataError(f"{problem} (known: {', '.join(names)}; no file or folder has that name either)")


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
    """Names and facts, split into train, valid and test; immutable.

    Attributes:
        name: What the dataset is called.
        vocab: The names of its ids.
        train: The facts to learn from, [n, 3] ids of head, relation (< R) and tail.
        valid: The facts that choose between models.
        test: The facts that measure a model.
        report: What reading the data found.
        source: One line that says where the facts came from and how they were split.
        accepted: Facts that a review accepted, [n, 3].
        rejected: Facts that a review rejected, [n, 3].
        annotations: Weights and sources of facts, if there are any.
        values: Numbers and dates of entities [attributes, entities], if there are any.
        path_kind: Which walks of its graphs count as paths of rules.
    """

    name: str
    vocab: Vocab
    train: Triples
    valid: Triples
    test: Triples
    report: CleaningReport = field(default_factory=CleaningReport)
    source: str = ""
    accepted: Triples = field(default_factory=lambda: np.empty((0, 3), np.int32))
    rejected: Triples = field(default_factory=lambda: np.empty((0, 3), np.int32))
    annotations: Annotations | None = None
    values: Values | None = None
    path_kind: PathKind = "simple"
    _graphs: dict[str, Graph] = field(default_factory=dict, init=False, repr=False)
    _kept: dict[str, KeptGraph] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for facts in (self.train, self.valid, self.test, self.accepted, self.rejected, self.values):
            if facts is not None:
                facts.setflags(write=False)

    def __repr__(self) -> str:
        sizes = f"{self.vocab.num_entities:,} entities, {self.vocab.num_relations:,} relations"
        facts = "/".join(f"{len(self.facts(split)):,}" for split in EVIDENCE_SPLITS["all"])
        return f"Dataset({self.name}: {sizes}, {facts} facts)"

    def with_vocab(self, vocab: Vocab) -> Dataset:
        """The same facts with other names to show; graphs that were built are kept.

        Args:
            vocab: The names.

        Returns:
            A new dataset.
        """
        shown = replace(self, vocab=vocab)
        shown._graphs.update(self._graphs)
        shown._kept.update(self._kept)
        return shown

    def counting(self, path_kind: PathKind) -> Dataset:
        """The same facts, with another choice of the walks that count as paths; built graphs are kept.

        Args:
            path_kind: "simple" counts paths that visit no entity twice, "walks" all of them.

        Returns:
            The dataset itself if the choice is the same, else a new one.
        """
        if path_kind == self.path_kind:
            return self
        other = replace(self, path_kind=path_kind)
        other._graphs.update({name: graph.counting(path_kind) for name, graph in self._graphs.items()})
        other._kept.update(self._kept)
        return other

    def facts(self, split: str) -> Triples:
        """The facts of a split.

        Args:
            split: "train", "valid" or "test".

        Returns:
            The ids of head, relation and tail, [n, 3].

        Raises:
            RNNLogicError: If the split is unknown.
        """
        if split not in EVIDENCE_SPLITS["all"]:
            raise UnknownNameError("split", split, EVIDENCE_SPLITS["all"])
        facts: Triples = getattr(self, split)
        return facts

    def weight_of(self, fact: Sequence[int]) -> float:
        """The weight of a fact; 1 if it has none.

        Args:
            fact: The ids of head, relation and tail; the relation may be an inverse.

        Returns:
            Above 0 and at most 1.
        """
        if self.annotations is None:
            return 1.0
        return float(self.annotations.weights_of(np.array([self.vocab.as_fact(*fact)], np.int32))[0])

    def sources_of(self, fact: Sequence[int]) -> tuple[str, ...]:
        """The sources of a fact.

        Args:
            fact: The ids of head, relation and tail; the relation may be an inverse.

        Returns:
            Their names; empty if the fact has none.
        """
        return () if self.annotations is None else self.annotations.sources_of(self.vocab.as_fact(*fact))

    def facts_from(self, source: str) -> list[tuple[str, str, str]]:
        """The facts that no other source has, those of valid and test included.

        Args:
            source: The name of the source.

        Returns:
            Head, relation and tail of each fact by name.

        Raises:
            RNNLogicError: If no fact has this source.
        """
        notes, names = self.annotations, self.vocab
        known = sorted({name for one in notes.source_sets for name in one}) if notes is not None else []
        if notes is None or notes.sources is None or source not in known:
            raise UnknownNameError("source", source, known)
        only = [place for place, one in enumerate(notes.source_sets) if one == (source,)]
        every = np.concatenate([self.facts(split) for split in EVIDENCE_SPLITS["all"]])
        place = notes.find(every)
        found = every[(place >= 0) & np.isin(notes.sources[place], only)]
        return [(names.entities[h], names.relations[r], names.entities[t]) for h, r, t in found.tolist()]

    def weights(self, split: str) -> NDArray[np.float64] | None:
        """The weights of the facts of a split.

        Args:
            split: "train", "valid" or "test".

        Returns:
            The weights in the order of the facts; None if no fact has a weight.

        Raises:
            RNNLogicError: If the facts have weights and the split is unknown.
        """
        if self.annotations is None or self.annotations.weights is None:
            return None
        return self.annotations.weights_of(self.facts(split))

    def without_training_facts(self) -> list[str]:
        """Relations of which nothing can be learned.

        Returns:
            Their names.
        """
        known = np.bincount(self.train[:, 1], minlength=self.vocab.num_relations)
        return [self.vocab.relations[relation] for relation in np.flatnonzero(known == 0)]

    def graph(self, evidence: Evidence = "train") -> Graph:
        """The graph of some of the facts; built or opened once.

        Args:
            evidence: Which splits it holds.

        Returns:
            The graph, with weights and numbers where there are any.

        Raises:
            RNNLogicError: If the evidence is unknown.

        Examples:
            >>> data = load_dataset("umls")
            >>> data.graph("all").neighbours(0, data.vocab.relation_id("affects"))
        """
        if evidence not in EVIDENCE_SPLITS:
            raise UnknownNameError("evidence", evidence, EVIDENCE_SPLITS)
        if evidence not in self._graphs:
            kept = self._kept[evidence](self, evidence) if evidence in self._kept else None
            built = self._built(evidence) if kept is None else kept
            self._graphs[evidence] = self.weighed(built.valued(self.values).counting(self.path_kind))
        return self._graphs[evidence]

    def weighed(self, graph: Graph) -> Graph:
        """A graph of the same entities and relations, with the weights of facts.

        Args:
            graph: Any facts.

        Returns:
            The same graph if no fact has a weight, else a new one.
        """
        notes = self.annotations
        return graph if notes is None or notes.weights is None else graph.weighing(notes.weights_of)

    def keep_graph(self, evidence: Evidence, opened: KeptGraph) -> None:
        """Say how to open a graph that was built before from the same facts; asked when it is needed.

        Args:
            evidence: Which splits the graph holds.
            opened: Opens it, or gives None if it is not there any more.
        """
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
    labels: Labels | None = None,
    templates: Templates | None = None,
    **reading: Unpack[Reading],
) -> Dataset:
    """Load a knowledge graph from nearly anything.

    If the data seem to have been read wrongly, a `DataWarning` and the report say why. Relations whose tails
    are plainly numbers or dates become attributes. Names get ids in sorted order, unless the folder has
    entities.dict and relations.dict.

    Args:
        x: One of these:

            - a name such as `umls`; folders under $RNNLOGIC_DATA come first
            - a folder with train/valid/test files, a single file, or a zip archive
            - `-` for standard input
            - the address of a SPARQL endpoint, or a database file or connection (with `query`)
            - a pandas or polars frame, or a list or array of triples
            - a networkx graph, a PyKEEN dataset or triples factory, or a Dataset

            A text that is a name is never taken as a path: write `./umls` for a folder called umls.
        seed: Decides how facts without a split are split.
        ratios: The shares of train, valid and test for such facts; train mentions every entity and relation.
        name: What to call the dataset; by default its source decides.
        labels: Names to show, for entities and relations alike: a mapping, or a file of `name<TAB>label`
            lines.
        templates: How a relation is said: a mapping, or a file of lines
            `relation<TAB>X depends on Y<TAB>Y is needed by X`.
        **reading: More keywords, for data that need them:

            - `columns` names the columns of head, relation and tail (`"from,kind,to"`, or numbers from 1)
              where their own names do not say.
            - `sep` is what separates columns, `encoding` how a text file is written.
            - `query` is what a database or an endpoint is asked.
            - `weight` names the column of weights above 0 and at most 1 (`"score/1000"` divides);
              `min_weight` leaves facts with less out.
            - `source` names the column of sources; `without_source` leaves facts of some out.
            - `skip_incomplete` skips rows with an empty cell, which are an error otherwise.
            - `keep_null_words` keeps facts with NULL, N/A, nan, - or unknown as a name, which are skipped
              otherwise.
            - `numeric` names the relations that become attributes, or is "off".
            - `attributes` are those of another graph to read these data like.
            - `progress` is called with a line now and then while a large file is read.

    Returns:
        The dataset, whose `report` tells what reading it found.

    Raises:
        RNNLogicError: If the data cannot be read, or hold no facts.

    Examples:
        >>> load_dataset("umls")
        >>> load_dataset([("ann", "parent", "bob"), ("bob", "parent", "cem")], ratios=(1, 0, 0))
    """
    options = read_options(reading)
    if isinstance(x, Dataset):
        if options != NO_OPTIONS or labels is not None:
            raise DataError("the dataset is loaded already; say how to read it when you load it")
        loaded: Dataset = x if name is None else replace(x, name=name)
        return loaded if templates is None else loaded.with_vocab(templated(loaded.vocab, templates).vocab)
    if ratios is not None:
        ratios = check_ratios(ratios)
    own_name, raw = read_source(x, options, keep_split=ratios is None)
    if labels is not None:
        add_labels(raw, labels)
    split = Split(name or own_name, ratios, seed)
    dataset = _assemble(raw, options, split, isinstance(x, str) and is_name(x))
    if templates is not None:
        dataset = dataset.with_vocab(templated(dataset.vocab, templates).vocab)
    for doubt in dataset.report.doubts:
        warnings.warn(doubt, DataWarning, stacklevel=2)
    return dataset


class Split(NamedTuple):
    """What a dataset is called, and how facts without a split are split."""

    name: str
    ratios: Ratios | None
    seed: int


def _assemble(raw: RawFacts, options: ReadOptions, split: Split, is_named: bool) -> Dataset:
    inverses = Inverses(raw.relations)
    rows = sum(map(len, raw.splits.values()))
    annotations, counts = filtered(raw, options, inverses)
    found = attributes_of(raw, options, is_named)
    splits, folded = fold_inverses(raw.splits, inverses, len(raw.entities))
    gone: tuple[frozenset[str], frozenset[str]] = (frozenset(), inverses.names)
    if sum(map(len, raw.splits.values())) < rows:
        known = [] if found is None else [found.entity]  # nothing else may be known of an entity
        ends = unused(raw.entities, [*(facts[:, [0, 2]] for facts in splits.values()), *known])
        gone = (ends, inverses.names | unused(raw.relations, [facts[:, 1] for facts in splits.values()]))
    entities, entity_ids = _final_names(raw.entities, gone[0])
    relations, relation_ids = _final_names(raw.relations, gone[1])
    splits = {part: _renumbered(facts, entity_ids, relation_ids) for part, facts in splits.items()}
    size = (len(entities), len(relations))
    splits, duplicates = drop_duplicates(splits, *size)
    source, extra, repeated = raw.source, 0, dict[str, int]()
    if UNSPLIT in splits:
        ratios = split.ratios or default_ratios(split.name)
        splits, extra = split_facts(splits[UNSPLIT], ratios, split.seed, *size)
        source += f", seeded {'/'.join(f'{r:g}' for r in ratios)} split, seed {split.seed}"
    elif split.ratios is not None:
        raise DataError(f"{source} is split already; leave the ratios out, or give all facts as one file")
    else:
        splits, repeated = drop_repeats(splits, *size)
    report = CleaningReport(
        **(raw.tally.found() | folded | counts),
        doubts=tuple(doubts_of(raw, entities, relations)),
        duplicates=duplicates,
        repeated=repeated,
        extra_train=extra,
        unseen_entities=unseen_in_train(splits, [0, 2], entities),
        unseen_relations=unseen_in_train(splits, [1], relations),
    )
    entity_labels = prefixed(entities, raw.prefixes) | _used(raw.entity_labels, entities)
    relation_labels = prefixed(relations, raw.prefixes) | _used(raw.relation_labels, relations)
    if found is not None:
        relation_labels |= _used(
            raw.relation_labels | prefixed(found.names, raw.prefixes), tuple(found.names)
        )
    attributes = () if found is None else found.attributes
    vocab = Vocab(entities, relations, entity_labels, relation_labels, attributes=attributes)
    dataset = Dataset(split.name, vocab, splits["train"], splits["valid"], splits["test"], report, source)
    if found is not None:
        dataset = replace(dataset, values=found.values(entity_ids, len(entities)))
    if annotations is None:
        return dataset
    return replace(dataset, annotations=annotations.renumbered(entity_ids, relation_ids))


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
