"""Compiled sums over the candidates of training queries; public ones have plain twins in `reference.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.grounding.kernels import ANSWER, LEFT_OUT


@compiled
def loss_and_gradient(
    query_ptr: NDArray[np.int64],
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    weights: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Sum over queries of -log p(answer) and its gradient; without queries whose answer is no candidate."""
    gradient = np.zeros(len(weights))
    loss = 0.0
    probability = np.empty(_most_candidates(query_ptr))
    for q in range(len(query_ptr) - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        answer = _softmax(first, last, candidate_ptr, rule, value, label, weights, probability)
        if answer < 0:
            continue
        loss -= np.log(max(probability[answer - first], 1e-300))
        for c in range(first, last):
            upstream = probability[c - first] - (c == answer)
            if upstream != 0.0:
                for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
                    gradient[rule[i]] += upstream * value[i]
    return loss, gradient


@compiled
def _most_candidates(query_ptr: NDArray[np.int64]) -> int:
    most = 0
    for q in range(len(query_ptr) - 1):
        most = max(most, int(query_ptr[q + 1] - query_ptr[q]))
    return most


@compiled
def _softmax(
    first: int,
    last: int,
    candidate_ptr: Any,
    rule: Any,
    value: Any,
    label: Any,
    weights: Any,
    probability: Any,
) -> int:
    """Probabilities of candidates first..last-1 (0 for those left out); returns the answer, -1 if none."""
    answer, highest = -1, -np.inf
    for c in range(first, last):
        score = 0.0
        for i in range(candidate_ptr[c], candidate_ptr[c + 1]):
            score += weights[rule[i]] * value[i]
        probability[c - first] = score
        if label[c] == ANSWER:
            answer = c
        if label[c] != LEFT_OUT:
            highest = max(highest, score)
    total = 0.0
    for c in range(first, last):
        probability[c - first] = 0.0 if label[c] == LEFT_OUT else np.exp(probability[c - first] - highest)
        total += probability[c - first]
    for c in range(first, last):
        probability[c - first] /= total
    return answer


@compiled
def rule_margins(
    first: int,
    last: int,
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    num_rules: int,
) -> tuple[bool, NDArray[np.float64]]:
    """For one query, whether its answer is a candidate, and each rule's value there minus its mean value."""
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
    query_ptr: NDArray[np.int64],
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    weights: NDArray[np.float64],
    log_prior: NDArray[np.float64],
    number: int,
    uniform: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How many queries select each rule in the E-step, by H(rule) = weight * margin + log prior.

    Without `uniform` (length 0) the `number` rules with the highest H are taken (hard assignment); else
    `number` draws from softmax(H), by uniform [queries * number] random numbers in 0..1.
    """
    chosen = np.zeros(len(weights))
    for q in range(len(query_ptr) - 1):
        is_reached, margin = rule_margins(
            query_ptr[q], query_ptr[q + 1], candidate_ptr, rule, value, label, len(weights)
        )
        if not is_reached:
            continue
        h = weights * margin + log_prior
        if len(uniform) == 0:
            order = np.argsort(-h, kind="mergesort")
            for k in order[:number]:
                chosen[k] += 1
        else:
            cumulative = np.cumsum(np.exp(h - h.max()))
            for draw in uniform[q * number : (q + 1) * number]:
                chosen[min(np.searchsorted(cumulative, draw * cumulative[-1], side="right"), len(h) - 1)] += 1
    return chosen


@compiled
def reward_samples(
    query_ptr: NDArray[np.int64],
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    weights: NDArray[np.float64],
    log_prior: NDArray[np.float64],
    number: int,
    uniform: NDArray[np.float64],
) -> NDArray[np.float64]:
    """REINFORCE: each query draws `number` rules from the prior and rewards them with p(answer) by them."""
    reward = np.zeros(len(weights))
    probability = np.empty(_most_candidates(query_ptr))
    cumulative = np.cumsum(np.exp(log_prior - log_prior.max()))
    for q in range(len(query_ptr) - 1):
        drawn = np.zeros(len(weights))
        for draw in uniform[q * number : (q + 1) * number]:
            drawn[min(np.searchsorted(cumulative, draw * cumulative[-1], side="right"), len(drawn) - 1)] += 1
        first, last = query_ptr[q], query_ptr[q + 1]
        only = np.where(drawn > 0, weights, 0.0)
        answer = _softmax(first, last, candidate_ptr, rule, value, label, only, probability)
        if answer >= 0:
            reward += drawn * probability[answer - first]
    return reward
