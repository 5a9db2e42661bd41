"""Compiled distances between turned heads and the ends of paths; public ones have twins in `reference.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled, inlined

BLOCK = 128  # dimensions worked on at a time: the turned heads of a thousand rules stay in the cache
ZERO = np.float32(0)


class Vectors(NamedTuple):
    """An embedding and the turns of its rules."""

    entity: NDArray[np.float32]  # [E, 2D]
    cosine: NDArray[np.float32]  # [turns, D]
    sine: NDArray[np.float32]  # [turns, D]


class Results(NamedTuple):
    """What turns lead to; `order` takes the queries by head, as those of one have much in common."""

    heads: NDArray[np.int32]  # [q]
    order: NDArray[np.int64]  # [q]
    query_ptr: NDArray[np.int64]  # [q+1] candidates of query q: query_ptr[q]:query_ptr[q+1]
    candidate: NDArray[np.int32]  # [c] entity
    candidate_ptr: NDArray[np.int64]  # [c+1] turns of candidate c: candidate_ptr[c]:candidate_ptr[c+1]
    turn: NDArray[np.int32]  # [n]


@inlined
def _turn(real: Any, imaginary: Any, cosine: Any, sine: Any, to_real: Any, to_imaginary: Any) -> None:
    for d in range(len(real)):
        to_real[d] = real[d] * cosine[d] - imaginary[d] * sine[d]
        to_imaginary[d] = real[d] * sine[d] + imaginary[d] * cosine[d]


@inlined
def _moduli(real: Any, imaginary: Any, to_real: Any, to_imaginary: Any) -> Any:
    total = ZERO
    for d in range(len(real)):
        x, y = real[d] - to_real[d], imaginary[d] - to_imaginary[d]
        total += np.sqrt(x * x + y * y)
    return total


@compiled
def path_distances(vectors: Vectors, results: Results) -> NDArray[np.float32]:
    """Distance [n] between the head, turned, and the candidate, for every turn that leads to a candidate.

    Whatever queries of one head have in common is computed once. The distance is the sum of moduli.
    """
    entity, cosine, sine = vectors
    heads, order, query_ptr, candidate, candidate_ptr, turn = results
    distance = np.empty(len(turn), np.float32)
    row_of = np.full(len(entity), -1, np.int32)
    start = 0
    while start < len(order):
        head, stop = heads[order[start]], start + 1
        while stop < len(order) and heads[order[stop]] == head:
            stop += 1
        same_head = order[start:stop]
        rows = _number_rows(same_head, query_ptr, candidate, row_of)
        table = np.full((rows, len(cosine)), -1, np.int32)  # which pair is (entity of row, turn)
        pairs = _number_pairs(same_head, query_ptr, candidate, candidate_ptr, turn, row_of, table)
        apart = _pair_distances(entity, head, cosine, sine, pairs[0], pairs[1])
        for q in same_head:
            for c in range(query_ptr[q], query_ptr[q + 1]):
                for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                    distance[i] = apart[table[row_of[candidate[c]], turn[i]]]
        for q in same_head:
            row_of[candidate[query_ptr[q] : query_ptr[q + 1]]] = -1
        start = stop
    return distance


@compiled
def _number_rows(queries: Any, query_ptr: Any, candidate: Any, row_of: Any) -> int:
    """Number the different candidates of some queries, in `row_of`; returns how many there are."""
    rows = 0
    for q in queries:
        for c in range(query_ptr[q], query_ptr[q + 1]):
            if row_of[candidate[c]] < 0:
                row_of[candidate[c]] = rows
                rows += 1
    return rows


@compiled
def _number_pairs(
    queries: Any, query_ptr: Any, candidate: Any, candidate_ptr: Any, turn: Any, row_of: Any, table: Any
) -> tuple[Any, Any]:
    """Number the different (candidate, turn), in `table`; returns entity and turn of each."""
    most = 0
    for q in queries:
        most += candidate_ptr[query_ptr[q + 1]] - candidate_ptr[query_ptr[q]]
    most = min(most, table.size)
    ends, turns, pairs = np.empty(most, np.int32), np.empty(most, np.int32), 0
    for q in queries:
        for c in range(query_ptr[q], query_ptr[q + 1]):
            row = table[row_of[candidate[c]]]
            for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                if row[turn[i]] < 0:
                    row[turn[i]] = pairs
                    ends[pairs], turns[pairs] = candidate[c], turn[i]
                    pairs += 1
    return ends[:pairs], turns[:pairs]


@inlined
def _pair_distances(
    entity: Any, head: int, cosine: Any, sine: Any, ends: Any, turns: Any
) -> NDArray[np.float32]:
    """Distance of each (entity, turn), some dimensions at a time so that the turned heads stay in cache."""
    dim = cosine.shape[1]
    turned = np.empty((len(cosine), 2 * BLOCK), np.float32)
    is_used = np.zeros(len(cosine), np.bool_)
    is_used[turns] = True
    used = np.flatnonzero(is_used)
    distance = np.zeros(len(ends), np.float32)
    for first in range(0, dim, BLOCK):
        size = min(BLOCK, dim - first)
        low, high = slice(first, first + size), slice(dim + first, dim + first + size)
        for k in used:
            to = turned[k]
            _turn(entity[head][low], entity[head][high], cosine[k][low], sine[k][low], to[:size], to[BLOCK:])
        for i in range(len(ends)):
            start, end = turned[turns[i]], entity[ends[i]]
            real, imaginary = start[:size], start[BLOCK : BLOCK + size]
            distance[i] += _moduli(real, imaginary, end[low], end[high])
    return distance
