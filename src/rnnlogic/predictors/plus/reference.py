"""Plain twins of the kernels: same signatures, same results, written to be read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.predictors.plus.kernels import EPSILON


def messages(
    candidate: int,
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    value: NDArray[np.float32],
    vectors: NDArray[Any],
) -> NDArray[Any]:
    """value * vector [n, D] of the rules of one candidate."""
    own = slice(ptr[candidate], ptr[candidate + 1])
    return np.asarray(value[own, None] * vectors[rule[own]])


def sum_rules(
    ptr: NDArray[np.int64], rule: NDArray[np.integer], value: NDArray[np.float32], vectors: NDArray[Any]
) -> NDArray[Any]:
    """Sums [c, D] of the messages."""
    return np.array([messages(c, ptr, rule, value, vectors).sum(axis=0) for c in range(len(ptr) - 1)])


def sum_rules_gradient(
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    value: NDArray[np.float32],
    vectors: NDArray[Any],
    upstream: NDArray[Any],
) -> NDArray[Any]:
    """Gradient [K, D] of sum(upstream [c, D] * sum_rules) by the vectors."""
    gradient = np.zeros_like(vectors)
    for c, (first, last) in enumerate(pairwise(ptr)):
        for i in range(first, last):
            gradient[rule[i]] += value[i] * upstream[c]
    return gradient


def pna_rules(
    ptr: NDArray[np.int64], rule: NDArray[np.integer], value: NDArray[np.float32], vectors: NDArray[Any]
) -> NDArray[Any]:
    """Mean, smallest, largest and standard deviation of the messages, side by side [c, 4D]; 0 without any."""
    rows = []
    for c in range(len(ptr) - 1):
        own = messages(c, ptr, rule, value, vectors)
        if len(own):
            parts = [own.mean(axis=0), own.min(axis=0), own.max(axis=0), np.sqrt(own.var(axis=0) + EPSILON)]
            rows.append(np.concatenate(parts))
        else:
            rows.append(np.zeros(4 * vectors.shape[1]))
    return np.array(rows, vectors.dtype).reshape(-1, 4 * vectors.shape[1])


def pna_rules_gradient(
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    value: NDArray[np.float32],
    vectors: NDArray[Any],
    features: NDArray[Any],
    upstream: NDArray[Any],
) -> NDArray[Any]:
    """Gradient [K, D] of sum(upstream [c, 4D] * features [c, 4D]) by the vectors; features of `pna_rules`."""
    gradient = np.zeros_like(vectors)
    for c in range(len(ptr) - 1):
        own = messages(c, ptr, rule, value, vectors)
        mean, least, most, deviation = features[c].reshape(4, -1)
        by_mean, by_least, by_most, by_deviation = upstream[c].reshape(4, -1)
        for i, message in zip(range(ptr[c], ptr[c + 1]), own, strict=True):
            by_message = by_mean / len(own) + by_deviation * (message - mean) / (len(own) * deviation)
            by_message = by_message + by_least * (message == least) + by_most * (message == most)
            gradient[rule[i]] += value[i] * by_message
    return gradient
