"""Compiled parts of grounding and judging compact models; plain twins in `reference.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled


@compiled
def rank_queries(
    query_ptr: NDArray[np.int64],
    scores: NDArray[np.float64],
    is_reached: NDArray[np.bool_],
    is_known: NDArray[np.bool_],
    asked_query: NDArray[np.int64],
    asked_candidate: NDArray[np.int64],
    unknown: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Better and tied candidates of asked answers: answer a is candidate asked_candidate[a] (or -1: none).

    Known candidates [c] are filtered. unknown [a] is the number of entities that are not known answers, the
    asked one included; those that are not reached are tied behind all reached ones.
    """
    better = np.zeros(len(asked_query), np.int64)
    tied = np.zeros(len(asked_query), np.int64)
    for a in range(len(asked_query)):
        first, last = query_ptr[asked_query[a]], query_ptr[asked_query[a] + 1]
        own = asked_candidate[a]
        reached = 0
        for c in range(first, last):
            reached += is_reached[c] and not is_known[c]
        if own < 0 or not is_reached[own]:
            better[a], tied[a] = reached, unknown[a] - reached
            continue
        for c in range(first, last):
            if is_reached[c] and (c == own or not is_known[c]):
                better[a] += scores[c] > scores[own]
                tied[a] += scores[c] == scores[own]
    return better, tied


@compiled
def mark_reached(
    column_ptr: NDArray[np.int64],
    candidate: NDArray[np.int32],
    columns: NDArray[np.int64],
    size: int,
) -> NDArray[np.bool_]:
    """Which candidates [size] some of the columns reach."""
    is_reached = np.zeros(size, np.bool_)
    for column in columns:
        for n in range(column_ptr[column], column_ptr[column + 1]):
            is_reached[candidate[n]] = True
    return is_reached


@compiled
def by_column(
    candidate_ptr: NDArray[np.int64], rule: NDArray[np.int32], value: NDArray[np.float32], num_rules: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Results ordered by candidate [c+1], [n], [n] turned into results ordered by rule."""
    column_ptr = np.zeros(num_rules + 1, np.int64)
    for k in rule:
        column_ptr[k + 1] += 1
    column_ptr = np.cumsum(column_ptr)
    free = column_ptr[:-1].copy()
    candidate = np.empty(len(rule), np.int32)
    turned = np.empty(len(rule), np.float32)
    for c in range(len(candidate_ptr) - 1):
        for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
            place = free[rule[i]]
            candidate[place], turned[place] = c, value[i]
            free[rule[i]] = place + 1
    return column_ptr, candidate, turned


@compiled
def _mixed(number: int) -> np.uint64:
    """A number that looks random (the end of splitmix64)."""
    x = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def add_hashes(
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    count: NDArray[np.int64],
    key: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> None:
    """Add to hashes [rules], the same for rules with the same candidates and counts.

    The rules of candidate c are rule[ptr[c] : ptr[c + 1]], -1 for those not looked at; key [c]
    tells candidates apart.
    """
    for c in range(len(key)):
        mixed = _mixed(key[c])
        for i in range(ptr[c], ptr[c + 1]):
            if rule[i] >= 0:
                hashes[rule[i]] += mixed * (np.uint64(2) * np.uint64(count[i]) + np.uint64(1))


@compiled
def score_results(
    ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    value: NDArray[np.float64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Add to the score of each candidate [c] weight [rules] times value [n] of the rules that reach it."""
    for c in range(len(ptr) - 1):
        for n in range(ptr[c], ptr[c + 1]):
            scores[c] += weights[rule[n]] * value[n]


@compiled
def sample_candidates(
    query_ptr: NDArray[np.int64],
    score: NDArray[np.float64],
    is_known: NDArray[np.bool_],
    luck: NDArray[np.float64],
    most: int,
) -> NDArray[np.float64]:
    """How many candidates each one [c] stands for: 0 if it is known or left out.

    Of each query the best half of `most` stand for themselves, and a sample of the others for all of them:
    those with the least luck [c].
    """
    many = np.zeros(len(score))
    half = most // 2
    for q in range(len(query_ptr) - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        others = np.flatnonzero(~is_known[first:last]) + first
        if len(others) <= half:
            many[others] = 1.0
            continue
        bound = -np.partition(-score[others], half - 1)[half - 1] if half else np.inf
        free = half - np.sum(score[others] > bound)
        rest, number = np.empty(len(others), np.int64), 0
        for c in others:
            if score[c] > bound or (score[c] == bound and free > 0):
                free -= score[c] == bound
                many[c] = 1.0
            else:
                rest[number] = c
                number += 1
        held = min(most - half, number)
        bound = np.partition(luck[rest[:number]], held - 1)[held - 1] if held else -1.0
        for c in rest[:number]:
            if luck[c] <= bound:
                many[c] = number / held
    return many
