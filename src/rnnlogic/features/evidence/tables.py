"""What named evidence looks things up in: items of entities, rules with constants, frequent answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.evidence.counting.kernels import Items, count_answers
from rnnlogic.features.evidence.kernels import LEAST, SUPPORT, UNSEEN, Table

Counted = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]
FREQUENT_ANSWERS = 1000  # of a relation that are candidates of all its queries, at most: bounds the work


class RelationTables(NamedTuple):
    """Rules with constants that answer the queries of a relation, and its frequent answers."""

    by_item: Table
    by_answer: Table  # of the inverse relation: its answers are the heads of this one
    frequent: NDArray[np.int32]  # the most frequent first


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


def relation_tables(graph: Graph, items: Items, relation: int, constants: bool) -> RelationTables:
    """The tables of a relation."""
    none = np.zeros(0, np.int64)
    nothing = Table(none, np.zeros(1, np.int64), none, none.astype(np.int32))
    frequent = _frequent(graph, relation)
    if not constants:
        return RelationTables(nothing, nothing, frequent)
    item, answer, support = _confident(graph, items, relation)
    by_item = _by_key(item, answer, support)
    item, answer, support = _confident(graph, items, graph.inverse(relation))
    return RelationTables(by_item, _by_key(answer, item, support), frequent)


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


def _frequent(graph: Graph, relation: int) -> NDArray[np.int32]:
    """The answers of a relation, those of most facts first, ties by id."""
    arrays, inverse = graph.arrays, graph.inverse(relation)
    first, last = arrays.relation_rows[inverse], arrays.relation_rows[inverse + 1]
    times = np.diff(arrays.row_edges[first : last + 1])
    order = np.argsort(-times, kind="stable")[:FREQUENT_ANSWERS]
    return arrays.row_head[first:last][order]
