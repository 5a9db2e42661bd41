"""Weights and sources of facts, looked up by fact, so that they hold whatever becomes of the splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Triples, fact_keys
from rnnlogic.data.raw import SOURCE_MARKS, Weights
from rnnlogic.data.vocab import Vocab

Sources = tuple[str, ...]


REVIEW = "review"  # the source of facts that people accepted
LEAST_SHOWN = 0.995  # weights from here on are 1 in the two digits that are shown


class Told(NamedTuple):
    """What rows say about facts, beside them; a fact may come several times."""

    facts: Triples  # [n, 3]
    weights: Weights | None
    sources: NDArray[np.int32] | None  # index of the sources of each row
    source_sets: Sequence[Sources] = ()


@dataclass(frozen=True, eq=False)
class Annotations:
    """The weight and the sources of every distinct fact that has them. Facts that are missing have none."""

    facts: Triples  # [m, 3] head, relation (< R), tail
    weights: Weights | None = None  # [m], above 0 and at most 1
    sources: NDArray[np.int32] | None = None  # [m] index into source_sets
    source_sets: tuple[Sources, ...] = ()

    def find(self, facts: Triples) -> NDArray[np.int64]:
        """The place of each fact [n, 3]; -1 for those that are missing."""
        if not len(self.facts) or not len(facts):
            return np.full(len(facts), -1, np.int64)
        order, keys = self._by_key
        inside = np.asarray((facts >= 0).all(axis=1) & (facts < self._limits).all(axis=1))
        entities, relations = int(self._limits[0]), int(self._limits[1])
        wanted = fact_keys(np.where(inside[:, None], facts, 0).astype(np.int32), entities, relations)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(inside & (keys[place] == wanted), order[place], -1)

    def weights_of(self, facts: Triples) -> Weights:
        """The weight of each fact [n, 3]; 1 for those that have none."""
        if self.weights is None:
            return np.ones(len(facts))
        place = self.find(facts)
        return np.where(place >= 0, self.weights[place], 1.0)

    def sources_of(self, fact: Sequence[int]) -> Sources:
        """The sources of one fact, in the order of their names."""
        if self.sources is None:
            return ()
        (place,) = self.find(np.array([fact], np.int32))
        return self.source_sets[self.sources[place]] if place >= 0 else ()

    def renumbered(self, entity_ids: NDArray[np.int32], relation_ids: NDArray[np.int32]) -> Annotations:
        """The same with other ids; facts of which a name is gone are left out."""
        head, relation, tail = self.facts.T
        facts = np.stack([entity_ids[head], relation_ids[relation], entity_ids[tail]], axis=1)
        kept = (facts >= 0).all(axis=1)
        weights = None if self.weights is None else self.weights[kept]
        sources = None if self.sources is None else self.sources[kept]
        return Annotations(facts[kept], weights, sources, self.source_sets)

    @cached_property
    def _limits(self) -> NDArray[np.int64]:
        """One more than the largest id of heads, relations and tails."""
        entities = int(self.facts[:, [0, 2]].max()) + 1
        return np.array([entities, int(self.facts[:, 1].max()) + 1, entities])

    @cached_property
    def _by_key(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keys = fact_keys(self.facts, int(self._limits[0]), int(self._limits[1]))
        order = np.argsort(keys, kind="stable")
        return order, keys[order]


@dataclass(frozen=True, eq=False)
class FactNotes:
    """What is shown beside a fact: a weight below 1, and its sources."""

    annotations: Annotations | None
    accepted: frozenset[tuple[int, int, int]] = frozenset()  # by people, whatever their weight was

    def weight(self, fact: tuple[int, int, int]) -> float:
        """The weight of a fact of ids, relation < R."""
        if self.annotations is None or fact in self.accepted:
            return 1.0
        return float(self.annotations.weights_of(np.array([fact], np.int32))[0])

    def sources(self, fact: tuple[int, int, int]) -> Sources:
        """The sources of a fact; `review` where people accepted it."""
        found = () if self.annotations is None else self.annotations.sources_of(fact)
        return (*found, REVIEW) if fact in self.accepted and REVIEW not in found else found

    def text(self, fact: tuple[int, int, int]) -> str:
        """For people, after the fact: ` (.8, ORPHA)`; nothing if nothing is told."""
        weight = self.weight(fact)
        said = [f"{weight:.2f}".rstrip("0").removeprefix("0")] if weight < LEAST_SHOWN else []
        said += self.sources(fact)
        return f" ({', '.join(said)})" if said else ""

    def as_dict(self, fact: tuple[int, int, int]) -> dict[str, Any]:
        """For JSON."""
        return {"weight": self.weight(fact), "sources": list(self.sources(fact))}

    def sources_in_words(self, facts: Collection[tuple[int, int, int]]) -> str:
        """Where facts come from: `2 of 3 facts from ORPHA, 1 from review`; nothing if no source is told."""
        numbers = Counter(source for fact in set(facts) for source in self.sources(fact))
        whole = len(set(facts))
        if not numbers or whole == 1:
            return f"from {' and '.join(sorted(numbers))}" if numbers else ""
        (first, number), *others = sorted(numbers.items(), key=lambda one: (-one[1], one[0]))
        said = [f"{number} of {whole} facts from {first}"]
        return ", ".join([*said, *(f"{number} from {source}" for source, number in others)])


def noted(vocab: Vocab, notes: Annotations | None, accepted: Triples) -> Vocab:
    """The names, with what is told about facts, where anything is."""
    if notes is None and not len(accepted):
        return vocab
    by_people = frozenset((head, relation, tail) for head, relation, tail in accepted.tolist())
    return replace(vocab, notes=FactNotes(notes, by_people))


def combined(told: Told) -> Annotations:
    """One weight and one set of sources for every fact.

    What several rows say adds up: their weights a and b to 1 - (1 - a)(1 - b), their sources to all of them.
    """
    entities, relations = int(told.facts[:, [0, 2]].max()) + 1, int(told.facts[:, 1].max()) + 1
    keys = fact_keys(told.facts, entities, relations)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.append(True, keys[order][1:] != keys[order][:-1]))
    sizes = np.diff(np.append(starts, len(order)))
    weights = None
    if told.weights is not None:
        each = told.weights[order]
        # A weight that stands alone stays what it is, to the last digit
        weights = np.where(sizes == 1, each[starts], 1 - np.multiply.reduceat(1 - each, starts))
    sources, source_sets = None, tuple[Sources, ...]()
    if told.sources is not None:
        sources, source_sets = _joined(told.sources[order], told.source_sets, starts, sizes)
    return Annotations(told.facts[order][starts], weights, sources, source_sets)


def _joined(
    rows: NDArray[np.int32],
    sets: Sequence[Sources],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int32], tuple[Sources, ...]]:
    """The union of the sources of each run of rows, as an index into the distinct sets."""
    ids = {one: place for place, one in enumerate(dict.fromkeys(sets))}
    found = np.array([ids[one] for one in sets], np.int32)[rows[starts]]
    for run in np.flatnonzero(sizes > 1):
        union: set[str] = set()
        for row in rows[starts[run] : starts[run] + sizes[run]].tolist():
            union.update(sets[row])
        found[run] = ids.setdefault(tuple(sorted(union)), len(ids))
    return found, tuple(ids)


def parsed_sources(cells: Iterable[str], without: Collection[str] = ()) -> list[Sources]:
    """The sources that each cell names, those left out that the user does not want."""
    return [tuple(sorted(set(_split(cell)) - set(without))) for cell in cells]


def _split(cell: str) -> list[str]:
    for mark in SOURCE_MARKS[1:]:
        cell = cell.replace(mark, SOURCE_MARKS[0])
    return [part for text in cell.split(SOURCE_MARKS[0]) if (part := " ".join(text.split()))]


def of_splits(
    splits: Mapping[str, Triples],
    weights: Mapping[str, Weights],
    sources: Mapping[str, NDArray[np.int32]],
    source_sets: Sequence[Sources],
) -> Annotations | None:
    """What arrays beside the facts of splits say; None if there are none. Each fact occurs once."""
    if (not weights and not sources) or not sum(map(len, splits.values())):
        return None
    names = list(splits)
    return combined(
        Told(
            np.concatenate([splits[name] for name in names]),
            np.concatenate([weights[name] for name in names]) if weights else None,
            np.concatenate([sources[name] for name in names]) if sources else None,
            source_sets,
        )
    )
