"""What is true of each entity of a graph: the facts that contain it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph


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
