"""Compiled sums over the columns (rules) of a problem, and its minimum; plain twins in `reference.py`.

Inner loops have unsigned places: signed ones are each checked for being counted from the end of an array.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.fit.compact.types import Columns, Imitation, Terms


@compiled
def _entries(columns: Columns, column: int) -> range:
    """The places of what one column reaches."""
    return range(np.uint64(columns.ptr[column]), np.uint64(columns.ptr[column + 1]))


@compiled
def add_scores(
    columns: Columns,
    active: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Add weights[i] * value of column active[i] to the scores [candidates] that it reaches."""
    for i in range(len(active)):
        weight = weights[i]
        if weight != 0.0:
            for n in _entries(columns, active[i]):
                scores[np.uint32(columns.candidate[n])] += weight * columns.value[n]


@compiled
def column_sums(
    columns: Columns,
    active: NDArray[np.int64],
    upstream: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For each of some columns the sum of value * upstream [candidates] over what it reaches."""
    sums = np.zeros(len(active))
    for i in range(len(active)):
        total = 0.0
        for n in _entries(columns, active[i]):
            total += columns.value[n] * upstream[np.uint32(columns.candidate[n])]
        sums[i] = total
    return sums


@compiled
def _exp(x: float) -> float:
    """The exponential of a number <= 0, to nine digits where it counts: arithmetic for vector units."""
    z = max(x, -300.0) / 1024
    y = 1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5))))
    for _ in range(10):
        y *= y
    return y


@compiled
def cross_entropy(
    query_ptr: NDArray[np.int64],
    target: NDArray[np.float64],
    multiplicity: NDArray[np.float64],
    scores: NDArray[np.float64],
    upstream: NDArray[np.float64],
) -> float:
    """Sum over queries of -sum target * log softmax(scores); upstream [candidates] gets its derivative.

    A candidate counts as multiplicity [candidates] many in the softmax. The targets of a query sum to its
    weight, which may be 0.
    """
    loss = 0.0
    for q in range(len(query_ptr) - 1):
        first, last = np.uint64(query_ptr[q]), np.uint64(query_ptr[q + 1])
        highest, weight = -np.inf, 0.0
        for c in range(first, last):
            highest = max(highest, scores[c])
            weight += target[c]
        for c in range(first, last):
            upstream[c] = multiplicity[c] * _exp(scores[c] - highest)
        total = 0.0
        for c in range(first, last):
            total += upstream[c]
        shift = highest + np.log(total)
        for c in range(first, last):
            loss += target[c] * (shift - scores[c])
            upstream[c] = weight * upstream[c] / total - target[c]
    return loss


@compiled
def curvatures(
    columns: Columns,
    active: NDArray[np.int64],
    query: NDArray[np.int32],
    probability: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Second derivative of the cross entropy in the direction of each column.

    query [c] is the query of a candidate, probability [c] the softmax times the query's weight [q].
    """
    result, candidate, value = np.zeros(len(active)), columns.candidate, columns.value
    mean = np.zeros(len(weight))
    for i in range(len(active)):
        total = 0.0
        for n in _entries(columns, active[i]):
            c = np.uint32(candidate[n])
            mean[np.uint32(query[c])] += probability[c] * value[n]
            total += probability[c] * value[n] * value[n]
        for n in _entries(columns, active[i]):
            q = np.uint32(query[np.uint32(candidate[n])])
            if mean[q] != 0.0:
                total -= mean[q] * mean[q] / weight[q]
                mean[q] = 0.0
        result[i] = total
    return result


@compiled
def restricted(problem: Imitation, active: NDArray[np.int64], is_merged: bool) -> Imitation:
    """The problem with some of the columns only, in the order given.

    With `is_merged`, the candidates of a query that no column reaches become one that stands for all of them;
    they must have the same rest.
    """
    query_ptr, target, multiplicity, rest, columns = problem
    column_ptr, candidate, value = columns
    place = np.zeros(len(target), np.int32)
    for column in active:
        for n in _entries(columns, column):
            place[np.uint32(candidate[n])] = 1
    new_ptr = np.zeros_like(query_ptr)
    new_target, many, new_rest = np.empty_like(target), np.empty_like(target), np.empty_like(target)
    used = 0
    for q in range(len(query_ptr) - 1):
        others = -1
        for c in range(query_ptr[q], query_ptr[q + 1]):
            if is_merged and place[c] == 0 and others >= 0:
                new_target[others] += target[c]
                many[others] += multiplicity[c]
                continue
            if place[c] == 0:
                others = used
            new_target[used], many[used], new_rest[used] = target[c], multiplicity[c], rest[c]
            place[c] = used
            used += 1
        new_ptr[q + 1] = used
    new_column_ptr = np.zeros(len(active) + 1, np.int64)
    for i in range(len(active)):
        new_column_ptr[i + 1] = new_column_ptr[i] + column_ptr[active[i] + 1] - column_ptr[active[i]]
    new_candidate = np.empty(new_column_ptr[-1], np.int32)
    new_value = np.empty(new_column_ptr[-1], np.float32)
    end = np.uint64(0)
    for column in active:
        for n in _entries(columns, column):
            new_candidate[end], new_value[end] = place[np.uint32(candidate[n])], value[n]
            end += np.uint64(1)
    new_columns = Columns(new_column_ptr, new_candidate, new_value)
    return Imitation(new_ptr, new_target[:used], many[:used], new_rest[:used], new_columns)


@compiled
def _value_and_slope(
    problem: Imitation,
    weights: NDArray[np.float64],
    weight_decay: float,
    scores: NDArray[np.float64],
    upstream: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> float:
    """Cross entropy and L2 penalty; slope [k] gets the derivative, scores and upstream [c] are used."""
    candidate, value = problem.columns.candidate, problem.columns.value
    scores[:] = problem.rest
    for i in range(len(weights)):
        weight = weights[i]
        if weight != 0.0:
            for n in _entries(problem.columns, i):
                scores[np.uint32(candidate[n])] += weight * value[n]
    loss = cross_entropy(problem.query_ptr, problem.target, problem.multiplicity, scores, upstream)
    for i in range(len(weights)):
        total = 0.0
        for n in _entries(problem.columns, i):
            total += value[n] * upstream[np.uint32(candidate[n])]
        slope[i] = total + weight_decay * weights[i]
        loss += weight_decay / 2 * weights[i] * weights[i]
    return loss


@compiled
def _steepest(weight: float, slope: float, penalty: float, sign: int) -> float:
    """The derivative with the penalty, towards the side to which the loss falls; 0 at a minimum.

    A weight with a sign (1, -1) does not leave zero towards the other side; with 0 it may go either way.
    """
    if weight > 0.0:
        return slope + penalty
    if weight < 0.0:
        return slope - penalty
    if slope + penalty < 0.0 and sign >= 0:
        return slope + penalty
    if slope - penalty > 0.0 and sign <= 0:
        return slope - penalty
    return 0.0


@compiled
def _direct(
    pseudo: NDArray[np.float64],
    moved: NDArray[np.float64],
    turned: NDArray[np.float64],
    inverse: NDArray[np.float64],
    kept: int,
    scale: NDArray[np.float64],
    direction: NDArray[np.float64],
) -> float:
    """Where L-BFGS goes, downhill only; returns how fast the loss falls there (negative).

    Steps [memory, k] and how they turned the slope are kept in turn; `inverse` [memory] is 1 / their product.
    """
    memory, factor = len(inverse), 1.0
    share = np.zeros(memory)
    direction[:] = -pseudo
    for back in range(min(kept, memory)):
        m = (kept - 1 - back) % memory
        share[m] = inverse[m] * np.sum(moved[m] * direction)
        direction -= share[m] * turned[m]
    if kept > 0:
        m = (kept - 1) % memory
        factor = 1.0 / (inverse[m] * np.sum(turned[m] * turned[m] * scale))
    direction *= scale * factor
    for forth in range(max(kept - memory, 0), kept):
        m = forth % memory
        direction += (share[m] - inverse[m] * np.sum(turned[m] * direction)) * moved[m]
    falls = 0.0
    for i in range(len(pseudo)):
        if direction[i] * pseudo[i] >= 0.0:
            direction[i] = 0.0
        falls += direction[i] * pseudo[i]
    return falls


@compiled
def _go(
    weights: NDArray[np.float64],
    pseudo: NDArray[np.float64],
    direction: NDArray[np.float64],
    length: float,
    other: NDArray[np.float64],
) -> float:
    """Weights [k] after a step, in which none crosses zero; returns how much loss the slope promises."""
    promised = 0.0
    for i in range(len(weights)):
        side = weights[i] if weights[i] != 0.0 else -pseudo[i]
        other[i] = weights[i] + length * direction[i]
        if other[i] * side <= 0.0:
            other[i] = 0.0
        promised += pseudo[i] * (other[i] - weights[i])
    return promised


@compiled
def minimised(
    problem: Imitation, start: NDArray[np.float64], terms: Terms, steps: int, tolerance: float
) -> tuple[NDArray[np.float64], int]:
    """Weights [k] of all columns with the least loss + penalty * |weight| + L2, and the passes it took.

    L-BFGS that never crosses zero within a step (OWL-QN). It ends after so many passes, or when the loss
    changes by less than the tolerance.
    """
    size, memory = len(start), 10
    penalty, scale, signs, weight_decay = terms
    weights, slope, direction = start.copy(), np.empty(size), np.empty(size)
    other, other_slope, pseudo = np.empty(size), np.empty(size), np.empty(size)
    moved, turned, inverse = np.zeros((memory, size)), np.zeros((memory, size)), np.zeros(memory)
    room = np.empty(len(problem.target)), np.empty(len(problem.target))
    for i in range(size):
        if weights[i] * signs[i] < 0.0:
            weights[i] = 0.0
    loss = _value_and_slope(problem, weights, weight_decay, *room, slope)
    loss += float(np.sum(penalty * np.abs(weights)))
    passes, kept = 1, 0
    while passes < steps:
        for i in range(size):
            pseudo[i] = _steepest(weights[i], slope[i], penalty[i], signs[i])
        falls = _direct(pseudo, moved, turned, inverse, kept, scale, direction)
        if falls >= 0.0:
            break
        length, found, more = 1.0, False, loss
        while passes < steps and not found:
            promised = _go(weights, pseudo, direction, length, other)
            more = _value_and_slope(problem, other, weight_decay, *room, other_slope)
            more += float(np.sum(penalty * np.abs(other)))
            passes += 1
            found = more <= loss + 1e-4 * promised
            if not found:
                best = -falls * length / max(2 * ((more - loss) / length - falls), 1e-300)
                length = min(max(best, 0.1 * length), 0.5 * length)
        if not found:
            break
        m = kept % memory
        moved[m], turned[m] = other - weights, other_slope - slope
        bent = float(np.sum(moved[m] * turned[m]))
        if bent > 0.0:
            inverse[m] = 1.0 / bent
            kept += 1
        weights[:], slope[:] = other, other_slope
        gain, loss = loss - more, more
        if gain <= tolerance * max(abs(loss), 1.0):
            break
    return weights, passes
