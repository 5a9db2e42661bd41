"""Plain-Python twins of the kernels: same signatures, same results, written to be read."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def reached_by(
    column: int, column_ptr: NDArray[np.int64], candidate: NDArray[np.int32], value: NDArray[np.float32]
) -> list[tuple[int, float]]:
    """(candidate, feature) pairs of one column."""
    own = slice(column_ptr[column], column_ptr[column + 1])
    return list(zip(candidate[own].tolist(), value[own].tolist(), strict=True))


def add_scores(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    weights: Floats,
    scores: Floats,
) -> None:
    """Add weights[i] * value of column columns[i] to the scores [candidates] that it reaches."""
    for column, weight in zip(columns.tolist(), weights.tolist(), strict=True):
        for c, feature in reached_by(column, column_ptr, candidate, value):
            scores[c] += weight * feature


def column_sums(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    upstream: Floats,
) -> Floats:
    """For each of some columns the sum of value * upstream [candidates] over what it reaches."""
    return np.array(
        [
            sum(feature * upstream[c] for c, feature in reached_by(column, column_ptr, candidate, value))
            for column in columns.tolist()
        ],
        np.float64,
    )


def cross_entropy(
    query_ptr: NDArray[np.int64], target: Floats, stands_for: Floats, scores: Floats, upstream: Floats
) -> float:
    """Sum over queries of -sum target * log softmax(scores); upstream [candidates] gets its derivative."""
    loss = 0.0
    for first, last in pairwise(query_ptr.tolist()):
        odds = [stands_for[c] * math.exp(scores[c]) for c in range(first, last)]
        weight = sum(target[first:last])
        for c, odd in zip(range(first, last), odds, strict=True):
            loss -= target[c] * math.log(odd / stands_for[c] / sum(odds))
            upstream[c] = weight * odd / sum(odds) - target[c]
    return loss


def rank_queries(
    query_ptr: NDArray[np.int64],
    scores: Floats,
    is_reached: NDArray[np.bool_],
    is_known: NDArray[np.bool_],
    asked_query: NDArray[np.int64],
    asked_candidate: NDArray[np.int64],
    unknown: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Better and tied candidates of asked answers, filtered; the unreached are tied behind the reached."""
    better, tied = [], []
    for query, own, number in zip(
        asked_query.tolist(), asked_candidate.tolist(), unknown.tolist(), strict=True
    ):
        others = [
            c for c in range(query_ptr[query], query_ptr[query + 1]) if is_reached[c] and not is_known[c]
        ]
        if own < 0 or not is_reached[own]:
            better.append(len(others))
            tied.append(number - len(others))
        else:
            rivals = [scores[c] for c in others if c != own]
            better.append(sum(score > scores[own] for score in rivals))
            tied.append(1 + sum(score == scores[own] for score in rivals))
    return np.array(better, np.int64), np.array(tied, np.int64)


def mark_reached(
    column_ptr: NDArray[np.int64], candidate: NDArray[np.int32], columns: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Which candidates [size] some of the columns reach."""
    found = {c for column in columns for c in candidate[column_ptr[column] : column_ptr[column + 1]].tolist()}
    return np.array([c in found for c in range(size)], np.bool_)


def by_column(
    candidate_ptr: NDArray[np.int64], rule: NDArray[np.int32], value: NDArray[np.float32], num_rules: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Results ordered by candidate [c+1], [n], [n] turned into results ordered by rule."""
    columns: list[list[tuple[int, float]]] = [[] for _ in range(num_rules)]
    for c in range(len(candidate_ptr) - 1):
        for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
            columns[rule[i]].append((c, value[i]))
    entries = [entry for column in columns for entry in column]
    ptr = np.append(0, np.cumsum([len(column) for column in columns])).astype(np.int64)
    return ptr, np.array([c for c, _ in entries], np.int32), np.array([x for _, x in entries], np.float32)


def _mixed(number: int) -> int:
    whole = (1 << 64) - 1
    x = (number * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & whole
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & whole
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & whole
    return x ^ (x >> 31)


def add_hashes(
    ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    count: NDArray[np.int64],
    key: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> None:
    """Add to hashes [rules], the same for rules with the same candidates and counts."""
    for c in range(len(key)):
        for i in range(ptr[c], ptr[c + 1]):
            if rule[i] >= 0:
                total = int(hashes[rule[i]]) + _mixed(int(key[c])) * (2 * int(count[i]) + 1)
                hashes[rule[i]] = total % (1 << 64)


def curvatures(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    query: NDArray[np.int32],
    probability: Floats,
    weight: Floats,
) -> Floats:
    """Second derivative of the cross entropy by each column's weight: the summed variance of its feature."""
    result = []
    for column in columns.tolist():
        entries = reached_by(column, column_ptr, candidate, value)
        total = sum(probability[c] * x * x for c, x in entries)
        for q in {int(query[c]) for c, _ in entries}:
            mean = sum(probability[c] * x for c, x in entries if query[c] == q)
            total -= mean * mean / weight[q] if mean else 0.0
        result.append(total)
    return np.array(result, np.float64)
