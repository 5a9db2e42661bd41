"""The largest strength of the rules that reach a candidate, for results in three orders.

A strength of 0 is none: it makes no result. Plain twins are in `reference.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled


@compiled
def largest_by_query(
    entity: NDArray[np.int32],
    ptr: NDArray[np.int64],
    strength: NDArray[np.float32],
    queries: int,
    largest: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Of grounded bodies: ptr [queries+1], entities that a strong one reaches, the largest strength each.

    Body k with strength[k] reaches entity[ptr[k * queries + q] : ptr[k * queries + q + 1]] for query q.
    `largest` [E] is zero before and after.
    """
    size = min(len(entity), queries * len(largest)) + 1
    found, value = np.empty(size, np.int32), np.empty(size, np.float32)
    found_ptr = np.zeros(queries + 1, np.int64)
    used = 0
    for q in range(queries):
        for k in range(len(strength)):
            if strength[k] <= 0:
                continue
            for i in range(np.uint64(ptr[k * queries + q]), np.uint64(ptr[k * queries + q + 1])):
                place = np.uint32(entity[i])
                before = largest[place]
                found[np.uint64(used)] = place
                used += before == 0
                largest[place] = max(before, strength[k])
        for i in range(found_ptr[q], used):
            value[i] = largest[found[i]]
            largest[found[i]] = 0
        found_ptr[q + 1] = used
    return found_ptr, found[:used], value[:used]


@compiled
def largest_by_candidate(
    candidate_ptr: NDArray[np.int64], rule: NDArray[np.integer], strength: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Of candidates [c] with their rules: the largest strength [rules] of each."""
    largest = np.zeros(len(candidate_ptr) - 1, np.float32)
    for c in range(len(largest)):
        for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
            largest[c] = max(largest[c], strength[rule[i]])
    return largest


@compiled
def largest_by_column(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    columns: NDArray[np.int64],
    strength: NDArray[np.float32],
    size: int,
) -> NDArray[np.float32]:
    """Of rules with their candidates: the largest strength [columns] for each candidate [size]."""
    largest = np.zeros(size, np.float32)
    for i in range(len(columns)):
        for n in range(column_ptr[columns[i]], column_ptr[columns[i] + 1]):
            largest[candidate[n]] = max(largest[candidate[n]], strength[i])
    return largest
