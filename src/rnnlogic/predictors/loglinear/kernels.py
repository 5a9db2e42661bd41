"""Compiled sums over the candidates of training queries; public ones have plain twins in `reference.py`.

Inner loops have unsigned places: signed ones are each checked for being counted from the end of an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.features.kernels import ANSWER, LEFT_OUT, WRONG
from rnnlogic.features.table import Examples


@compiled
def loss_and_gradient(
    examples: Examples,
    multiplicity: NDArray[np.float32],
    weights: NDArray[np.float64],
    importance: Any = None,
) -> tuple[float, NDArray[np.float64]]:
    """Sum over queries of -log p(answer) and its gradient; without queries whose answer is no candidate.

    A candidate counts as multiplicity [c] many in the softmax; as one if that is empty. A query counts by its
    importance [q], if that is given.
    """
    query_ptr, candidate_ptr, rule, value, _ = examples
    gradient, loss = np.zeros(len(weights)), 0.0
    probability = np.empty(_most_candidates(query_ptr))
    for q in range(len(query_ptr) - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        answer = _softmax(examples, q, multiplicity, weights, probability)
        if answer < 0:
            continue
        if importance is None:
            loss -= np.log(max(probability[answer - first], 1e-300))
        else:
            loss -= importance[q] * np.log(max(probability[answer - first], 1e-300))
        end = candidate_ptr[first]
        for c in range(first, last):
            begin, end = end, candidate_ptr[c + 1]
            upstream = probability[c - first] - (c == answer)
            if importance is not None:
                upstream *= importance[q]
            if upstream != 0.0:
                for i in range(np.uint64(begin), np.uint64(end)):
                    gradient[np.uint32(rule[i])] += upstream * value[i]
    return loss, gradient


@compiled
def _most_candidates(query_ptr: NDArray[np.int64]) -> int:
    most = 0
    for q in range(len(query_ptr) - 1):
        most = max(most, int(query_ptr[q + 1] - query_ptr[q]))
    return most


@compiled
def _softmax(examples: Examples, q: int, multiplicity: Any, weights: Any, probability: Any) -> int:
    """Probabilities of the candidates of query q (0 for those left out); returns the answer, -1 if none."""
    query_ptr, candidate_ptr, rule, value, label = examples
    first, last = query_ptr[q], query_ptr[q + 1]
    answer, highest, end = -1, -np.inf, candidate_ptr[first]
    for c in range(first, last):
        score = 0.0
        begin, end = end, candidate_ptr[c + 1]
        for i in range(np.uint64(begin), np.uint64(end)):
            score += weights[np.uint32(rule[i])] * value[i]
        probability[c - first] = score
        if label[c] == ANSWER:
            answer = c
        if label[c] != LEFT_OUT and score > highest:
            highest = score
    total = 0.0
    for c in range(first, last):
        share = 0.0 if label[c] == LEFT_OUT else np.exp(probability[c - first] - highest)
        if len(multiplicity) > 0:
            share *= multiplicity[c]
        probability[c - first] = share
        total += share
    for c in range(first, last):
        probability[c - first] /= total
    return answer


@compiled
def answers_reached(
    examples: Examples,
    multiplicity: NDArray[np.float32],
    by_value: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Answers that each rule [k] reaches, how many chance would reach, and its [2, k] results and values.

    A result counts once, or by its value where `by_value` [k]. Queries whose answer is no candidate and
    candidates left out do not count.
    """
    query_ptr, candidate_ptr, rule, value, label = examples
    right, chance = np.zeros(len(by_value)), np.zeros(len(by_value))
    total = np.zeros((2, len(by_value)))
    for q in range(len(query_ptr) - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        many, is_reached = 0.0, False
        for c in range(first, last):
            is_reached |= label[c] == ANSWER
            if label[c] != LEFT_OUT:
                many += multiplicity[c] if len(multiplicity) > 0 else 1.0
        if not is_reached:
            continue
        for c in range(first, last):
            if label[c] == LEFT_OUT:
                continue
            count = multiplicity[c] if len(multiplicity) > 0 else 1.0
            for i in range(np.uint64(candidate_ptr[c]), np.uint64(candidate_ptr[c + 1])):
                k = np.uint32(rule[i])
                size = value[i] if by_value[k] else 1.0
                chance[k] += count * size / many
                total[0, k] += count
                total[1, k] += count * value[i]
                if label[c] == ANSWER:
                    right[k] += size
    return right, chance, total


@compiled
def rule_margins(examples: Examples, q: int, num_rules: int) -> tuple[bool, NDArray[np.float64]]:
    """For query q, whether its answer is a candidate, and each rule's value there minus its mean value."""
    query_ptr, candidate_ptr, rule, value, label = examples
    first, last = query_ptr[q], query_ptr[q + 1]
    margin = np.zeros(num_rules)
    candidates, is_reached = 0, False
    for c in range(first, last):
        candidates += label[c] != LEFT_OUT
        is_reached |= label[c] == ANSWER
    for c in range(first, last):
        if label[c] != LEFT_OUT:
            for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                margin[rule[i]] += value[i] * ((label[c] == ANSWER) - 1.0 / candidates)
    return is_reached, margin


@compiled
def select_rules(
    examples: Examples,
    weights: NDArray[np.float64],
    log_prior: NDArray[np.float64],
    number: int,
) -> NDArray[np.float64]:
    """How many queries select each rule in the E-step: the `number` rules with the highest H.

    H(rule) = weight * margin + log prior.
    """
    chosen = np.zeros(len(weights))
    for q in range(len(examples.query_ptr) - 1):
        is_reached, margin = rule_margins(examples, q, len(weights))
        if not is_reached:
            continue
        h = weights * margin + log_prior
        for k in np.argsort(-h, kind="mergesort")[:number]:
            chosen[k] += 1
    return chosen


@compiled
def reward_samples(
    examples: Examples,
    weights: NDArray[np.float64],
    log_prior: NDArray[np.float64],
    number: int,
    uniform: NDArray[np.float64],
) -> NDArray[np.float64]:
    """REINFORCE: each query draws `number` rules from the prior and rewards them with p(answer) by them."""
    query_ptr, reward = examples.query_ptr, np.zeros(len(weights))
    probability = np.empty(_most_candidates(query_ptr))
    cumulative = np.cumsum(np.exp(log_prior - log_prior.max()))
    for q in range(len(query_ptr) - 1):
        drawn = np.zeros(len(weights))
        for draw in uniform[q * number : (q + 1) * number]:
            drawn[min(np.searchsorted(cumulative, draw * cumulative[-1], side="right"), len(drawn) - 1)] += 1
        only = np.where(drawn > 0, weights, 0.0)
        answer = _softmax(examples, q, examples.value[:0], only, probability)
        if answer >= 0:
            reward += drawn * probability[answer - query_ptr[q]]
    return reward


@compiled
def held_candidates(
    query_ptr: NDArray[np.int64],
    score: NDArray[np.float64],
    is_open: NDArray[np.bool_],
    luck: NDArray[np.float64],
    best: int,
    drawn: int,
) -> NDArray[np.float64]:
    """How many candidates each one [c] stands for when few of each query are held; 0: not open, or not held.

    Of the open ones those `best` with the highest scores are held, the first of equal ones; and of the others
    those `drawn` with the least luck [c], all different, which stand for all others.
    """
    many, size = np.zeros(len(score)), _most_candidates(query_ptr)
    open_, low = np.empty(size, np.int64), np.empty(size)
    for q in range(len(query_ptr) - 1):
        found = 0
        for c in range(query_ptr[q], query_ptr[q + 1]):
            open_[found] = c
            found += is_open[c]
        if found <= best + drawn:
            many[open_[:found]] = 1.0
            continue
        low[:found] = -score[open_[:found]]
        others = _hold_lowest(open_[:found], low[:found], best, 1.0, many)
        low[:others] = luck[open_[:others]]
        _hold_lowest(open_[:others], low[:others], drawn, others / drawn, many)
    return many


@compiled
def _hold_lowest(candidates: Any, low: Any, number: int, many: float, multiplicity: Any) -> int:
    """Hold the `number` candidates with the lowest numbers, the first of equal ones; others move up front.

    Returns how many others there are.
    """
    bar = np.partition(low, number - 1)[number - 1]
    ties, others = number - (low < bar).sum(), 0
    for i in range(len(candidates)):
        if low[i] < bar or (low[i] == bar and ties > 0):
            multiplicity[candidates[i]] = many
            ties -= low[i] == bar
        else:
            candidates[others] = candidates[i]
            others += 1
    return others


@compiled
def merged(
    examples: Examples,
    multiplicity: NDArray[np.float32],
) -> NDArray[np.float32]:
    """What candidates [c] stand for if the first of a query's equal wrong ones stands for all: the same loss.

    Candidates are equal that the same rules reach with the same values.
    """
    query_ptr, candidate_ptr, rule, value, label = examples
    found, bits = multiplicity.copy(), value.view(np.int32)
    held, table = np.empty(_most_candidates(query_ptr), np.int64), np.empty(0, np.int64)
    for q in range(len(query_ptr) - 1):
        number, size = 0, 2
        for c in range(query_ptr[q], query_ptr[q + 1]):
            held[number] = c
            number += label[c] == WRONG and multiplicity[c] != 0
        while size < 2 * number:
            size *= 2
        if size > len(table):
            table = np.empty(size, np.int64)
        table[:size] = -1
        for c in held[:number]:
            first, last = np.uint64(candidate_ptr[c]), np.uint64(candidate_ptr[c + 1])
            mixed = np.uint64(0)
            for i in range(first, last):
                both = (np.uint64(rule[i]) << np.uint64(32)) ^ np.uint64(np.uint32(bits[i]))
                mixed = (mixed ^ both) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            slot = mixed & np.uint64(size - 1)
            while table[slot] >= 0 and not _are_equal(candidate_ptr, rule, bits, table[slot], c):
                slot = (slot + np.uint64(1)) & np.uint64(size - 1)
            if table[slot] < 0:
                table[slot] = c
            else:
                found[table[slot]] += found[c]
                found[c] = 0
    return found


@compiled
def _are_equal(candidate_ptr: Any, rule: Any, bits: Any, one: int, other: int) -> bool:
    """Whether the same rules reach two candidates with the same values."""
    first, second, last = candidate_ptr[one], candidate_ptr[other], candidate_ptr[one + 1]
    if last - first != candidate_ptr[other + 1] - second:
        return False
    for i in range(np.uint64(last - first)):
        a, b = np.uint64(first) + i, np.uint64(second) + i
        if rule[a] != rule[b] or bits[a] != bits[b]:
            return False
    return True
