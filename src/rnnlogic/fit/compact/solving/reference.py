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
    query_ptr: NDArray[np.int64], target: Floats, multiplicity: Floats, scores: Floats, upstream: Floats
) -> float:
    """Sum over queries of -sum target * log softmax(scores); upstream [candidates] gets its derivative."""
    loss = 0.0
    for first, last in pairwise(query_ptr.tolist()):
        odds = [multiplicity[c] * math.exp(scores[c]) for c in range(first, last)]
        weight = sum(target[first:last])
        for c, odd in zip(range(first, last), odds, strict=True):
            loss -= target[c] * math.log(odd / multiplicity[c] / sum(odds))
            upstream[c] = weight * odd / sum(odds) - target[c]
    return loss


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


def restricted(
    query_ptr: NDArray[np.int64],
    target: Floats,
    multiplicity: Floats,
    rest: Floats,
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    columns: NDArray[np.int64],
    is_merged: bool,
) -> tuple[
    NDArray[np.int64], Floats, Floats, Floats, NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]
]:
    """The problem with some of the columns only; what none of them reaches becomes one candidate."""
    entries = [reached_by(column, column_ptr, candidate, value) for column in columns.tolist()]
    reached = {c for column in entries for c, _ in column}
    groups: list[list[int]] = []  # of each new candidate the old ones
    new_ptr = [0]
    for first, last in pairwise(query_ptr.tolist()):
        others: list[int] = []
        for c in range(first, last):
            if c in reached or not is_merged:
                groups.append([c])
            elif others:
                others.append(c)
            else:
                others = [c]
                groups.append(others)
        new_ptr.append(len(groups))
    place = {c: i for i, group in enumerate(groups) for c in group}
    return (
        np.array(new_ptr, np.int64),
        np.array([target[group].sum() for group in groups], np.float64),
        np.array([multiplicity[group].sum() for group in groups], np.float64),
        np.array([rest[group[0]] for group in groups], np.float64),
        np.append(0, np.cumsum([len(column) for column in entries])).astype(np.int64),
        np.array([place[c] for column in entries for c, _ in column], np.int32),
        np.array([x for column in entries for _, x in column], np.float32),
    )


class _Loss:
    """The loss of a problem with all its columns, and how often it was asked for."""

    def __init__(
        self,
        query_ptr: NDArray[np.int64],
        target: Floats,
        multiplicity: Floats,
        rest: Floats,
        columns: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]],
        penalty: Floats,
        weight_decay: float,
    ) -> None:
        self.told, self.rest, self.columns = (query_ptr, target, multiplicity), rest, columns
        self.penalty, self.weight_decay, self.passes = penalty, weight_decay, 0

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The loss with all penalties, and its derivative without that of the L1 penalty."""
        self.passes += 1
        scores, upstream = self.rest.copy(), np.empty(len(self.rest))
        active = np.arange(len(weights))
        add_scores(*self.columns, active, weights, scores)
        loss = cross_entropy(*self.told, scores, upstream)
        slope = column_sums(*self.columns, active, upstream) + self.weight_decay * weights
        decay = self.weight_decay / 2 * float(weights @ weights)
        return loss + decay + float(self.penalty @ np.abs(weights)), slope


def _steepest(weight: float, slope: float, penalty: float, sign: int) -> float:
    """The derivative towards the side to which the loss falls; 0 at a minimum."""
    if weight != 0:
        return slope + math.copysign(penalty, weight)
    if slope < -penalty and sign >= 0:
        return slope + penalty
    return slope - penalty if slope > penalty and sign <= 0 else 0.0


def _direction(pseudo: Floats, memory: list[tuple[Floats, Floats]], scale: Floats) -> Floats:
    """Where L-BFGS goes: minus the inverse second derivatives, as the last steps tell them, times slope."""
    direction, shares = -pseudo, []
    for moved, turned in reversed(memory):
        shares.append(float(moved @ direction) / float(moved @ turned))
        direction = direction - shares[-1] * turned
    factor = 1.0
    if memory:
        moved, turned = memory[-1]
        factor = float(moved @ turned) / float(turned @ (scale * turned))
    direction = direction * scale * factor
    for (moved, turned), share in zip(memory, reversed(shares), strict=True):
        direction = direction + (share - float(turned @ direction) / float(moved @ turned)) * moved
    return np.where(direction * pseudo < 0, direction, 0.0)  # only downhill


def minimised(
    query_ptr: NDArray[np.int64],
    target: Floats,
    multiplicity: Floats,
    rest: Floats,
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    value: NDArray[np.float32],
    start: Floats,
    penalty: Floats,
    scale: Floats,
    signs: NDArray[np.int8],
    weight_decay: float,
    steps: int,
    tolerance: float,
) -> tuple[Floats, int]:
    """Weights [k] of all columns with the least loss + penalty * |weight| + L2, and the passes it took."""
    columns = (column_ptr, candidate, value)
    loss_of = _Loss(query_ptr, target, multiplicity, rest, columns, penalty, weight_decay)
    weights = np.where(start * signs < 0, 0.0, start)
    memory: list[tuple[Floats, Floats]] = []
    loss, slope = loss_of(weights)
    while loss_of.passes < steps:
        told = zip(weights, slope, penalty, signs, strict=True)
        pseudo = np.array([_steepest(w, s, p, sign) for w, s, p, sign in told])
        direction = _direction(pseudo, memory, scale)
        falls = float(direction @ pseudo)
        if falls >= 0:
            break
        side = np.where(weights != 0, weights, -pseudo)
        length, found = 1.0, False
        while loss_of.passes < steps and not found:
            other = weights + length * direction
            other[other * side <= 0] = 0.0  # no step crosses zero
            more, other_slope = loss_of(other)
            found = more <= loss + 1e-4 * float(pseudo @ (other - weights))
            if not found:
                best = -falls * length / max(2 * ((more - loss) / length - falls), 1e-300)
                length = min(max(best, 0.1 * length), 0.5 * length)
        if not found:
            break
        step = other - weights, other_slope - slope
        if step[0] @ step[1] > 0:
            memory = [*memory[-9:], step]
        gain, weights, slope, loss = loss - more, other, other_slope, more
        if gain <= tolerance * max(abs(loss), 1.0):
            break
    return weights, loss_of.passes
