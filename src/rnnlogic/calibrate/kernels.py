"""Compiled kernels of the calibration; every public one has a plain twin in `reference.py`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.evaluation.kernels import is_among


@compiled
def are_among(
    ascending: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    values: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Whether each value [n] is in its part of an array, which ascends there."""
    found = np.zeros(len(values), np.bool_)
    for i in range(len(values)):
        found[i] = is_among(ascending, first[i], last[i], values[i])
    return found


@compiled
def new_among(
    ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    values: NDArray[np.float64],
    tails: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    hidden: NDArray[np.int32],
) -> tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]:
    """Of the answers of each question [q], those that its known answers, a part of `tails`, do not hold.

    A hidden answer is not known. Returns the positions [n] of new answers, the question of each, its
    share exp(value - largest), and for each question [q] the sum of all shares and that of new ones.
    """
    number = len(ptr) - 1
    position, place = np.empty(len(entity), np.int64), np.empty(len(entity), np.int64)
    share, total, total_of_new = np.empty(len(entity)), np.zeros(number), np.zeros(number)
    used = 0
    for q in range(number):
        largest = -np.inf
        for c in range(ptr[q], ptr[q + 1]):
            largest = max(largest, values[c])
        for c in range(ptr[q], ptr[q + 1]):
            own = math.exp(values[c] - largest)
            total[q] += own
            if entity[c] == hidden[q] or not is_among(tails, first[q], last[q], entity[c]):
                position[used], place[used], share[used] = c, q, own
                total_of_new[q] += own
                used += 1
    return position[:used].copy(), place[:used].copy(), share[:used].copy(), total, total_of_new


@compiled
def positions_of(
    ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    question: NDArray[np.int64],
    wanted: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Where the answer wanted[i] of question[i] is in entity[ptr[q] : ptr[q + 1]]; -1 if it is not there."""
    found = np.full(len(wanted), -1)
    for i in range(len(wanted)):
        for c in range(ptr[question[i]], ptr[question[i] + 1]):
            if entity[c] == wanted[i]:
                found[i] = c
                break
    return found
