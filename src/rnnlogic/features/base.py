"""The door of features: sources turn queries into rows, aggregates fold rows of rules into one column.

A source grounds some rules of a relation: `Source.on` makes it ready for one graph and relation, and
`Ready.rows` gives what the rules reach for a batch of queries. An aggregate is a feature whose value depends
on the rules that reach an answer; it says how much each of them adds. Both have a name in a table:
`SOURCES` (sources.py) and `AGGREGATES` (aggregates.py). Nothing behind these tables asks what kind a rule is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet


class Items(NamedTuple):
    """What is true of each entity.

    An item is row j of the graph, relation(head, entity); or, with id rows + relation, that some such fact
    exists.
    """

    ptr: NDArray[np.int64]  # [E+1]
    row: NDArray[np.int64]  # [2F] rows of the graph that contain the entity, ascending for each
    relation: NDArray[np.int32]  # [rows] relation of each row of the graph
    holders: NDArray[np.int64]  # [rows + 2R] entities that have the item
    num_relations: int  # R


def find_items(graph: Graph) -> Items:
    """What is true of each entity of a graph."""
    arrays, rows = graph.arrays, len(graph.arrays.row_head)
    of_edge = np.repeat(np.arange(rows), np.diff(arrays.row_edges))
    row = of_edge[np.argsort(arrays.tails, kind="stable")].astype(np.int64)
    ptr = np.append(0, np.cumsum(np.bincount(arrays.tails, minlength=graph.num_entities)))
    per_relation = np.diff(arrays.relation_rows)  # heads of each relation
    heads_of_inverse = np.roll(per_relation, graph.num_relations)
    relation = np.repeat(np.arange(2 * graph.num_relations), per_relation).astype(np.int32)
    holders = np.concatenate([np.diff(arrays.row_edges), heads_of_inverse]).astype(np.int64)
    return Items(ptr.astype(np.int64), row, relation, holders, graph.num_relations)


LARGE = 1_000_000  # facts from which on a graph has a budget by default
NO_CUTS: NDArray[np.int64] = np.zeros(3, np.int64)
NO_CUTS.setflags(write=False)


class Budget(NamedTuple):
    """Edges followed at an entity, and entities reached by a query along a body; random samples beyond."""

    edges: int = 2_000
    results: int = 20_000
    seed: int = 0


def default_budget(graph: Graph) -> Budget | None:
    """A budget for large graphs; none for others, whose counts are exact."""
    return Budget() if len(graph) >= LARGE else None


def may_cut(budget: Budget, graph: Graph) -> bool:
    """Whether there is any query that the budget does not suffice for."""
    return budget.results < graph.num_entities or budget.edges < int(graph.max_degree.max(initial=0))


def cuts_in_words(cuts: NDArray[np.int64]) -> str:
    """How often the budget left something out; empty if it never did."""
    steps, hubs, results = cuts.tolist()
    if not hubs + results:
        return ""
    return (
        f"the budget left out edges at {hubs:,} hubs and results of {results:,} steps, of {steps:,} steps in"
        " all; counts there are estimates"
    )


class _Kept(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[tuple[str, np.dtype[Any]], NDArray[Any]] = {}


_KEPT = _Kept()


@contextmanager
def zeros(purpose: str, size: int, dtype: DTypeLike = np.float64) -> Iterator[NDArray[Any]]:
    """Inside `with`, an array of zeros, which must be zeros again at its end; after an error it is dropped.

    The last one of each purpose and type is kept.
    """
    key = purpose, np.dtype(dtype)
    found = _KEPT.arrays.pop(key, None)
    if found is None or len(found) != size:
        found = np.zeros(size, dtype)
    yield found
    _KEPT.arrays[key] = found


UNSEEN = 5.0  # wrong results that every rule is taken to have besides those seen: few cases prove little
STRETCH = (
    100.0  # a confidence c counts log(1 + 100 c) as the best one: .9 against .5 little, .05 against .01 much
)
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.float32]
Places = NDArray[np.integer]


class Batch(NamedTuple):
    """Queries of one relation, and what is hidden of each.

    `hidden` is the answer whose fact is hidden, -1 where nothing is; -2 - answer hides all links of its ends.
    """

    positions: Ids  # [q] places of the queries among those given
    relation: int
    heads: NDArray[np.int32]  # [q]
    hidden: NDArray[np.int32]  # [q]

    def halves(self) -> tuple[Batch, Batch]:
        """The first and the second half of the queries."""
        middle = len(self.positions) // 2
        first, second = slice(None, middle), slice(middle, None)
        return (
            Batch(self.positions[first], self.relation, self.heads[first], self.hidden[first]),
            Batch(self.positions[second], self.relation, self.heads[second], self.hidden[second]),
        )


class Rows(NamedTuple):
    """What rules reach: rule `place[k]` reaches entity[ptr[i] : ptr[i + 1]] with i = k * queries + query."""

    place: Ids  # [k] positions among the rules of the relation
    ptr: Ids  # [k*q+1]
    entity: NDArray[np.int32]  # [n]
    value: NDArray[Any]  # [n] numbers of paths (integers), or values (float32)
    cuts: Ids = NO_CUTS  # [3] what a budget left out


def ranges(first: Ids, last: Ids) -> tuple[Ids, Ids]:
    """For all numbers of the ranges [n], one after another: the position of the range, and the number."""
    sizes = last - first
    owner = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - sizes
    return owner, np.arange(len(owner)) - starts[owner] + first[owner]


def joined_ptr(parts: Sequence[Ids]) -> Ids:
    """Pointers into arrays that stand one after another, from those into each."""
    starts = np.cumsum([0, *(part[-1] for part in parts)])
    moved = [part[1:] + start for part, start in zip(parts, starts, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *moved])


def joined(parts: list[Rows]) -> Rows:
    """The rows of several parts, one after another; floats where some are values."""
    if not parts:
        none = np.zeros(0, np.int64)
        return Rows(none, np.zeros(1, np.int64), none.astype(np.int32), none.astype(np.int32))
    if len(parts) == 1:
        return parts[0]
    dtype = np.result_type(*(part.value for part in parts))
    if dtype.kind == "f":  # numbers of paths beyond 2^24 need the longer floats
        largest = max(part.value.max(initial=0) for part in parts)
        dtype = np.dtype(np.float32 if largest < 1 << 24 else np.float64)
    return Rows(
        np.concatenate([part.place for part in parts]),
        joined_ptr([part.ptr for part in parts]),
        np.concatenate([part.entity for part in parts]),
        np.concatenate([part.value for part in parts], dtype=dtype, casting="same_kind"),
        sum((part.cuts for part in parts), NO_CUTS.copy()),
    )


class Answers(NamedTuple):
    """The entities that some rules reach for each query of a batch, in order of first visit."""

    ptr: Ids  # [q+1]
    entity: NDArray[np.int32]  # [c]


class Stage(IntEnum):
    """When a source is asked."""

    REACHES = 0  # first: it looks at nothing but the graph
    ADDS = 1  # it describes all answers found so far, and may add some
    DESCRIBES = 2  # last: it describes answers and adds none


class Place(NamedTuple):
    """The rules that a source has to ground for one relation on one graph."""

    graph: Graph
    relation: int
    rules: RuleSet  # [k]
    place: Ids  # [k] their positions among all rules of the relation
    items: Callable[[], Items]  # what is true of each entity, found once per graph
    budget: Budget | None  # of work per query, where it could run out

    @property
    def inverse(self) -> int:
        """The inverse of the relation."""
        return self.graph.inverse(self.relation)


class Query(NamedTuple):
    """A question whose answer is known."""

    head: int
    relation: int
    tail: int
    is_hidden: bool  # whether the fact itself may be looked at


class Term(NamedTuple):
    """A rule that is no part of a model, but behind the value of one of its features."""

    rule: Rule
    support: int  # other entities with the body and the answer
    holders: int  # other entities with the body
    confidence: float  # smoothed
    weight: float = 1.0  # how much of the value it adds, against the other terms


class Ready(Protocol):
    """Rules of one relation made ready for one graph."""

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """What the rules reach; None if that is more than `most` results of more than one query.

        `answers` holds all that other sources have found; it is empty for a source that comes first.
        """


class Source(Protocol):
    """Grounds rules of one kind, or some features."""

    stage: Stage
    counts_paths: bool  # whether values are numbers of paths
    weighs_facts: bool = False  # whether weights of facts count; if not, it sees those likely true

    def owns(self, rules: RuleSet) -> Mask:
        """Which rules [n] it grounds."""

    def on(self, place: Place) -> Ready:
        """Its rules made ready for one relation on one graph; there may be none."""

    def terms(self, graph: Graph, name: str, query: Query) -> Sequence[Term]:
        """The rules behind a feature of this name that no model holds; none for most features."""
        del graph, name, query
        return ()


class Aggregate(Protocol):
    """Folds the rules that reach an answer into one value, by a number for each rule."""

    def strengths(self, rules: RuleSet) -> Numbers:
        """What each rule [n] counts; 0: it takes no part."""

    def weakened(self, strength: Numbers, share: Numbers) -> Numbers:
        """What rules [n] count whose paths are worth a share in 0..1 of a path, as facts have weights."""

    def fold(self, candidate: Places, rule: Places, strength: Numbers, size: int) -> Numbers:
        """The values [size] of all candidates, by rows [n]: rule `rule[i]` reaches candidate `candidate[i]`.

        `strength` is of each rule. A value of 0 says nothing, and makes no row.
        """

    def decide(self, strength: Numbers, value: Numbers) -> Mask:
        """Which rows [n] make the value what it is, given the strength of the rule and that value."""

    def weights(self, strength: Numbers) -> NDArray[np.float64]:
        """How much of its value the rules [n] add that reach one candidate, against each other.

        There is at least one, and each has a strength above 0.
        """
