"""Compiled kernels: ranks of answers among the entities that rules reach; twins are in `reference.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled


class Reached(NamedTuple):
    """What questions reach: question q reaches entity[ptr[q] : ptr[q + 1]] with their values."""

    ptr: NDArray[np.int64]
    entity: NDArray[np.int32]
    values: NDArray[np.float64]


class Known(NamedTuple):
    """Known answers, ascending in ids[ptr[i] : ptr[i + 1]] for answer i."""

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]


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
    reached: Reached,
    question: NDArray[np.int64],
    answers: NDArray[np.int32],
    known: Known,
    num_entities: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Better, tied and all candidates of each answer [n], as `Ranks` has them.

    Answer i belongs to question[i]. Of its known answers all but the answer itself are left out. Entities
    that are not reached have the score -inf.
    """
    ptr, entity, values = reached
    better, tied = np.zeros(len(answers), np.int64), np.zeros(len(answers), np.int64)
    candidates = np.zeros(len(answers), np.int64)
    for i in range(len(answers)):
        first, last = ptr[question[i]], ptr[question[i] + 1]
        score = -np.inf
        for c in range(first, last):
            if entity[c] == answers[i]:
                score = values[c]
        others = known.ptr[i + 1] - known.ptr[i]
        others -= is_among(known.ids, known.ptr[i], known.ptr[i + 1], answers[i])
        reached_others = 0
        for c in range(first, last):
            if values[c] < score:
                continue
            if entity[c] != answers[i] and is_among(known.ids, known.ptr[i], known.ptr[i + 1], entity[c]):
                reached_others += 1
            else:
                better[i] += values[c] > score
                tied[i] += values[c] == score
        if score == -np.inf:  # all that is reached was looked at; the rest ties
            tied[i] += num_entities - (last - first) - (others - reached_others)
        candidates[i] = num_entities - others
    return better, tied, candidates
