"""What each kind of named evidence says about the candidates of a query; a part of `find_evidence`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.features.evidence.counting.kernels import Items

TURNED, LINKED, LINKED_BACK, ITSELF, TAKEN, FREQUENT, DEGREE, HEAD, HEADS, ANSWER, ANSWERS = range(11)
KINDS = 11
STRETCH = 100.0


@compiled
def _strength(best: float) -> float:
    """What the most confident rule with constants counts."""
    return float(np.log1p(STRETCH * best))


@compiled
def _several(best: NDArray[np.float64]) -> float:
    """What the most confident rules count together: -log(1 - noisy or)."""
    total = 0.0
    for value in best:
        total -= np.log1p(-value)
    return total


@compiled
def _put_links(
    candidates: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    head: int,
    is_candidate: NDArray[np.bool_],
    marks: NDArray[np.int8],
    few: NDArray[np.int32],
    out: NDArray[np.int32],
    out_value: NDArray[np.float32],
    spans: NDArray[np.int64],
    filled: int,
) -> int:
    """Put out which candidates are linked to the head, or are the head; returns how many results there are.

    `few` is scratch, and so it is for the other kinds: those of the candidates that have any value.
    """
    number = 0
    for answer in candidates:
        few[np.uint64(number)] = answer
        number += marks[np.uint32(answer)] != 0
    for kind in range(TURNED, ITSELF):
        spans[kind] = filled
        for answer in few[: number if wanted[kind] else 0]:
            out[filled], out_value[filled] = answer, 1.0
            filled += (marks[answer] >> kind) & 1
    spans[ITSELF] = filled
    if wanted[ITSELF] and is_candidate[head]:
        out[filled], out_value[filled] = head, 1.0
        filled += 1
    return filled


@compiled
def _put_prior(
    candidates: NDArray[np.int32],
    items: Items,
    wanted: NDArray[np.bool_],
    times: NDArray[np.int64],
    known: NDArray[np.bool_],
    logs: NDArray[np.float64],
    few: NDArray[np.int32],
    out: NDArray[np.int32],
    out_value: NDArray[np.float32],
    spans: NDArray[np.int64],
    filled: int,
) -> int:
    """Put out how often candidates are answers of other queries; returns how many results there are."""
    number = 0
    for answer in candidates:
        few[np.uint64(number)] = answer
        number += times[np.uint32(answer)] > known[np.uint32(answer)]
    for kind in range(TAKEN, HEAD):
        spans[kind] = filled
        for answer in few[: number if wanted[kind] else 0]:
            place, amount = np.uint32(answer), 1.0
            if kind == FREQUENT:
                amount = logs[np.uint64(times[place] - known[place])]
            elif kind == DEGREE:
                degree = items.ptr[np.uint32(answer + 1)] - items.ptr[place]
                amount = logs[np.uint64(degree - known[place])]
            out[np.uint64(filled)], out_value[np.uint64(filled)] = answer, amount
            filled += 1
    return filled


@compiled
def _put_rules(
    candidates: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    of_head: NDArray[np.float64],
    of_answer: NDArray[np.float64],
    few: NDArray[np.int32],
    out: NDArray[np.int32],
    out_value: NDArray[np.float32],
    spans: NDArray[np.int64],
    filled: int,
) -> int:
    """Put out what the best rules with constants say; returns how many results there are."""
    number = 0
    for kind in range(HEAD, KINDS):
        spans[kind] = filled
        best, is_one = of_head if kind <= HEADS else of_answer, kind in (HEAD, ANSWER)
        if is_one:
            number = 0
            for answer in candidates[: len(candidates) if wanted[kind] or wanted[kind + 1] else 0]:
                few[np.uint64(number)] = answer
                number += best[np.uint32(answer), 0] > 0
        for answer in few[: number if wanted[kind] else 0]:
            place = np.uint32(answer)
            out[np.uint64(filled)] = answer
            out_value[np.uint64(filled)] = _strength(best[place, 0]) if is_one else _several(best[place])
            filled += 1
    return filled
