"""Summaries of the rules with constants that the facts imply: the best ones, and what several say together.

A relation has many such rules, most of which no model holds. One kernel finds those that are true of a query
and folds them at once: best rule and noisy-or as in `aggregates.py`, whose shares split the value again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.aggregates import Best, NoisyOr
from rnnlogic.features.base import UNSEEN, Answers, Batch, Items, Mask, Place, Query, Rows, Stage, Term
from rnnlogic.features.constants.kernels import (
    BEST,
    LEAST,
    SUPPORT,
    RelationTables,
    Table,
    count_answers,
    summarise,
)
from rnnlogic.features.named import NamedSource
from rnnlogic.rules.rule import NONE, Constant, mirrored

Counted = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]


def relation_tables(graph: Graph, items: Items, relation: int) -> RelationTables:
    """The tables of a relation."""
    item, answer, support = _confident(graph, items, relation)
    by_item = _by_key(item, answer, support)
    item, answer, support = _confident(graph, items, graph.inverse(relation))
    return RelationTables(by_item, _by_key(answer, item, support))


def _confident(graph: Graph, items: Items, relation: int) -> Counted:
    """item [n], answer [n], support [n] of rules with constants that may be confident enough.

    A query leaves out its own entity, which can only lower the support.
    """
    item, answer, support = count_answers(graph.arrays, items, relation, graph.num_entities, SUPPORT)
    kept = support >= LEAST * (items.holders[item] - 1 + UNSEEN)
    return item[kept], answer[kept], support[kept]


def _by_key(key: NDArray[np.int64], other: NDArray[np.int64], support: NDArray[np.int32]) -> Table:
    order = np.lexsort((other, key))
    keys, starts = np.unique(key[order], return_index=True)
    return Table(keys, np.append(starts, len(key)).astype(np.int64), other[order], support[order])


def implied_rules(graph: Graph, query: Query, about_x: bool) -> list[Term]:
    """The rules that a summary folds for one answer, the most confident first.

    They are those of the kernel, which may not look at the fact itself if it is hidden.
    """
    if about_x:
        return constant_rules(graph, query)
    turned = Query(query.tail, graph.inverse(query.relation), query.head, is_hidden=False)
    return [_mirrored(one, graph.num_relations) for one in constant_rules(graph, turned)]


def constant_rules(graph: Graph, query: Query) -> list[Term]:
    """The most confident rules whose body is true of the head and which say relation(head, tail).

    The head itself does not count for or against them. For rules about the answer, ask the inverse relation.
    """
    head, relation, answer, is_hidden = query
    found = []
    for by in range(2 * graph.num_relations):
        others = graph.neighbours(head, graph.inverse(by))
        if is_hidden and head == answer and by == relation:
            others = others[others != head]  # r(x,x) reversed is the hidden fact
        is_new = len(others) > 0 and by != graph.inverse(relation)
        named = [other for other in others.tolist() if other != answer] + ([NONE] if is_new else [])
        bodies = (Constant(relation, graph.inverse(by), answer, other) for other in named)
        found += [counted(graph, rule, head) for rule in bodies]
    found = [one for one in found if one.support >= SUPPORT and one.confidence >= LEAST]
    return sorted(found, key=_order(graph))[:BEST]


def counted(graph: Graph, rule: Constant, entity: int) -> Term:
    """A rule with constants whose body is true of an entity, counted over all other entities."""
    if rule.at_head:
        about = mirrored(rule, graph.num_relations)
        assert isinstance(about, Constant)
        return _mirrored(counted(graph, about, entity), graph.num_relations)
    right = graph.neighbours(rule.constant, graph.inverse(rule.head))
    by = graph.inverse(rule.step)
    holders = np.unique(graph.edges(rule.step)[0]) if rule.other == NONE else graph.neighbours(rule.other, by)
    support = int(np.isin(holders, right).sum()) - int(entity in right)
    return Term(rule, support, len(holders) - 1, support / (len(holders) - 1 + UNSEEN))


def _mirrored(one: Term, num_relations: int) -> Term:
    """The same, its rule read from Y to X."""
    return one._replace(rule=mirrored(one.rule, num_relations))


def _order(graph: Graph) -> Callable[[Term], tuple[float, int, int]]:
    """The most confident first; equal ones by the relation towards the entity, then by the other entity."""

    def key(one: Term) -> tuple[float, int, int]:
        assert isinstance(one.rule, Constant)
        return -one.confidence, graph.inverse(one.rule.step), one.rule.other

    return key


SUMMARIES: dict[str, Best | NoisyOr] = {  # in the order of the kernel
    "best_constant_of_x": Best(),
    "constants_of_x": NoisyOr(),
    "best_constant_of_y": Best(),
    "constants_of_y": NoisyOr(),
}


class Summaries(NamedSource):
    """What rules with constants say that no model holds."""

    stage = Stage.REACHES
    names = SUMMARIES

    def on(self, place: Place) -> ReadySummaries:
        """The rules that the facts imply, counted."""
        wanted, place = self.wanted(place)
        tables = relation_tables(place.graph, place.items(), place.relation)
        return ReadySummaries(place, wanted, tables)

    def terms(self, graph: Graph, name: str, query: Query) -> Sequence[Term]:
        """The rules that are true of a query, with their shares."""
        found = [] if name not in SUMMARIES else implied_rules(graph, query, about_x=name.endswith("_x"))
        if not found:
            return []
        aggregate = SUMMARIES[name]
        weights = aggregate.weights(aggregate.strength_of(np.array([one.confidence for one in found])))
        told = zip(found, weights.tolist(), strict=True)
        return [one._replace(weight=weight) for one, weight in told if weight > 0]


@dataclass(frozen=True, eq=False)
class ReadySummaries:
    """The summaries of one relation on one graph."""

    place: Place
    wanted: Mask  # [SUMMARIES]
    tables: RelationTables

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """What the rules say that are true of the heads, and of answers."""
        del answers, most
        place, size = self.place, self.place.graph.num_entities
        rows = summarise(place.graph.arrays, place.items(), self.tables, self.wanted, batch, size)
        return Rows(place.place, *rows)
