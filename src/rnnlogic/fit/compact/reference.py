"""Plain-Python twins of the kernels: same signatures, same results, written to be read."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rnnlogic.fit.compact.types import Columns, Floats, Imitation, Terms


def reached_by(columns: Columns, column: int) -> list[tuple[int, float]]:
    """(candidate, feature) pairs of one column."""
    own = slice(columns.ptr[column], columns.ptr[column + 1])
    return list(zip(columns.candidate[own].tolist(), columns.value[own].tolist(), strict=True))


def add_scores(
    columns: Columns,
    active: NDArray[np.int64],
    weights: Floats,
    scores: Floats,
) -> None:
    """Add weights[i] * value of column active[i] to the scores [candidates] that it reaches."""
    for column, weight in zip(active.tolist(), weights.tolist(), strict=True):
        for c, feature in reached_by(columns, column):
            scores[c] += weight * feature


def column_sums(
    columns: Columns,
    active: NDArray[np.int64],
    upstream: Floats,
) -> Floats:
    """For each of some columns the sum of value * upstream [candidates] over what it reaches."""
    return np.array(
        [
            sum(feature * upstream[c] for c, feature in reached_by(columns, column))
            for column in active.tolist()
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
    columns: Columns,
    active: NDArray[np.int64],
    query: NDArray[np.int32],
    probability: Floats,
    weight: Floats,
) -> Floats:
    """Second derivative of the cross entropy by each column's weight: the summed variance of its feature."""
    result = []
    for column in active.tolist():
        entries = reached_by(columns, column)
        total = sum(probability[c] * x * x for c, x in entries)
        for q in {int(query[c]) for c, _ in entries}:
            mean = sum(probability[c] * x for c, x in entries if query[c] == q)
            total -= mean * mean / weight[q] if mean else 0.0
        result.append(total)
    return np.array(result, np.float64)


def restricted(problem: Imitation, active: NDArray[np.int64], is_merged: bool) -> Imitation:
    """The problem with some of the columns only; what none of them reaches becomes one candidate."""
    query_ptr, target, multiplicity, rest, columns = problem
    entries = [reached_by(columns, column) for column in active.tolist()]
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
    new_columns = Columns(
        np.append(0, np.cumsum([len(column) for column in entries])).astype(np.int64),
        np.array([place[c] for column in entries for c, _ in column], np.int32),
        np.array([x for column in entries for _, x in column], np.float32),
    )
    return Imitation(
        np.array(new_ptr, np.int64),
        np.array([target[group].sum() for group in groups], np.float64),
        np.array([multiplicity[group].sum() for group in groups], np.float64),
        np.array([rest[group[0]] for group in groups], np.float64),
        new_columns,
    )


class _Loss:
    """The loss of a problem with all its columns, and how often it was asked for."""

    def __init__(self, problem: Imitation, terms: Terms) -> None:
        self.problem, self.terms, self.passes = problem, terms, 0

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The loss with all penalties, and its derivative without that of the L1 penalty."""
        self.passes += 1
        query_ptr, target, multiplicity, rest, columns = self.problem
        scores, upstream = rest.copy(), np.empty(len(rest))
        active, weight_decay = np.arange(len(weights)), self.terms.weight_decay
        add_scores(columns, active, weights, scores)
        loss = cross_entropy(query_ptr, target, multiplicity, scores, upstream)
        slope = column_sums(columns, active, upstream) + weight_decay * weights
        decay = weight_decay / 2 * float(weights @ weights)
        return loss + decay + float(self.terms.penalty @ np.abs(weights)), slope


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
    problem: Imitation, start: Floats, terms: Terms, steps: int, tolerance: float
) -> tuple[Floats, int]:
    """Weights [k] of all columns with the least loss + penalty * |weight| + L2, and the passes it took."""
    loss_of, (penalty, scale, signs, _) = _Loss(problem, terms), terms
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
