"""What each kind of named evidence says about the candidates of a query; a part of `find_evidence`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.grounding.evidence.counting.kernels import Items

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
        few[number] = answer
        number += marks[answer] != 0
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
        few[number] = answer
        number += times[answer] > known[answer]
    for kind in range(TAKEN, HEAD):
        spans[kind] = filled
        for answer in few[: number if wanted[kind] else 0]:
            amount = 1.0
            if kind == FREQUENT:
                amount = logs[times[answer] - known[answer]]
            elif kind == DEGREE:
                amount = logs[items.ptr[answer + 1] - items.ptr[answer] - known[answer]]
            out[filled], out_value[filled] = answer, amount
            filled += 1
    return filled


@compiled
def _put_rules(
    candidates: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    of_head: NDArray[np.float64],
    of_answer: NDArray[np.float64],
    out: NDArray[np.int32],
    out_value: NDArray[np.float32],
    spans: NDArray[np.int64],
    filled: int,
) -> int:
    """Put out what the best rules with constants say; returns how many results there are."""
    for kind in range(HEAD, KINDS):
        spans[kind] = filled
        best = of_head if kind <= HEADS else of_answer
        for answer in candidates[: len(candidates) if wanted[kind] else 0]:
            if best[answer, 0] > 0:
                is_one = kind in (HEAD, ANSWER)
                out[filled] = answer
                out_value[filled] = _strength(best[answer, 0]) if is_one else _several(best[answer])
                filled += 1
    return filled
