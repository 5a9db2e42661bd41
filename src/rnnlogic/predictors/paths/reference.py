"""Plain-Python twin of the kernel: same signature, same results up to rounding, written to be read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def path_distances(
    entity: NDArray[np.float32],
    cosine: NDArray[np.float32],
    sine: NDArray[np.float32],
    euclidean: bool,
    heads: NDArray[np.int32],
    order: NDArray[np.int64],
    query_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    candidate_ptr: NDArray[np.int64],
    turn: NDArray[np.int32],
) -> NDArray[np.float32]:
    """Distance [n] between the head, turned, and the candidate, for every turn that leads to a candidate."""
    dim = cosine.shape[1]
    point = entity[:, :dim].astype(complex) + 1j * entity[:, dim:]  # [E, D]
    distance = np.empty(len(turn), np.float32)
    for q in order:
        for c in range(query_ptr[q], query_ptr[q + 1]):
            for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                turned = point[heads[q]] * (cosine[turn[i]] + 1j * sine[turn[i]])
                moduli = np.abs(turned - point[candidate[c]])
                distance[i] = np.sqrt((moduli**2).sum()) if euclidean else moduli.sum()
    return distance
