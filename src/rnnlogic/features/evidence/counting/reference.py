"""The plain-Python twin of the kernel: same signature and results, written to be read."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.reference import tails_of
from rnnlogic.features.evidence.counting.kernels import Items


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
