"""Plain twins of the kernels in `kernels.py`: what they compute, written to be read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.evaluation.kernels import Known, Reached


def is_among(ascending: NDArray[np.int32], first: int, last: int, value: int) -> bool:
    """Whether a value is in a part of an array."""
    return value in ascending[first:last].tolist()


def rank_candidates(
    reached: Reached,
    question: NDArray[np.int64],
    answers: NDArray[np.int32],
    known: Known,
    num_entities: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Better, tied and all candidates of each answer [n]: compare it with every entity that is not known."""
    ptr, entity, values = reached
    found = []
    for i, answer in enumerate(answers):
        part = slice(ptr[question[i]], ptr[question[i] + 1])
        scores = dict(zip(entity[part].tolist(), values[part].tolist(), strict=True))
        left_out = {*known.ids[known.ptr[i] : known.ptr[i + 1]].tolist()} - {int(answer)}
        mine = scores.get(int(answer), -np.inf)
        theirs = [scores.get(e, -np.inf) for e in range(num_entities) if e not in left_out]
        found.append((sum(s > mine for s in theirs), sum(s == mine for s in theirs), len(theirs)))
    better, tied, candidates = np.array(found, np.int64).reshape(-1, 3).T
    return better, tied, candidates
