"""Plain-Python twin of the kernel: same signature, same results up to rounding, written to be read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.predictors.paths.kernels import Results, Vectors


def path_distances(vectors: Vectors, results: Results) -> NDArray[np.float32]:
    """Distance [n] between the head, turned, and the candidate, for every turn that leads to a candidate."""
    entity, cosine, sine = vectors
    heads, order, query_ptr, candidate, candidate_ptr, turn = results
    dim = cosine.shape[1]
    point = entity[:, :dim].astype(complex) + 1j * entity[:, dim:]  # [E, D]
    distance = np.empty(len(turn), np.float32)
    for q in order:
        for c in range(query_ptr[q], query_ptr[q + 1]):
            for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                turned = point[heads[q]] * (cosine[turn[i]] + 1j * sine[turn[i]])
                distance[i] = np.abs(turned - point[candidate[c]]).sum()
    return distance
