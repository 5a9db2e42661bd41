"""Plain-Python twins of the kernels: same signatures, same results, written to be read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.grounding.kernels import ANSWER, LEFT_OUT

Floats = NDArray[np.float64]


def candidate_features(
    candidate: int, candidate_ptr: NDArray[np.int64], rule: NDArray[np.int32], value: NDArray[np.float32]
) -> list[tuple[int, float]]:
    """(rule, feature) pairs of one candidate."""
    own = slice(candidate_ptr[candidate], candidate_ptr[candidate + 1])
    return list(zip(rule[own].tolist(), value[own].tolist(), strict=True))


def loss_and_gradient(
    query_ptr: NDArray[np.int64],
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    weights: Floats,
) -> tuple[float, Floats]:
    """Sum over queries of -log p(answer) and its gradient; without queries whose answer is no candidate."""
    loss, gradient = 0.0, np.zeros(len(weights))
    for q in range(len(query_ptr) - 1):
        probability = answer_probabilities(q, query_ptr, candidate_ptr, rule, value, label, weights)
        answers = [c for c in probability if label[c] == ANSWER]
        if not answers:
            continue
        loss -= math.log(probability[answers[0]])
        for c, p in probability.items():
            for k, feature in candidate_features(c, candidate_ptr, rule, value):
                gradient[k] += (p - (label[c] == ANSWER)) * feature
    return loss, gradient


def answer_probabilities(
    query: int,
    query_ptr: NDArray[np.int64],
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    weights: Floats,
) -> dict[int, float]:
    """Softmax of the scores over a query's candidates that are not left out."""
    candidates = [c for c in range(query_ptr[query], query_ptr[query + 1]) if label[c] != LEFT_OUT]
    scores = {
        c: sum(weights[k] * x for k, x in candidate_features(c, candidate_ptr, rule, value))
        for c in candidates
    }
    total = sum(math.exp(score) for score in scores.values())
    return {c: math.exp(score) / total for c, score in scores.items()}


def rule_margins(
    first: int,
    last: int,
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    num_rules: int,
) -> tuple[bool, Floats]:
    """For one query, whether its answer is a candidate, and each rule's value there minus its mean value."""
    candidates = [c for c in range(first, last) if label[c] != LEFT_OUT]
    table = np.zeros((len(candidates), num_rules))
    for row, c in enumerate(candidates):
        for k, feature in candidate_features(c, candidate_ptr, rule, value):
            table[row, k] += feature
    is_answer = np.array([label[c] == ANSWER for c in candidates], bool)
    margin = -table.mean(axis=0) if len(candidates) else np.zeros(num_rules)
    return bool(is_answer.any()), margin + table[is_answer].sum(axis=0)


def select_rules(
    query_ptr: NDArray[np.int64],
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    weights: Floats,
    log_prior: Floats,
    number: int,
    uniform: Floats,
) -> Floats:
    """How many queries select each rule in the E-step, by H(rule) = weight * margin + log prior."""
    chosen = np.zeros(len(weights))
    for q in range(len(query_ptr) - 1):
        is_reached, margin = rule_margins(
            query_ptr[q], query_ptr[q + 1], candidate_ptr, rule, value, label, len(weights)
        )
        if not is_reached:
            continue
        h = weights * margin + log_prior
        if len(uniform) == 0:
            chosen[np.argsort(-h, kind="stable")[:number]] += 1
        else:
            for draw in uniform[q * number : (q + 1) * number]:
                chosen[_drawn(np.exp(h - h.max()), draw)] += 1
    return chosen


def reward_samples(
    query_ptr: NDArray[np.int64],
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.int32],
    value: NDArray[np.float32],
    label: NDArray[np.int8],
    weights: Floats,
    log_prior: Floats,
    number: int,
    uniform: Floats,
) -> Floats:
    """REINFORCE: each query draws `number` rules from the prior and rewards them with p(answer) by them."""
    reward = np.zeros(len(weights))
    for q in range(len(query_ptr) - 1):
        drawn = [_drawn(np.exp(log_prior), draw) for draw in uniform[q * number : (q + 1) * number]]
        only = np.array([weight if k in drawn else 0.0 for k, weight in enumerate(weights)])
        probability = answer_probabilities(q, query_ptr, candidate_ptr, rule, value, label, only)
        for c, p in probability.items():
            if label[c] == ANSWER:
                for k in drawn:
                    reward[k] += p
    return reward


def _drawn(mass: Floats, draw: float) -> int:
    """The index that a number in 0..1 falls on when the line is divided in proportion to `mass`."""
    place: Any = np.searchsorted(np.cumsum(mass), draw * mass.sum(), side="right")
    return min(int(place), len(mass) - 1)
