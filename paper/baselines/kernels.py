"""Compiled passes over the walks of a relation's rules. Their twins in plain Python are in reference.py.

Queries, candidates and rules come as in `Candidates`: candidates of query q are query_ptr[q]:query_ptr[q+1],
results of candidate c are candidate_ptr[c]:candidate_ptr[c+1], with the rule and the number of walks of each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled
def adam_pass(
    query_ptr: Ints,
    candidate_ptr: Ints,
    rule: Ints,
    count: Ints,
    is_right: Flags,
    weights: Floats,
    rate: float,
    decay: float,
    temperature: float,
) -> None:
    """Pass once over the queries; every walk is a step of Adam on the weight of its rule, in place."""
    mean, square = np.zeros(len(weights)), np.zeros(len(weights))
    left1, left2 = np.ones(len(weights)), np.ones(len(weights))  # what is left of Adam's start at 0
    for q in range(len(query_ptr) - 1):
        begin, end = query_ptr[q], query_ptr[q + 1]
        if begin == end:
            continue
        p = np.zeros(end - begin)
        for c in range(begin, end):
            for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                p[c - begin] += weights[rule[i]] * count[i] / temperature
        p = np.exp(p - p.max())
        p /= p.sum()
        for c in range(begin, end):
            slope = ((1.0 if is_right[c] else 0.0) - p[c - begin]) / temperature
            for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                k = rule[i]
                for _ in range(count[i]):
                    gradient = slope - decay * weights[k]
                    mean[k] = 0.9 * mean[k] + 0.1 * gradient
                    square[k] = 0.999 * square[k] + 0.001 * gradient * gradient
                    left1[k] *= 0.9
                    left2[k] *= 0.999
                    scale = np.sqrt(square[k] / (1 - left2[k])) + 1e-8
                    weights[k] += rate * mean[k] / (1 - left1[k]) / scale


@compiled
def select(
    query_ptr: Ints,
    candidate_ptr: Ints,
    rule: Ints,
    count: Ints,
    is_answer: Flags,
    weights: Floats,
    entities: int,
) -> Floats:
    """What the queries select of each rule: a softmax of what rules say for the answer and against others."""
    selections = np.zeros(len(weights))
    for q in range(len(query_ptr) - 1):
        if query_ptr[q] == query_ptr[q + 1]:
            continue
        score, reaches = np.zeros(len(weights)), np.zeros(len(weights), np.bool_)
        for c in range(query_ptr[q], query_ptr[q + 1]):
            share = (1.0 if is_answer[c] else 0.0) - 1 / entities
            for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                reaches[rule[i]] = True
                score[rule[i]] += weights[rule[i]] * count[i] * share
        p = np.where(reaches, np.exp(score - score[reaches].max()), 0.0)
        selections += p / p.sum()
    return selections
