"""Features that are known by name and need no rules: exclusions, base rates, and own answers as sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.base import Answers, Batch, Ids, Mask, Place, Rows, Source, Stage, zeros
from rnnlogic.features.kernels import Counted, describe_links, describe_rates
from rnnlogic.rules.ruleset import RuleSet


class NamedSource(Source):
    """A source of features, which it knows by their names."""

    counts_paths = False
    names: ClassVar[Collection[str]]  # in the order of its kernel

    def owns(self, rules: RuleSet) -> Mask:
        """The features of these names."""
        return owned(rules, self.names)

    def wanted(self, place: Place) -> tuple[Mask, Place]:
        """Which of the names [n] the rules of a relation have, and the place with these in that order."""
        own = [np.flatnonzero(place.rules.are_feature(name)) for name in self.names]
        found = np.array([len(one) > 0 for one in own], bool)
        return found, place._replace(place=place.place[np.concatenate(own)])


def owned(rules: RuleSet, names: Iterable[str]) -> Mask:
    """Which rules [n] are features of these names."""
    found = np.zeros(len(rules), bool)
    for name in names:
        found |= rules.are_feature(name)
    return found


EXCLUSIONS = ("reversed", "linked", "linked_back", "itself")  # in the order of the kernel


class Exclusions(NamedSource):
    """What may rule answers out that others have found."""

    stage = Stage.DESCRIBES
    names = EXCLUSIONS

    def on(self, place: Place) -> ReadyExclusions:
        """The exclusions that the rules name."""
        wanted, place = self.wanted(place)
        return ReadyExclusions(place, wanted)


@dataclass(frozen=True, eq=False)
class ReadyExclusions:
    """The exclusions of one relation on one graph."""

    place: Place
    wanted: Mask  # [EXCLUSIONS]

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """1 for each answer that an exclusion holds for."""
        del most
        graph, place = self.place.graph, self.place
        with zeros("marks", graph.num_entities, np.int8) as marks:
            return Rows(
                place.place, *describe_links(graph.arrays, place.items(), self.wanted, batch, answers, marks)
            )


RATES = ("seen", "frequency", "degree")  # in the order of the kernel
FREQUENT_ANSWERS = 1000  # of a relation that are answers of all its queries, at most: bounds the work


class BaseRate(NamedSource):
    """How common answers are. The frequent ones are answers of every query."""

    stage = Stage.ADDS
    names = RATES

    def on(self, place: Place) -> ReadyBaseRate:
        """The answers of the relation, counted."""
        wanted, place = self.wanted(place)
        answers, times = answers_of(place.graph, place.relation)
        first = np.argsort(-times, kind="stable")[:FREQUENT_ANSWERS]  # ties by id
        return ReadyBaseRate(place, wanted, answers, times, answers[first])


def answers_of(graph: Graph, relation: int) -> tuple[NDArray[np.int32], Ids]:
    """The answers [n] of a relation, ascending, and how many of its facts lead to each."""
    arrays, inverse = graph.arrays, graph.inverse(relation)
    first, last = arrays.relation_rows[inverse], arrays.relation_rows[inverse + 1]
    return arrays.row_head[first:last], np.diff(arrays.row_edges[first : last + 1])


@dataclass(frozen=True, eq=False)
class ReadyBaseRate:
    """The base rates of one relation on one graph."""

    place: Place
    wanted: Mask  # [RATES]
    answers: NDArray[np.int32]  # [n] of the relation
    times: Ids  # [n] facts of the relation that lead to each
    frequent: NDArray[np.int32]  # the most frequent answers first

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """How common the answers are, and the frequent ones of other heads."""
        del most
        graph, items = self.place.graph, self.place.items()
        with (
            zeros("found", graph.num_entities, np.bool_) as is_found,
            zeros("times", graph.num_entities, np.int64) as times,
        ):
            times[self.answers] = self.times
            counted = Counted(self.frequent, times)
            rows = describe_rates(graph.arrays, items, counted, self.wanted, batch, answers, is_found)
            times[self.answers] = 0
        return Rows(self.place.place, *rows)


class Reflexive(NamedSource):
    """X as its own answer, where the graph knows a fact of the relation that leads back."""

    stage = Stage.REACHES
    names = ("reflexive",)

    def on(self, place: Place) -> ReadyReflexive:
        """How many facts of the relation lead back."""
        heads, tails = place.graph.edges(place.relation)
        return ReadyReflexive(place, int((heads == tails).sum()))


@dataclass(frozen=True, eq=False)
class ReadyReflexive:
    """The own answers of one relation on one graph."""

    place: Place
    loops: int

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """1 for the head of each query, where a fact that is not hidden leads back."""
        del answers, most
        is_own = (batch.hidden == batch.heads) | (batch.hidden == -2 - batch.heads)
        is_found = self.loops > is_own
        entity = batch.heads[is_found]
        ptr = np.append(0, np.cumsum(is_found, dtype=np.int64))
        return Rows(self.place.place, ptr, entity, np.ones(len(entity), np.float32))
