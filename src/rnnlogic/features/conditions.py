"""Conditions on numbers and dates as a source: which entities they answer. One that holds counts as one walk.

They look at no fact, so nothing that is hidden concerns them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.base import UNSEEN, Answers, Batch, Ids, Mask, Place, Rows, Source, Stage, Term
from rnnlogic.rules.conditions import Condition, Interval
from rnnlogic.rules.ruleset import RuleSet

Entities = NDArray[np.int64]


class Conditions(Source):
    """Rules whose body is a condition."""

    stage = Stage.REACHES
    counts_paths = True

    def owns(self, rules: RuleSet) -> Mask:
        """The conditions."""
        return rules.are_conditions

    def on(self, place: Place) -> ReadyConditions:
        """The conditions with the entities that they are about."""
        rules = [rule for rule in place.rules if isinstance(rule, Condition)]
        return ReadyConditions(place, tuple(ReadyCondition.on(place.graph, rule) for rule in rules))


def within(values: NDArray[np.float64], interval: Interval) -> Mask:
    """Which values [n] lie in an interval; one that is missing does not."""
    return np.asarray((values >= interval.low) & (values < interval.high))


def values_of(graph: Graph, attribute: int) -> NDArray[np.float64]:
    """The values [entities] of an attribute; nan where there is none."""
    assert graph.values is not None
    return np.asarray(graph.values[attribute])


def holders(graph: Graph, rule: Condition) -> Entities:
    """The entities for which a condition on one attribute holds, ascending."""
    return np.flatnonzero(within(values_of(graph, max(rule.of_x, rule.of_y)), rule.interval))


@dataclass(frozen=True, eq=False)
class ReadyCondition:
    """One condition on one graph: whom it answers for a head."""

    rule: Condition
    of_head: NDArray[np.float64] | None  # [entities] values of X, where these decide
    others: Entities  # Y in the order of their values; all that it holds for, if it is about Y alone
    of_other: NDArray[np.float64] | None  # [others] values of Y, ascending

    @classmethod
    def on(cls, graph: Graph, rule: Condition) -> ReadyCondition:
        """A condition made ready for a graph."""
        if rule.at_head:
            return cls(rule, None, holders(graph, rule), None)
        of_head = values_of(graph, rule.of_x)
        if not rule.compares:
            return cls(rule, of_head, np.array([rule.constant]), None)
        values = values_of(graph, rule.of_y)
        order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
        return cls(rule, of_head, order, values[order])

    def answers(self, head: int) -> Entities:
        """Whom it answers for a head; nobody is compared with himself."""
        nobody = self.others[:0]
        if self.of_head is None:
            return self.others if head == self.rule.constant else nobody
        value = self.of_head[head]
        if self.of_other is None:
            return self.others if within(value, self.rule.interval) else nobody
        if np.isnan(value):
            return nobody
        more = self.of_other - value  # ascends, as rounding keeps the order
        first, last = np.searchsorted(more, self.rule.interval)
        found = self.others[first:last]
        return np.asarray(found[found != head])


@dataclass(frozen=True, eq=False)
class ReadyConditions:
    """The conditions of one relation on one graph."""

    place: Place
    ready: tuple[ReadyCondition, ...]

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """What these rules answer, 1 for each; one query alone may have more than `most`."""
        del answers
        found, left = list[Entities](), most
        for one in self.ready:
            for head in batch.heads.tolist():
                found.append(one.answers(head))
                left -= len(found[-1])
                if left < 0 and len(batch.heads) > 1:
                    return None
        ptr = np.append(0, np.cumsum([len(part) for part in found])).astype(np.int64)
        entity = np.concatenate(found).astype(np.int32)
        return Rows(self.place.place, ptr, entity, np.ones(len(entity), np.int32))


def holds(graph: Graph, rule: Condition, head: int, tail: int) -> bool:
    """Whether a rule with a condition leads from a head to a tail."""
    return tail in ReadyCondition.on(graph, rule).answers(head)


def counted(graph: Graph, rule: Condition, entity: int) -> Term:
    """A condition on one attribute that holds for an entity, counted over all other entities."""
    right = graph.neighbours(rule.constant, rule.head if rule.at_head else graph.inverse(rule.head))
    others = holders(graph, rule)
    others = others[others != entity]
    support = int(np.isin(others, right).sum())
    return Term(rule, support, len(others), support / (len(others) + UNSEEN))


def joined(graph: Graph, rule: Condition, heads: NDArray[np.integer]) -> Ids:
    """The pairs [n, 2] that a condition joins, for some heads."""
    ready = ReadyCondition.on(graph, rule)
    found = [ready.answers(int(head)) for head in heads]
    of_head = np.repeat(np.asarray(heads, np.int64), [len(part) for part in found])
    return np.stack([of_head, np.concatenate([np.empty(0, np.int64), *found])], axis=1)
