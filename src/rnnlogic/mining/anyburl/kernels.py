"""Compiled search for walks that visit no entity twice; the plain twin is in `reference.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.grounding.kernels import edges_of


@compiled
def count_simple_pairs(
    graph: GraphArrays,
    body: NDArray[np.int64],
    heads: NDArray[np.int64],
    starts: NDArray[np.int32],
    seen: NDArray[np.int64],
    mark: int,
    support: NDArray[np.int64],
) -> tuple[int, int]:
    """Pairs (x, y) that the body joins by a walk from x in `starts` to y that visits no entity twice.

    Adds to support [heads] how many of the pairs are facts of each head relation. `seen` [E] holds no number
    above `mark`; the largest mark that was written is returned after the number of pairs.
    """
    length = len(body)
    entity = np.zeros(length + 1, np.int64)
    edge, last = np.zeros(length + 1, np.int64), np.zeros(length + 1, np.int64)
    pairs = 0
    for x in starts:
        mark += 1
        entity[0] = x
        edge[0], last[0] = edges_of(graph, body[0], x)
        depth, found = 0, 0
        while depth >= 0:
            if edge[depth] == last[depth]:
                depth -= 1
                continue
            other = graph.tails[edge[depth]]
            edge[depth] += 1
            is_end = depth + 1 == length
            if is_end and seen[other] == mark:
                continue
            is_repeated = False
            for i in range(depth + 1):
                is_repeated |= entity[i] == other
            if is_repeated:
                continue
            if is_end:
                seen[other] = mark
                found += 1
            else:
                depth += 1
                entity[depth] = other
                edge[depth], last[depth] = edges_of(graph, body[depth], other)
        pairs += found
        if found == 0:
            continue
        for k in range(len(heads)):
            first, end = edges_of(graph, heads[k], x)
            for i in range(first, end):
                support[k] += seen[graph.tails[i]] == mark
    return pairs, mark
