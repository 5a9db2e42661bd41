"""The kernels in plain Python: slow, short, and what the tests compare them with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def adam_pass(
    query_ptr: Sequence[int],
    candidate_ptr: Sequence[int],
    rule: Sequence[int],
    count: Sequence[int],
    is_right: Sequence[bool],
    weights: NDArray[np.float64],
    rate: float,
    decay: float,
    temperature: float,
) -> None:
    """Pass once over the queries; every walk is a step of Adam on the weight of its rule, in place."""
    state = {k: [0.0, 0.0, 0] for k in range(len(weights))}  # mean, square, steps
    for candidates in _by_query(query_ptr, candidate_ptr, rule, count):
        scores = [sum(weights[k] * n for k, n in results) / temperature for _, results in candidates]
        total = sum(math.exp(score) for score in scores)
        for (c, results), score in zip(candidates, scores, strict=True):
            slope = (float(is_right[c]) - math.exp(score) / total) / temperature
            for k in [k for k, n in results for _ in range(n)]:
                gradient = slope - decay * weights[k]
                mean, square, steps = state[k]
                mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
                state[k] = [mean, square, steps + 1]
                scale = math.sqrt(square / (1 - 0.999 ** (steps + 1))) + 1e-8
                weights[k] += rate * mean / (1 - 0.9 ** (steps + 1)) / scale


def select(
    query_ptr: Sequence[int],
    candidate_ptr: Sequence[int],
    rule: Sequence[int],
    count: Sequence[int],
    is_answer: Sequence[bool],
    weights: NDArray[np.float64],
    entities: int,
) -> NDArray[np.float64]:
    """What the queries select of each rule: a softmax of what rules say for the answer and against others."""
    selections = np.zeros(len(weights))
    for candidates in _by_query(query_ptr, candidate_ptr, rule, count):
        scores: dict[int, float] = {}
        for c, results in candidates:
            for k, n in results:
                scores[k] = scores.get(k, 0.0) + weights[k] * n * (float(is_answer[c]) - 1 / entities)
        total = sum(math.exp(score) for score in scores.values())
        for k, score in scores.items():
            selections[k] += math.exp(score) / total
    return selections


def _by_query(
    query_ptr: Sequence[int], candidate_ptr: Sequence[int], rule: Sequence[int], count: Sequence[int]
) -> Iterator[list[tuple[int, list[tuple[Any, Any]]]]]:
    """The candidates of each query, each with its (rule, walks)."""
    for begin, end in pairwise(query_ptr):
        yield [
            (c, list(zip(rule[low:high], count[low:high], strict=True)))
            for c, low, high in ((c, candidate_ptr[c], candidate_ptr[c + 1]) for c in range(begin, end))
        ]
