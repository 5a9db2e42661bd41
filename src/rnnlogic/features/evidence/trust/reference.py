"""Plain-Python twins of the kernels: same signatures and results, written to be read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def largest_by_query(
    entity: NDArray[np.int32],
    ptr: NDArray[np.int64],
    strength: NDArray[np.float32],
    queries: int,
    largest: NDArray[np.float32],  # noqa: ARG001 - the kernel's memory
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Of grounded bodies: ptr [queries+1], entities that a strong one reaches, the largest strength each."""
    found: list[dict[int, float]] = [{} for _ in range(queries)]
    for body, own in enumerate(strength.tolist()):
        for q, best in enumerate(found):
            cell = body * queries + q
            for e in entity[ptr[cell] : ptr[cell + 1]].tolist() if own > 0 else []:
                best[e] = max(best.get(e, 0.0), own)
    return (
        np.append(0, np.cumsum([len(best) for best in found], dtype=np.int64)),
        np.array([e for best in found for e in best], np.int32),
        np.array([value for best in found for value in best.values()], np.float32),
    )


def largest_by_candidate(
    candidate_ptr: NDArray[np.int64], rule: NDArray[np.integer], strength: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Of candidates [c] with their rules: the largest strength [rules] of each."""
    own = (strength[rule[a:b]].tolist() for a, b in pairwise(candidate_ptr))
    return np.array([max(found, default=0.0) for found in own], np.float32)


def largest_by_column(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    columns: NDArray[np.int64],
    strength: NDArray[np.float32],
    size: int,
) -> NDArray[np.float32]:
    """Of rules with their candidates: the largest strength [columns] for each candidate [size]."""
    largest = np.zeros(size, np.float32)
    for column, own in zip(columns.tolist(), strength, strict=True):
        for c in candidate[column_ptr[column] : column_ptr[column + 1]].tolist():
            largest[c] = max(largest[c], own)
    return largest
