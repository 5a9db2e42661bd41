"""Learned rules on other facts: they only need relations of the same names; rules with constants also need
the entities that they name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.data.attributes import value_of
from rnnlogic.data.cleaning import drop_duplicates, drop_repeats
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.fit.result import FIGURES, Learned
from rnnlogic.predictors.base import Move
from rnnlogic.rules.ruleset import RuleSet, attributes_by_name, entities_by_name
from rnnlogic.statistics.statistics import rule_statistics, training_queries

EXAMPLES = 5


@dataclass(frozen=True)
class Transfer:
    """How the relations of the rules match those of another graph."""

    matched: tuple[str, ...]
    missing: tuple[str, ...]  # relations and attributes the rules were learned with that the graph lacks
    unknown: tuple[str, ...]  # relations of the graph that no rule mentions
    kept: int  # rules
    dropped: int  # rules that use a missing relation or attribute, or name a missing entity
    constants: int = 0  # those that only lack an entity

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }

    def lines(self) -> list[str]:
        """One sentence for each kind of mismatch; empty when all relations match."""
        lines = []
        if self.missing:
            lines.append(
                f"{len(self.missing):,} relation(s) of the rules are not in the graph: {_some(self.missing)};"
                f" {self.dropped - self.constants:,} of {self.kept + self.dropped:,} rules use them and were"
                " dropped"
            )
        if self.constants:
            lines.append(
                f"{self.constants:,} of {self.kept + self.dropped:,} rules name entities that are not in the"
                " graph, and were left behind"
            )
        if self.unknown:
            lines.append(
                f"{len(self.unknown):,} relation(s) of the graph are new: {_some(self.unknown)}; "
                "no rule uses them"
            )
        return lines


def transfer(learned: Learned, source: Vocab, target: Dataset) -> tuple[Learned, Transfer]:
    """The rules, learned with the names of `source`, in the ids of `target`; and what did not match."""
    ids = _new_ids(source, target.vocab)  # [2R of source]
    if (ids < 0).all():
        raise RNNLogicError(
            f"{target.name}: no rule uses any of its relations ({_some(target.vocab.relations)}); rules were "
            f"learned with {_some(source.relations)}, and names must be the same"
        )
    rules = learned.rules
    entities = entities_by_name(rules, source, target.vocab)
    attributes = attributes_by_name(source, target.vocab)
    left, lacks_relation, lacks_entity = rules.renamed(ids, entities, attributes)
    kept = ~(lacks_relation | lacks_entity)
    move = Move(kept, left, ids, target.vocab.num_relations)
    figures = {name: getattr(learned, name)[kept] for name in FIGURES}
    there, here = set(target.vocab.relations), set(source.relations)
    lost = [one.name for one, place in zip(source.attributes, attributes, strict=True) if place < 0]
    report = Transfer(
        tuple(name for name in source.relations if name in there),
        (*(name for name in source.relations if name not in there), *lost),
        tuple(name for name in target.vocab.relations if name not in here),
        len(left),
        len(rules) - len(left),
        int((lacks_entity & ~lacks_relation).sum()),
    )
    return Learned(learned.predictor.moved(move), **figures), report


def with_new_rules(known: Learned, given: RuleSet, graph: Graph, queries_per_relation: int) -> Learned:
    """What was learned, with more rules that the predictor has not seen in training."""
    from rnnlogic.predictors.plus.network import with_unseen_rules

    new = RuleSet.from_rules(rule for rule in given if rule not in known.rules)
    statistics = rule_statistics(graph, new, training_queries(graph, queries_per_relation, 0))
    return Learned(
        with_unseen_rules(known.predictor, new),
        np.append(known.log_prior, np.full(len(new), np.nan)),
        np.append(known.support, statistics.whole_support),
        np.append(known.confidence, statistics.confidence),
        np.append(known.lift, np.full(len(new), np.nan)),
    )


def dataset_with(dataset: Dataset, facts: Iterable[Sequence[str]], new_entities: bool = True) -> Dataset:
    """The dataset with more facts in train, and values of attributes; new entities get the next ids."""
    names = list(dataset.vocab.entities)
    ids: dict[str, int] = {}
    facts, told = list(facts), list[tuple[int, int, float]]()
    known = {one.name for one in dataset.vocab.attributes}
    for fact in facts:
        if len(fact) == 3 and fact[1] in known:
            told.append(_value(fact, dataset.vocab, ids, names, new_entities))
    facts = [fact for fact in facts if len(fact) != 3 or fact[1] not in known]
    added = [_fact(fact, dataset.vocab, ids, names, new_entities) for fact in facts]
    new = np.array(added, np.int32).reshape(-1, 3)
    vocab = replace(dataset.vocab, entities=tuple(names))
    splits: dict[str, Triples] = {
        "train": np.concatenate([dataset.train, new]),
        "valid": dataset.valid,
        "test": dataset.test,
    }
    splits, _ = drop_duplicates(splits, vocab.num_entities, vocab.num_relations)
    splits, _ = drop_repeats(splits, vocab.num_entities, vocab.num_relations)
    source = f"{dataset.source}, {len(new):,} fact(s) added"
    values = dataset.values
    if values is not None:  # nothing is known of new entities
        values = np.pad(values, ((0, 0), (0, len(names) - values.shape[1])), constant_values=np.nan)
        for attribute, entity, number in told:
            values[attribute, entity] = number
    train, valid, test = (splits[name] for name in ("train", "valid", "test"))
    return replace(dataset, vocab=vocab, train=train, valid=valid, test=test, source=source, values=values)


def labelled_like(dataset: Dataset, vocab: Vocab) -> Dataset:
    """With the labels that a vocabulary has for the same relations, where the dataset has none of its own."""
    names = dataset.vocab
    known = vocab.relation_labels
    labels = {name: known[name] for name in names.relations if name in known}
    if labels.keys() <= names.relation_labels.keys():
        return dataset
    return dataset.with_vocab(replace(names, relation_labels={**labels, **names.relation_labels}))


def _new_ids(source: Vocab, target: Vocab) -> NDArray[np.int32]:
    """For every relation id of `source`, inverses included, its id in `target`, or -1."""
    places = {name: i for i, name in enumerate(target.relations)}
    forward = np.array([places.get(name, -1) for name in source.relations], np.int32)
    return np.append(forward, np.where(forward < 0, -1, forward + target.num_relations)).astype(np.int32)


def _fact(
    fact: Sequence[str], vocab: Vocab, ids: dict[str, int], names: list[str], new_entities: bool
) -> tuple[int, int, int]:
    """Ids of a fact; new entities are added to `ids` and `names`."""
    if isinstance(fact, str) or len(fact) != 3 or not all(isinstance(name, str) for name in fact):
        raise RNNLogicError(f"{fact!r} is not a fact (head, relation, tail) of three names")
    relation = vocab.relation_id(fact[1])
    ends = []
    for name in (fact[0], fact[2]):
        if name not in ids:
            ids[name] = _entity(name, vocab, names, new_entities)
        ends.append(ids[name])
    if relation >= vocab.num_relations:
        return ends[1], vocab.inverse(relation), ends[0]
    return ends[0], relation, ends[1]


def _value(
    fact: Sequence[str], vocab: Vocab, ids: dict[str, int], names: list[str], new_entities: bool
) -> tuple[int, int, float]:
    """Attribute, entity and number of a fact (entity, attribute, value)."""
    attribute = vocab.attribute_id(fact[1])
    number = value_of(str(fact[2]), vocab.attributes[attribute].kind)
    if number is None:
        kind = vocab.attributes[attribute].kind
        wanted = "number" if kind == "number" else "date that exists, such as 2020-12-31"
        raise RNNLogicError(f"{fact[2]!r}, {fact[1]} of {fact[0]}, is no {wanted}")
    if fact[0] not in ids:
        ids[fact[0]] = _entity(fact[0], vocab, names, new_entities)
    return attribute, ids[fact[0]], number


def _entity(name: str, vocab: Vocab, names: list[str], new_entities: bool) -> int:
    if vocab.has_entity(name):
        return vocab.entity_id(name)
    if not new_entities:
        hint = UnknownNameError("entity", name, vocab.entities)
        raise RNNLogicError(
            f"{hint}; an embedding knows only the entities it was trained with, so this model accepts new "
            "facts about those only (a model of variant rnnlogic accepts any)"
        )
    names.append(name)
    return len(names) - 1


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:EXAMPLES]) + (", ..." if len(names) > EXAMPLES else "")
