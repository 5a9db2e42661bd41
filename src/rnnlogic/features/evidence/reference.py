"""Plain-Python twins of the kernels: same signatures and results, written to be read."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.reference import tails_of
from rnnlogic.features.evidence.counting.kernels import Items
from rnnlogic.features.evidence.kernels import BEST, LEAST, SUPPORT, UNSEEN, Table
from rnnlogic.features.evidence.output.kernels import KINDS, STRETCH

Item = tuple[int, int]  # relation, head of the fact relation(head, entity); head -1: some such fact exists


def confidence(support: int, holders: int) -> float:
    """How far a rule with constants is trusted, by entities other than the one asked about; 0: not at all."""
    value = support / (holders + UNSEEN)
    return value if support >= SUPPORT and value >= LEAST else 0.0


def is_visible(
    items: Items, graph: GraphArrays, row: int, relation: int, hidden: int, all_links: bool
) -> bool:
    """Whether an item of the head may be looked at: not if it is the hidden fact, or a hidden link."""
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    if graph.row_head[row] != hidden:
        return True
    return not all_links and items.relation[row] != inverse


def strength(best: float) -> float:
    """What the most confident rule with constants counts."""
    return math.log1p(STRETCH * best)


def several(best: NDArray[np.float64]) -> float:
    """What the most confident rules count together: -log(1 - noisy or)."""
    return -sum(math.log1p(-value) for value in best)


def find_evidence(
    graph: GraphArrays,
    items: Items,
    by_item: Table,
    by_answer: Table,
    frequent: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    heads: NDArray[np.int32],
    hidden: NDArray[np.int32],
    relation: int,
    entity: NDArray[np.int32],
    ptr: NDArray[np.int64],
    num_entities: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Values of named evidence for the candidates of queries [q]: entity [n], value [n], ptr [kinds * q + 1].

    Entities of one query and kind ascend here. Tables are not looked at: everything is counted anew.
    """
    del by_item, by_answer
    cells = [[{} for _ in heads] for _ in range(KINDS)]  # type: list[list[dict[int, float]]]
    bodies = (len(ptr) - 1) // max(len(heads), 1)
    for q, (head, tail) in enumerate(zip(heads.tolist(), hidden.tolist(), strict=True)):
        spans = [slice(ptr[k * len(heads) + q], ptr[k * len(heads) + q + 1]) for k in range(bodies)]
        reached = {int(e) for span in spans for e in entity[span]}
        asked = _Asked(graph, items, relation, head, tail, num_entities)
        for kind, values in enumerate(asked.values(reached, frequent.tolist(), wanted)):
            cells[kind][q] = values if wanted[kind] else {}
    flat = [sorted(cell.items()) for row in cells for cell in row]
    sizes = np.append(0, np.cumsum([len(cell) for cell in flat])).astype(np.int64)
    pairs = [pair for cell in flat for pair in cell]
    return np.array([e for e, _ in pairs], np.int32), np.array([v for _, v in pairs], np.float32), sizes


class _Asked:
    """One query, with the facts that it may look at."""

    def __init__(
        self, graph: GraphArrays, items: Items, relation: int, head: int, hidden: int, num_entities: int
    ) -> None:
        self.relation, self.head, self.num_relations = relation, head, items.num_relations
        self.tail, self.all_links = (-2 - hidden, True) if hidden < -1 else (hidden, False)
        relations = range(2 * items.num_relations)
        self.facts = {
            (h, r, t) for r in relations for h in range(num_entities) for t in tails_of(graph, r, h)
        }  # with inverses
        self.answers = set(tails_of(graph, relation, head))
        self.entities = range(num_entities)

    def items_of(self, x: int) -> set[Item]:
        """What is true of an entity, whether it is hidden or not."""
        exact = {(r, h) for h, r, t in self.facts if t == x}
        return exact | {(r, -1) for r, _ in exact}

    def holders(self, item: Item) -> set[int]:
        """The entities that have an item."""
        return {t for h, r, t in self.facts if r == item[0] and item[1] in (-1, h)}

    def inverse(self, relation: int) -> int:
        return (relation + self.num_relations) % (2 * self.num_relations)

    def values(
        self, reached: set[int], frequent: list[int], wanted: NDArray[np.bool_]
    ) -> list[dict[int, float]]:
        """For each kind of evidence the candidates with their values."""
        by_head = self.by_head() if wanted[7:9].any() else {}
        by_answer = self.by_answer() if wanted[9:].any() else {}
        times = Counter(t for _, r, t in self.facts if r == self.relation)
        times.subtract(self.answers)
        often = {e for e in frequent if times[e] > 0} if wanted[4:7].any() else set()
        candidates = reached | set(by_head) | set(by_answer) | often
        linked: list[set[int]] = [set(), set(), set()]
        for h, r, t in self.facts:
            if h == self.head and r != self.relation and not (self.all_links and t == self.tail):
                is_turned = r == self.inverse(self.relation)
                if is_turned and t == h:  # r(x,x) turned is the same fact
                    continue
                linked[0 if is_turned else 1 if r < self.num_relations else 2].add(t)
        degree = Counter(t for _, _, t in self.facts)
        degree.subtract(self.answers)
        taken = {e for e in candidates if times[e] > 0}
        return [
            *(dict.fromkeys(candidates & those, 1.0) for those in linked),
            dict.fromkeys(candidates & {self.head}, 1.0),
            dict.fromkeys(taken, 1.0),
            {e: math.log1p(times[e]) for e in taken},
            {e: math.log1p(degree[e]) for e in taken if degree[e] > 0},
            *({e: strength(best[0]) for e, best in found.items()} if first else
              {e: several(np.array(best)) for e, best in found.items()}
              for found in (by_head, by_answer) for first in (True, False)),
        ]  # fmt: skip

    def by_head(self) -> dict[int, list[float]]:
        """Confidences of the best rules r(X,c) <- b(X,d), r(X,c) <- b(X,Z), by answer c."""
        visible = {
            (r, h)
            for r, h in self.items_of(self.head)
            if h >= 0
            and not (h == self.tail and (self.all_links or r == self.inverse(self.relation)))
            and not (h == self.tail == self.head and r == self.relation)
        }
        found: dict[int, list[float]] = {}
        for item in visible | {(r, -1) for r, _ in visible if r != self.inverse(self.relation)}:
            others = self.holders(item) - {self.head}
            support = Counter(t for h, r, t in self.facts if r == self.relation and h in others)
            for answer, number in support.items():
                if answer != item[1]:
                    self.add(found, answer, confidence(number, len(others)))
        return {e: sorted(values)[::-1][:BEST] for e, values in found.items()}

    def by_answer(self) -> dict[int, list[float]]:
        """Confidences of the best rules r(c,Y) <- b(d,Y), r(c,Y) <- b(Z,Y), c being the head, by answer Y."""
        found: dict[int, list[float]] = {}
        for answer in self.entities:
            for item in self.items_of(answer):
                if item[1] == self.head or item == (self.relation, -1):
                    continue
                others = self.holders(item) - {answer}
                support = len((self.answers - {self.tail}) & others)
                self.add(found, answer, confidence(support, len(others)))
        return {e: sorted(values)[::-1][:BEST] for e, values in found.items()}

    @staticmethod
    def add(found: dict[int, list[float]], answer: int, value: float) -> None:
        if value > 0:
            found.setdefault(answer, []).append(value)
