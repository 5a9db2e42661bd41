"""Plain-Python twins of the kernels: same signatures and results, written to be read."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.base import STRETCH, UNSEEN, Batch, Items
from rnnlogic.features.chains.reference import tails_of
from rnnlogic.features.constants.kernels import BEST, SUMMARIES, SUPPORT, RelationTables
from rnnlogic.features.reference import Cells, Facts, Output, as_rows


def count_answers(
    graph: GraphArrays, items: Items, relation: int, num_entities: int, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """item [n], answer [n], support [n] of the rules with constants of a relation, by their least support."""
    rows = len(items.relation)
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    found = []
    for item in range(rows + 2 * items.num_relations):
        holders = holders_of(graph, items, item, num_entities)
        if len(holders) <= least or item == rows + inverse:
            continue
        answers = Counter(answer for x in holders for answer in tails_of(graph, relation, x))
        constant = int(graph.row_head[item]) if item < rows else -1
        found += [(item, a, n) for a, n in answers.items() if n >= least and a != constant]
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    return np.array(columns[0], np.int64), np.array(columns[1], np.int64), np.array(columns[2], np.int32)


def holders_of(graph: GraphArrays, items: Items, item: int, num_entities: int) -> list[int]:
    """The entities that have an item."""
    if item < len(items.relation):
        return tails_of(graph, int(items.relation[item]), int(graph.row_head[item]))
    relation = item - len(items.relation)
    back = (relation + items.num_relations) % (2 * items.num_relations)
    return [x for x in range(num_entities) if tails_of(graph, back, x)]


def confidence(support: int, holders: int, least: float) -> float:
    """Smoothed confidence of a rule with constants, by all entities but that of the query; 0: too small."""
    value = support / (holders + UNSEEN)
    return value if support >= SUPPORT and value >= least else 0.0


def summarise(
    graph: GraphArrays,
    items: Items,
    tables: RelationTables,
    wanted: NDArray[np.bool_],
    batch: Batch,
    num_entities: int,
) -> Output:
    """What the best rules with constants say for queries [q]: rows of the wanted [SUMMARIES].

    Of the tables only the confidence that counts is looked at: everything is counted here.
    """
    heads, hidden, relation = batch.heads, batch.hidden, batch.relation
    cells: Cells = [[{} for _ in heads] for _ in range(SUMMARIES)]
    for q, (head, tail) in enumerate(zip(heads.tolist(), hidden.tolist(), strict=True)):
        query = _Query(graph, items, relation, head, tail, num_entities)
        for k, found in enumerate((query.by_head(tables.least_of_x), query.by_answer(tables.least_of_y))):
            cells[2 * k][q] = {e: math.log1p(STRETCH * best[0]) for e, best in found.items()}
            cells[2 * k + 1][q] = {e: -sum(math.log1p(-c) for c in best) for e, best in found.items()}
    return as_rows(cells, wanted)


class _Query(Facts):
    """One query, with the facts that it may look at."""

    def __init__(
        self, graph: GraphArrays, items: Items, relation: int, head: int, hidden: int, num_entities: int
    ) -> None:
        super().__init__(graph, items, num_entities)
        self.relation, self.head = relation, head
        self.tail, self.all_links = (-2 - hidden, True) if hidden < -1 else (hidden, False)
        self.answers = set(tails_of(graph, relation, head))
        self.entities = range(num_entities)

    def by_head(self, least: float) -> dict[int, list[float]]:
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
            support = Counter(t for h, r, t in self.all if r == self.relation and h in others)
            for answer, number in support.items():
                if answer != item[1]:
                    self.add(found, answer, confidence(number, len(others), least))
        return {e: sorted(values)[::-1][:BEST] for e, values in found.items()}

    def by_answer(self, least: float) -> dict[int, list[float]]:
        """Confidences of the best rules r(c,Y) <- b(d,Y), r(c,Y) <- b(Z,Y), c being the head, by answer Y."""
        found: dict[int, list[float]] = {}
        for answer in self.entities:
            for item in self.items_of(answer):
                if item[1] == self.head or item == (self.relation, -1):
                    continue
                others = self.holders(item) - {answer}
                support = len((self.answers - {self.tail}) & others)
                self.add(found, answer, confidence(support, len(others), least))
        return {e: sorted(values)[::-1][:BEST] for e, values in found.items()}

    @staticmethod
    def add(found: dict[int, list[float]], answer: int, value: float) -> None:
        """Add the confidence of a rule for an answer."""
        if value > 0:
            found.setdefault(answer, []).append(value)
