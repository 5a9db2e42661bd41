"""The rules with constants behind the evidence for one answer, to explain it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.features.evidence.kernels import BEST, LEAST, SUPPORT, UNSEEN
from rnnlogic.rules.rule import NONE, Constant, mirrored


class Counted(NamedTuple):
    """A rule with constants, and how often it is right of entities other than the one it is applied to."""

    rule: Constant
    support: int  # other entities with the body and the answer
    holders: int  # other entities with the body

    @property
    def confidence(self) -> float:
        """How far it is trusted."""
        return self.support / (self.holders + UNSEEN)

    def mirrored(self, num_relations: int) -> Counted:
        """The same, its rule read from Y to X."""
        rule = mirrored(self.rule, num_relations)
        assert isinstance(rule, Constant)
        return self._replace(rule=rule)


def rules_behind(
    graph: Graph, name: str, head: int, relation: int, tail: int, is_hidden: bool = False
) -> list[Counted]:
    """The rules with constants that a feature sums up for one answer; none for other features.

    They are those of the kernel, which may not look at the fact itself if it is hidden.
    """
    if name in ("best_constant_of_x", "constants_of_x"):
        found = constant_rules(graph, head, relation, tail, is_hidden)
    elif name in ("best_constant_of_y", "constants_of_y"):
        about = constant_rules(graph, tail, graph.inverse(relation), head)
        found = [one.mirrored(graph.num_relations) for one in about]
    else:
        found = []
    return found[:1] if name.startswith("best_") else found


def constant_rules(
    graph: Graph, head: int, relation: int, answer: int, is_hidden: bool = False
) -> list[Counted]:
    """The most confident rules whose body is true of the head and which say relation(head, answer).

    The head itself does not count for or against them. For rules about the answer, ask the inverse relation.
    """
    found = []
    for by in range(2 * graph.num_relations):
        others = graph.neighbours(head, graph.inverse(by))
        if is_hidden and head == answer and by == relation:
            others = others[others != head]  # r(x,x) turned is the hidden fact
        is_new = len(others) > 0 and by != graph.inverse(relation)
        named = [other for other in others.tolist() if other != answer] + ([NONE] if is_new else [])
        bodies = (Constant(relation, graph.inverse(by), answer, other) for other in named)
        found += [counted(graph, rule, head) for rule in bodies]
    found = [one for one in found if one.support >= SUPPORT and one.confidence >= LEAST]
    return sorted(found, key=_order(graph))[:BEST]


def counted(graph: Graph, rule: Constant, entity: int) -> Counted:
    """A rule with constants whose body is true of an entity, counted over all other entities."""
    if rule.at_head:
        about = mirrored(rule, graph.num_relations)
        assert isinstance(about, Constant)
        return counted(graph, about, entity).mirrored(graph.num_relations)
    right = graph.neighbours(rule.constant, graph.inverse(rule.head))
    by = graph.inverse(rule.step)
    holders = np.unique(graph.edges(rule.step)[0]) if rule.other == NONE else graph.neighbours(rule.other, by)
    support = int(np.isin(holders, right).sum()) - int(entity in right)
    return Counted(rule, support, len(holders) - 1)


def _order(graph: Graph) -> Callable[[Counted], tuple[float, int, int]]:
    """The most confident first; equal ones by the relation towards the entity, then by the other entity."""
    return lambda one: (-one.confidence, graph.inverse(one.rule.step), one.rule.other)
