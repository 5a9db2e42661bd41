"""A compiled kernel that counts rules with constants; its plain twin is in `reference.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays


class Items(NamedTuple):
    """What is true of each entity."""

    ptr: NDArray[np.int64]  # [E+1]
    row: NDArray[np.int64]  # [2F] rows of the graph that contain the entity, ascending for each
    relation: NDArray[np.int32]  # [rows] relation of each row of the graph
    holders: NDArray[np.int64]  # [rows + 2R] entities that have the item
    num_relations: int  # R


@compiled
def count_answers(
    graph: GraphArrays, items: Items, relation: int, num_entities: int, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """item [n], answer [n], support [n] of the rules with constants of a relation with this support at least.

    Items come in order, the answers of one in order of first visit. Rules that are chains are left out: an
    item that mentions the answer, and that a fact of the relation itself exists.
    """
    rows = len(items.relation)
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    first_row, last_row = graph.relation_rows[relation], graph.relation_rows[relation + 1]
    row_of = np.full(num_entities, -1, np.int64)  # the row (relation, entity)
    for row in range(first_row, last_row):
        row_of[graph.row_head[row]] = row
    item_of, answer_of = np.empty(1024, np.int64), np.empty(1024, np.int64)
    support_of = np.empty(1024, np.int32)
    seen = np.zeros(num_entities, np.int32)
    touched = np.empty(num_entities + 1, np.int64)  # one is written before it is known to be new
    used = 0
    for item in range(rows + 2 * items.num_relations):
        if items.holders[item] <= least or item == rows + inverse:
            continue
        if item < rows:
            lo, hi, constant = graph.row_edges[item], graph.row_edges[item + 1], graph.row_head[item]
        else:
            back = (item - rows + items.num_relations) % (2 * items.num_relations)
            lo, hi, constant = graph.relation_rows[back], graph.relation_rows[back + 1], np.int32(-1)
        reached = 0
        for i in range(lo, hi):
            entity = graph.tails[i] if item < rows else graph.row_head[i]
            row = row_of[entity]
            if row < 0:
                continue
            for edge in range(graph.row_edges[row], graph.row_edges[row + 1]):
                answer = graph.tails[edge]
                touched[reached] = answer
                reached += seen[answer] == 0
                seen[answer] += 1
        if used + reached > len(item_of):
            size = max(2 * len(item_of), used + reached)
            item_of, answer_of = _grown(item_of, size), _grown(answer_of, size)
            support_of = _grown(support_of, size)
        for i in range(reached):
            answer = touched[i]
            if seen[answer] >= least and answer != constant:
                item_of[used], answer_of[used], support_of[used] = item, answer, seen[answer]
                used += 1
            seen[answer] = 0
    return item_of[:used], answer_of[:used], support_of[:used]


@compiled
def _grown(array: Any, size: int) -> Any:
    more = np.empty(size, array.dtype)
    more[: len(array)] = array
    return more
