"""Compiled sums over the columns (rules) of a distillation problem; plain twins in `reference.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled


@compiled
def add_scores(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Add weights[i] * value of column columns[i] to the scores [candidates] that it reaches."""
    for i in range(len(columns)):
        weight = weights[i]
        if weight != 0.0:
            for n in range(column_ptr[columns[i]], column_ptr[columns[i] + 1]):
                scores[candidate[n]] += weight * value[n]


@compiled
def column_sums(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    upstream: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For each of some columns the sum of value * upstream [candidates] over what it reaches."""
    sums = np.zeros(len(columns))
    for i in range(len(columns)):
        total = 0.0
        for n in range(column_ptr[columns[i]], column_ptr[columns[i] + 1]):
            total += value[n] * upstream[candidate[n]]
        sums[i] = total
    return sums


@compiled
def cross_entropy(
    query_ptr: NDArray[np.int64],
    target: NDArray[np.float64],
    stands_for: NDArray[np.float64],
    scores: NDArray[np.float64],
    upstream: NDArray[np.float64],
) -> float:
    """Sum over queries of -sum target * log softmax(scores); upstream [candidates] gets its derivative.

    A candidate counts as stands_for [candidates] many in the softmax. The targets of a query sum to its
    weight, which may be 0.
    """
    loss = 0.0
    for q in range(len(query_ptr) - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        highest, weight = -np.inf, 0.0
        for c in range(first, last):
            highest = max(highest, scores[c])
            weight += target[c]
        total = 0.0
        for c in range(first, last):
            upstream[c] = stands_for[c] * np.exp(scores[c] - highest)
            total += upstream[c]
        shift = highest + np.log(total)
        for c in range(first, last):
            loss += target[c] * (shift - scores[c])
            upstream[c] = weight * upstream[c] / total - target[c]
    return loss


@compiled
def rank_queries(
    query_ptr: NDArray[np.int64],
    scores: NDArray[np.float64],
    is_reached: NDArray[np.bool_],
    is_known: NDArray[np.bool_],
    asked_query: NDArray[np.int64],
    asked_candidate: NDArray[np.int64],
    unknown: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Better and tied candidates of asked answers: answer a is candidate asked_candidate[a] (or -1: none).

    Known candidates [c] are filtered. unknown [a] is the number of entities that are not known answers, the
    asked one included; those that are not reached are tied behind all reached ones.
    """
    better = np.zeros(len(asked_query), np.int64)
    tied = np.zeros(len(asked_query), np.int64)
    for a in range(len(asked_query)):
        first, last = query_ptr[asked_query[a]], query_ptr[asked_query[a] + 1]
        own = asked_candidate[a]
        reached = 0
        for c in range(first, last):
            reached += is_reached[c] and not is_known[c]
        if own < 0 or not is_reached[own]:
            better[a], tied[a] = reached, unknown[a] - reached
            continue
        for c in range(first, last):
            if is_reached[c] and (c == own or not is_known[c]):
                better[a] += scores[c] > scores[own]
                tied[a] += scores[c] == scores[own]
    return better, tied


@compiled
def mark_reached(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    columns: NDArray[np.int64],
    size: int,
) -> NDArray[np.bool_]:
    """Which candidates [size] some of the columns reach."""
    is_reached = np.zeros(size, np.bool_)
    for column in columns:
        for n in range(column_ptr[column], column_ptr[column + 1]):
            is_reached[candidate[n]] = True
    return is_reached


@compiled
def by_column(
    candidate_ptr: NDArray[np.int64], rule: NDArray[np.int32], value: NDArray[np.float32], num_rules: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Results ordered by candidate [c+1], [n], [n] turned into results ordered by rule."""
    column_ptr = np.zeros(num_rules + 1, np.int64)
    for k in rule:
        column_ptr[k + 1] += 1
    column_ptr = np.cumsum(column_ptr)
    free = column_ptr[:-1].copy()
    candidate = np.empty(len(rule), np.int32)
    turned = np.empty(len(rule), np.float32)
    for c in range(len(candidate_ptr) - 1):
        for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
            place = free[rule[i]]
            candidate[place], turned[place] = c, value[i]
            free[rule[i]] = place + 1
    return column_ptr, candidate, turned


@compiled
def _mixed(number: int) -> np.uint64:
    """A number that looks random (the end of splitmix64)."""
    x = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def add_hashes(
    ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    count: NDArray[np.int64],
    key: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> None:
    """Add to hashes [rules], the same for rules with the same candidates and counts.

    The rules of candidate c are rule[ptr[c] : ptr[c + 1]], -1 for those not looked at; key [c]
    tells candidates apart.
    """
    for c in range(len(key)):
        mixed = _mixed(key[c])
        for i in range(ptr[c], ptr[c + 1]):
            if rule[i] >= 0:
                hashes[rule[i]] += mixed * (np.uint64(2) * np.uint64(count[i]) + np.uint64(1))


@compiled
def curvatures(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    query: NDArray[np.int32],
    probability: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Second derivative of the cross entropy in the direction of each column.

    query [c] is the query of a candidate, probability [c] the softmax times the query's weight [q].
    """
    result = np.zeros(len(columns))
    mean = np.zeros(len(weight))
    for i in range(len(columns)):
        first, last = column_ptr[columns[i]], column_ptr[columns[i] + 1]
        total = 0.0
        for n in range(first, last):
            mean[query[candidate[n]]] += probability[candidate[n]] * value[n]
            total += probability[candidate[n]] * value[n] * value[n]
        for n in range(first, last):
            q = query[candidate[n]]
            if mean[q] != 0.0:
                total -= mean[q] * mean[q] / weight[q]
                mean[q] = 0.0
        result[i] = total
    return result
