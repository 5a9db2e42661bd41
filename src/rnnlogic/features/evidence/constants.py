"""The rules with constants behind the evidence for one answer, to explain it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.features.evidence.kernels import BEST, LEAST, SUPPORT, UNSEEN
from rnnlogic.rules.rule import Constant, mirrored


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


def rules_behind(graph: Graph, name: str, head: int, relation: int, tail: int) -> list[Counted]:
    """The rules with constants that a feature sums up for one answer; none for other features."""
    if name in ("best_constant_of_x", "constants_of_x"):
        found = constant_rules(graph, head, relation, tail)
    elif name in ("best_constant_of_y", "constants_of_y"):
        about = constant_rules(graph, tail, graph.inverse(relation), head)
        found = [one.mirrored(graph.num_relations) for one in about]
    else:
        found = []
    return found[:1] if name.startswith("best_") else found


def constant_rules(graph: Graph, head: int, relation: int, answer: int) -> list[Counted]:
    """The most confident rules whose body is true of the head and which say relation(head, answer).

    The head itself does not count for or against them. For rules about the answer, ask the inverse relation.
    """
    right = graph.neighbours(answer, graph.inverse(relation))
    found = []
    for by in range(2 * graph.num_relations):
        others = graph.neighbours(head, graph.inverse(by))
        for other in [*others.tolist(), *([-1] if len(others) and by != graph.inverse(relation) else [])]:
            back = graph.inverse(by)
            holders = np.unique(graph.edges(back)[0]) if other < 0 else graph.neighbours(other, by)
            support = int(np.isin(holders, right).sum()) - int(head in right)
            if other != answer and support >= SUPPORT:
                rule = Constant(relation, back, answer, other)
                found.append(Counted(rule, support, len(holders) - 1))
    found = [one for one in found if one.confidence >= LEAST]
    return sorted(found, key=_order(graph))[:BEST]


def _order(graph: Graph) -> Callable[[Counted], tuple[float, int, int]]:
    """The most confident first; equal ones by the relation towards the entity, then by the other entity."""
    return lambda one: (-one.confidence, graph.inverse(one.rule.step), one.rule.other)
