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
def _exp(x: float) -> float:
    """The exponential of a number <= 0, to nine digits where it counts, by arithmetic that uses vector units."""
    z = max(x, -300.0) / 1024
    y = 1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5))))
    for _ in range(10):
        y *= y
    return y


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
        for c in range(first, last):
            upstream[c] = stands_for[c] * _exp(scores[c] - highest)
        total = 0.0
        for c in range(first, last):
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


@compiled
def restricted(
    query_ptr: NDArray[np.int64],
    target: NDArray[np.float64],
    stands_for: NDArray[np.float64],
    rest: NDArray[np.float64],
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    is_merged: bool,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float32],
]:
    """The problem with some of the columns only, in the order given.

    With `is_merged`, the candidates of a query that no column reaches become one that stands for all of them;
    they must have the same rest.
    """
    place = np.zeros(len(target), np.int32)
    for column in columns:
        for n in range(column_ptr[column], column_ptr[column + 1]):
            place[candidate[n]] = 1
    new_ptr = np.zeros_like(query_ptr)
    new_target, many, new_rest = np.empty_like(target), np.empty_like(target), np.empty_like(target)
    used = 0
    for q in range(len(query_ptr) - 1):
        others = -1
        for c in range(query_ptr[q], query_ptr[q + 1]):
            if is_merged and place[c] == 0 and others >= 0:
                new_target[others] += target[c]
                many[others] += stands_for[c]
                continue
            if place[c] == 0:
                others = used
            new_target[used], many[used], new_rest[used] = target[c], stands_for[c], rest[c]
            place[c] = used
            used += 1
        new_ptr[q + 1] = used
    new_columns = np.zeros(len(columns) + 1, np.int64)
    for i in range(len(columns)):
        new_columns[i + 1] = new_columns[i] + column_ptr[columns[i] + 1] - column_ptr[columns[i]]
    new_candidate = np.empty(new_columns[-1], np.int32)
    new_value = np.empty(new_columns[-1], np.float32)
    end = 0
    for column in columns:
        for n in range(column_ptr[column], column_ptr[column + 1]):
            new_candidate[end], new_value[end] = place[candidate[n]], value[n]
            end += 1
    return new_ptr, new_target[:used], many[:used], new_rest[:used], new_columns, new_candidate, new_value


@compiled
def _value_and_slope(
    query_ptr: NDArray[np.int64],
    target: NDArray[np.float64],
    stands_for: NDArray[np.float64],
    rest: NDArray[np.float64],
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    weights: NDArray[np.float64],
    weight_decay: float,
    scores: NDArray[np.float64],
    upstream: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> float:
    """Cross entropy and L2 penalty; slope [k] gets the derivative, scores and upstream [c] are room to work."""
    scores[:] = rest
    for i in range(len(weights)):
        weight = weights[i]
        if weight != 0.0:
            for n in range(column_ptr[i], column_ptr[i + 1]):
                scores[candidate[n]] += weight * value[n]
    loss = cross_entropy(query_ptr, target, stands_for, scores, upstream)
    for i in range(len(weights)):
        total = 0.0
        for n in range(column_ptr[i], column_ptr[i + 1]):
            total += value[n] * upstream[candidate[n]]
        slope[i] = total + weight_decay * weights[i]
        loss += weight_decay / 2 * weights[i] * weights[i]
    return loss


@compiled
def _steepest(weight: float, slope: float, penalty: float, nonnegative: bool) -> float:
    """The derivative that counts, with the penalty, towards the side to which the loss falls; 0 at a minimum."""
    if weight > 0.0:
        return slope + penalty
    if weight < 0.0:
        return slope - penalty
    if slope + penalty < 0.0:
        return slope + penalty
    if slope - penalty > 0.0 and not nonnegative:
        return slope - penalty
    return 0.0


@compiled
def minimised(
    query_ptr: NDArray[np.int64],
    target: NDArray[np.float64],
    stands_for: NDArray[np.float64],
    rest: NDArray[np.float64],
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    start: NDArray[np.float64],
    penalty: NDArray[np.float64],
    scale: NDArray[np.float64],
    weight_decay: float,
    nonnegative: bool,
    steps: int,
    tolerance: float,
) -> tuple[NDArray[np.float64], int]:
    """Weights [k] of all columns with the least loss + penalty * |weight| + L2, and the passes it took.

    L-BFGS that never crosses zero within a step (OWL-QN). scale [k] is about the inverse of each second
    derivative. It ends after so many passes, or when the loss changes by less than the tolerance.
    """
    size, memory = len(start), 10
    weights, slope, direction = start.copy(), np.empty(size), np.empty(size)
    other, other_slope, pseudo = np.empty(size), np.empty(size), np.empty(size)
    moved, turned = np.zeros((memory, size)), np.zeros((memory, size))
    inverse, share = np.zeros(memory), np.zeros(memory)
    scores, upstream = np.empty(len(target)), np.empty(len(target))
    if nonnegative:
        weights = np.maximum(weights, 0.0)
    loss = _value_and_slope(
        query_ptr, target, stands_for, rest, column_ptr, candidate, value, weights, weight_decay,
        scores, upstream, slope,
    )  # fmt: skip
    for i in range(size):
        loss += penalty[i] * abs(weights[i])
    passes, kept = 1, 0
    while passes < steps:
        for i in range(size):
            pseudo[i] = _steepest(weights[i], slope[i], penalty[i], nonnegative)
            direction[i] = -pseudo[i]
        for back in range(min(kept, memory)):
            m = (kept - 1 - back) % memory
            share[m] = inverse[m] * np.sum(moved[m] * direction)
            direction -= share[m] * turned[m]
        factor = 1.0
        if kept > 0:
            m = (kept - 1) % memory
            factor = 1.0 / (inverse[m] * np.sum(turned[m] * turned[m] * scale))
        direction *= scale * factor
        for forth in range(max(kept - memory, 0), kept):
            m = forth % memory
            direction += (share[m] - inverse[m] * np.sum(turned[m] * direction)) * moved[m]
        falls = 0.0
        for i in range(size):
            if direction[i] * pseudo[i] >= 0.0:
                direction[i] = 0.0
            falls += direction[i] * pseudo[i]
        if falls >= 0.0:
            break
        length, found = 1.0, False
        while passes < steps and not found:
            slid, more = 0.0, 0.0
            for i in range(size):
                side = weights[i] if weights[i] != 0.0 else -pseudo[i]
                other[i] = weights[i] + length * direction[i]
                if other[i] * side <= 0.0:
                    other[i] = 0.0
                slid += pseudo[i] * (other[i] - weights[i])
                more += penalty[i] * abs(other[i])
            more += _value_and_slope(
                query_ptr, target, stands_for, rest, column_ptr, candidate, value, other, weight_decay,
                scores, upstream, other_slope,
            )  # fmt: skip
            passes += 1
            found = more <= loss + 1e-4 * slid
            if not found:
                best = -falls * length / max(2 * ((more - loss) / length - falls), 1e-300)
                length = min(max(best, 0.1 * length), 0.5 * length)
        if not found:
            break
        m, bent = kept % memory, 0.0
        for i in range(size):
            moved[m, i] = other[i] - weights[i]
            turned[m, i] = other_slope[i] - slope[i]
            bent += moved[m, i] * turned[m, i]
        if bent > 0.0:
            inverse[m] = 1.0 / bent
            kept += 1
        weights[:], slope[:] = other, other_slope
        gain, loss = loss - more, more
        if gain <= tolerance * max(abs(loss), 1.0):
            break
    return weights, passes
