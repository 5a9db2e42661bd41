"""The rules with constants behind the evidence for one answer, to explain it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.grounding.evidence.kernels import BEST, LEAST, SUPPORT, UNSEEN


class ConstantRule(NamedTuple):
    """relation(V,answer) <- by(other,V), where V stands for the entity that it is true of; other -1: any."""

    relation: int
    answer: int
    by: int
    other: int
    support: int  # other entities with the body and the answer
    holders: int  # other entities with the body

    @property
    def confidence(self) -> float:
        """How far it is trusted."""
        return self.support / (self.holders + UNSEEN)


def constant_rules(graph: Graph, head: int, relation: int, answer: int) -> list[ConstantRule]:
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
                found.append(ConstantRule(relation, answer, by, other, support, len(holders) - 1))
    found = [rule for rule in found if rule.confidence >= LEAST]
    return sorted(found, key=lambda rule: (-rule.confidence, rule))[:BEST]
