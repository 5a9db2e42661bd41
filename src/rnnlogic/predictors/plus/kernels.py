"""Compiled sums over the rules of each candidate, and their gradients; twins are in `reference.py`.

Candidate c is reached by rules rule[ptr[c]:ptr[c+1]]; rule i has the message value[i] * vectors[rule[i]].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled

EPSILON = 1e-6  # added to variances, so that the root has a gradient


@compiled
def sum_rules(
    ptr: NDArray[np.int64], rule: NDArray[np.integer], value: NDArray[np.float32], vectors: NDArray[Any]
) -> NDArray[Any]:
    """Sums [c, D] of the messages."""
    out = np.zeros((len(ptr) - 1, vectors.shape[1]), vectors.dtype)
    for c in range(len(ptr) - 1):
        total = out[c]
        for i in range(ptr[c], ptr[c + 1]):
            vector, weight = vectors[rule[i]], value[i]
            for d in range(len(vector)):
                total[d] += weight * vector[d]
    return out


@compiled
def sum_rules_gradient(
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    value: NDArray[np.float32],
    vectors: NDArray[Any],
    upstream: NDArray[Any],
) -> NDArray[Any]:
    """Gradient [K, D] of sum(upstream [c, D] * sum_rules) by the vectors."""
    gradient = np.zeros_like(vectors)
    for c in range(len(ptr) - 1):
        up = upstream[c]
        for i in range(ptr[c], ptr[c + 1]):
            row, weight = gradient[rule[i]], value[i]
            for d in range(len(row)):
                row[d] += weight * up[d]
    return gradient


@compiled
def pna_rules(
    ptr: NDArray[np.int64], rule: NDArray[np.integer], value: NDArray[np.float32], vectors: NDArray[Any]
) -> NDArray[Any]:
    """Mean, smallest, largest and standard deviation of the messages, side by side [c, 4D]; 0 without any."""
    size = vectors.shape[1]
    out = np.zeros((len(ptr) - 1, 4 * size), vectors.dtype)
    for c in range(len(ptr) - 1):
        first, last = ptr[c], ptr[c + 1]
        if first == last:
            continue
        mean, least, most = out[c, :size], out[c, size : 2 * size], out[c, 2 * size : 3 * size]
        deviation = out[c, 3 * size :]
        least[:] = np.inf
        most[:] = -np.inf
        for i in range(first, last):
            vector, weight = vectors[rule[i]], value[i]
            for d in range(size):
                message = weight * vector[d]
                mean[d] += message
                least[d] = message if message < least[d] else least[d]
                most[d] = message if message > most[d] else most[d]
        share = vectors.dtype.type(1.0) / vectors.dtype.type(last - first)
        for d in range(size):
            mean[d] *= share
        for i in range(first, last):
            vector, weight = vectors[rule[i]], value[i]
            for d in range(size):
                away = weight * vector[d] - mean[d]
                deviation[d] += away * away
        for d in range(size):
            deviation[d] = np.sqrt(deviation[d] * share + EPSILON)
    return out


@compiled
def pna_rules_gradient(
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    value: NDArray[np.float32],
    vectors: NDArray[Any],
    features: NDArray[Any],
    upstream: NDArray[Any],
) -> NDArray[Any]:
    """Gradient [K, D] of sum(upstream [c, 4D] * features [c, 4D]) by the vectors; features of `pna_rules`.

    Messages that tie for the smallest or largest all get its gradient.
    """
    size = vectors.shape[1]
    gradient = np.zeros_like(vectors)
    spread, even = np.empty(size, vectors.dtype), np.empty(size, vectors.dtype)
    zero = vectors.dtype.type(0.0)
    for c in range(len(ptr) - 1):
        first, last = ptr[c], ptr[c + 1]
        if first == last:
            continue
        least, most = features[c, size : 2 * size], features[c, 2 * size : 3 * size]
        up_least, up_most = upstream[c, size : 2 * size], upstream[c, 2 * size : 3 * size]
        share = vectors.dtype.type(1.0) / vectors.dtype.type(last - first)
        for d in range(size):
            spread[d] = share * upstream[c, 3 * size + d] / features[c, 3 * size + d]
            even[d] = share * upstream[c, d] - spread[d] * features[c, d]
        for i in range(first, last):
            vector, row, weight = vectors[rule[i]], gradient[rule[i]], value[i]
            for d in range(size):
                message = weight * vector[d]
                by_least = up_least[d] if message == least[d] else zero
                by_most = up_most[d] if message == most[d] else zero
                row[d] += weight * (even[d] + spread[d] * message + by_least + by_most)
    return gradient
