"""The kernel of `kernels.py` in plain Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays


def count_simple_pairs(
    graph: GraphArrays,
    body: NDArray[np.int64],
    heads: NDArray[np.int64],
    starts: NDArray[np.int32],
    seen: NDArray[np.int64],
    mark: int,
    support: NDArray[np.int64],
) -> tuple[int, int]:
    """Pairs that the body joins by walks without repeated entities; support [heads] is added to."""
    del seen
    pairs = 0
    for x in starts.tolist():
        walks: set[tuple[int, ...]] = {(x,)}
        for relation in body.tolist():
            walks = {(*walk, y) for walk in walks for y in _tails(graph, relation, walk[-1]) if y not in walk}
        ends = {walk[-1] for walk in walks}
        pairs += len(ends)
        for k, head in enumerate(heads.tolist()):
            support[k] += len(ends & _tails(graph, head, x))
    return pairs, mark + len(starts)


def _tails(graph: GraphArrays, relation: int, head: int) -> set[int]:
    rows = range(graph.relation_rows[relation], graph.relation_rows[relation + 1])
    found = [row for row in rows if graph.row_head[row] == head]
    return {t for row in found for t in graph.tails[graph.row_edges[row] : graph.row_edges[row + 1]].tolist()}
