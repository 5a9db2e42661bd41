"""Plain Python twins of the kernels, to read and to test against."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp


def are_among(
    ascending: Sequence[int], first: Sequence[int], last: Sequence[int], values: Sequence[int]
) -> list[bool]:
    """Whether each value is in its part of an array."""
    return [v in ascending[a:b] for a, b, v in zip(first, last, values, strict=True)]


def new_among(
    ptr: Sequence[int],
    entity: Sequence[int],
    values: Sequence[float],
    tails: Sequence[int],
    first: Sequence[int],
    last: Sequence[int],
    hidden: Sequence[int],
) -> tuple[list[int], list[int], list[float], list[float], list[float]]:
    """New answers: their positions, questions and shares; for each question the sums of all and of new."""
    position, place, share = [], [], []
    total, total_of_new = [0.0] * len(hidden), [0.0] * len(hidden)
    for q, not_known in enumerate(hidden):
        own = range(ptr[q], ptr[q + 1])
        known = {*tails[first[q] : last[q]]} - {not_known}
        for c in own:
            part = exp(values[c] - max(values[i] for i in own))
            total[q] += part
            if entity[c] not in known:
                position.append(c)
                place.append(q)
                share.append(part)
                total_of_new[q] += part
    return position, place, share, total, total_of_new


def positions_of(
    ptr: Sequence[int], entity: Sequence[int], question: Sequence[int], wanted: Sequence[int]
) -> list[int]:
    """Where each wanted answer of a question is; -1 if it is not there."""
    places = [{entity[c]: c for c in range(ptr[q], ptr[q + 1])} for q in range(len(ptr) - 1)]
    return [places[q].get(answer, -1) for q, answer in zip(question, wanted, strict=True)]
