"""The rules with constants that the facts of a graph imply, by what they are looked up by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.base import UNSEEN
from rnnlogic.features.constants.kernels import LEAST, SUPPORT, RelationTables, Table, count_answers
from rnnlogic.features.items import Items

Counted = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]


def relation_tables(graph: Graph, items: Items, relation: int) -> RelationTables:
    """The tables of a relation."""
    item, answer, support = _confident(graph, items, relation)
    by_item = _by_key(item, answer, support)
    item, answer, support = _confident(graph, items, graph.inverse(relation))
    return RelationTables(by_item, _by_key(answer, item, support))


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
