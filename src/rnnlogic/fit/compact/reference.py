"""Plain-Python twins of the kernels: same signatures, same results, written to be read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rank_queries(
    query_ptr: NDArray[np.int64],
    scores: Floats,
    is_reached: NDArray[np.bool_],
    is_known: NDArray[np.bool_],
    asked_query: NDArray[np.int64],
    asked_candidate: NDArray[np.int64],
    unknown: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Better and tied candidates of asked answers, filtered; the unreached are tied behind the reached."""
    better, tied = [], []
    for query, own, number in zip(
        asked_query.tolist(), asked_candidate.tolist(), unknown.tolist(), strict=True
    ):
        others = [
            c for c in range(query_ptr[query], query_ptr[query + 1]) if is_reached[c] and not is_known[c]
        ]
        if own < 0 or not is_reached[own]:
            better.append(len(others))
            tied.append(number - len(others))
        else:
            rivals = [scores[c] for c in others if c != own]
            better.append(sum(score > scores[own] for score in rivals))
            tied.append(1 + sum(score == scores[own] for score in rivals))
    return np.array(better, np.int64), np.array(tied, np.int64)


def mark_reached(
    column_ptr: NDArray[np.int64], candidate: NDArray[np.int32], columns: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Which candidates [size] some of the columns reach."""
    found = {c for column in columns for c in candidate[column_ptr[column] : column_ptr[column + 1]].tolist()}
    return np.array([c in found for c in range(size)], np.bool_)


def by_column(
    candidate_ptr: NDArray[np.int64], rule: NDArray[np.int32], value: NDArray[np.float32], num_rules: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Results ordered by candidate [c+1], [n], [n] turned into results ordered by rule."""
    columns: list[list[tuple[int, float]]] = [[] for _ in range(num_rules)]
    for c in range(len(candidate_ptr) - 1):
        for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
            columns[rule[i]].append((c, value[i]))
    entries = [entry for column in columns for entry in column]
    ptr = np.append(0, np.cumsum([len(column) for column in columns])).astype(np.int64)
    return ptr, np.array([c for c, _ in entries], np.int32), np.array([x for _, x in entries], np.float32)


def _mixed(number: int) -> int:
    whole = (1 << 64) - 1
    x = (number * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & whole
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & whole
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & whole
    return x ^ (x >> 31)


def add_hashes(
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    count: NDArray[np.int64],
    key: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> None:
    """Add to hashes [rules], the same for rules with the same candidates and counts."""
    for c in range(len(key)):
        for i in range(ptr[c], ptr[c + 1]):
            if rule[i] >= 0:
                total = int(hashes[rule[i]]) + _mixed(int(key[c])) * (2 * int(count[i]) + 1)
                hashes[rule[i]] = total % (1 << 64)


def score_results(
    ptr: NDArray[np.int64], rule: NDArray[np.int32], value: Floats, weights: Floats, scores: Floats
) -> None:
    """Add to the score of each candidate [c] weight [rules] times value [n] of the rules that reach it."""
    for c, (first, last) in enumerate(pairwise(ptr.tolist())):
        scores[c] += sum(weights[rule[n]] * value[n] for n in range(first, last))


def sample_candidates(
    query_ptr: NDArray[np.int64], score: Floats, is_known: NDArray[np.bool_], luck: Floats, most: int
) -> Floats:
    """How many candidates each one [c] stands for: 0 if it is known or left out."""
    many = np.zeros(len(score))
    for first, last in pairwise(query_ptr.tolist()):
        others = sorted((c for c in range(first, last) if not is_known[c]), key=lambda c: -score[c])
        best, rest = others[: most // 2], others[most // 2 :]
        sample = sorted(rest, key=lambda c: luck[c])[: most - most // 2]
        many[best] = 1.0
        many[sample] = len(rest) / max(len(sample), 1)
    return many
