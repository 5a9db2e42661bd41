"""Compiled kernels: ranks of answers among the entities that rules reach; twins are in `reference.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled


@compiled
def is_among(ascending: NDArray[np.int32], first: int, last: int, value: int) -> bool:
    """Whether a value is in a part of an array, which ascends there."""
    end = last
    while first < last:
        middle = (first + last) >> 1
        if ascending[middle] < value:
            first = middle + 1
        else:
            last = middle
    return bool(first < end and ascending[first] == value)


@compiled
def rank_candidates(
    ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    values: NDArray[np.float64],
    question: NDArray[np.int64],
    answers: NDArray[np.int32],
    known_ptr: NDArray[np.int64],
    known: NDArray[np.int32],
    num_entities: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Better, tied and all candidates of each answer [n], as `Ranks` has them.

    Answer i belongs to question[i], which reaches entity[ptr[q] : ptr[q + 1]] with their values. Of its known
    answers, ascending in known[known_ptr[i] : known_ptr[i + 1]], all but the answer itself are left out.
    Entities that are not reached have the score -inf.
    """
    better, tied = np.zeros(len(answers), np.int64), np.zeros(len(answers), np.int64)
    candidates = np.zeros(len(answers), np.int64)
    for i in range(len(answers)):
        first, last = ptr[question[i]], ptr[question[i] + 1]
        score = -np.inf
        for c in range(first, last):
            if entity[c] == answers[i]:
                score = values[c]
        others = known_ptr[i + 1] - known_ptr[i]
        others -= is_among(known, known_ptr[i], known_ptr[i + 1], answers[i])
        reached_others = 0
        for c in range(first, last):
            if values[c] < score:
                continue
            if entity[c] != answers[i] and is_among(known, known_ptr[i], known_ptr[i + 1], entity[c]):
                reached_others += 1
            else:
                better[i] += values[c] > score
                tied[i] += values[c] == score
        if score == -np.inf:  # all that is reached was looked at; the rest ties
            tied[i] += num_entities - (last - first) - (others - reached_others)
        candidates[i] = num_entities - others
    return better, tied, candidates
