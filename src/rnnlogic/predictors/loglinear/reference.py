"""Plain-Python twins of the kernels: same signatures, same results, written to be read."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.features.kernels import ANSWER, LEFT_OUT, WRONG
from rnnlogic.features.table import NO_VALUES, Examples

Floats = NDArray[np.float64]


def candidate_features(examples: Examples, candidate: int) -> list[tuple[int, float]]:
    """(rule, feature) pairs of one candidate."""
    own = slice(examples.candidate_ptr[candidate], examples.candidate_ptr[candidate + 1])
    return list(zip(examples.rule[own].tolist(), examples.value[own].tolist(), strict=True))


def loss_and_gradient(
    examples: Examples,
    multiplicity: NDArray[np.float32],
    weights: Floats,
    importance: Floats | None = None,
) -> tuple[float, Floats]:
    """Sum over queries of -log p(answer) and its gradient; without queries whose answer is no candidate.

    A candidate counts as multiplicity [c] many in the softmax; as one if that is empty. A query counts by its
    importance [q], if that is given.
    """
    loss, gradient = 0.0, np.zeros(len(weights))
    for q in range(len(examples.query_ptr) - 1):
        probability = answer_probabilities(examples, q, weights, multiplicity)
        answers = [c for c in probability if examples.label[c] == ANSWER]
        if not answers:
            continue
        worth = 1.0 if importance is None else float(importance[q])
        loss -= worth * math.log(probability[answers[0]])
        for c, p in probability.items():
            for k, feature in candidate_features(examples, c):
                gradient[k] += worth * (p - (examples.label[c] == ANSWER)) * feature
    return loss, gradient


def answers_reached(
    examples: Examples,
    multiplicity: NDArray[np.float32],
    by_value: NDArray[np.bool_],
) -> tuple[Floats, Floats, Floats]:
    """Answers that each rule [k] reaches, how many chance would reach, and its [2, k] results and values."""
    label = examples.label
    right, chance, total = np.zeros(len(by_value)), np.zeros(len(by_value)), np.zeros((2, len(by_value)))
    for first, last in pairwise(examples.query_ptr.tolist()):
        counts = {
            c: float(multiplicity[c]) if len(multiplicity) else 1.0
            for c in range(first, last)
            if label[c] != LEFT_OUT
        }
        if not any(label[c] == ANSWER for c in counts):
            continue
        for c, count in counts.items():
            for k, feature in candidate_features(examples, c):
                size = feature if by_value[k] else 1.0
                chance[k] += count * size / sum(counts.values())
                right[k] += size * (label[c] == ANSWER)
                total[:, k] += count, count * feature
    return right, chance, total


def answer_probabilities(
    examples: Examples,
    query: int,
    weights: Floats,
    multiplicity: NDArray[np.float32] = NO_VALUES,
) -> dict[int, float]:
    """Softmax of the scores over a query's candidates that are not left out."""
    candidates = [c for c in _candidates_of(examples, query) if examples.label[c] != LEFT_OUT]
    scores = {c: sum(weights[k] * x for k, x in candidate_features(examples, c)) for c in candidates}
    odds = {
        c: math.exp(score) * (float(multiplicity[c]) if len(multiplicity) else 1.0)
        for c, score in scores.items()
    }
    return {c: one / sum(odds.values()) for c, one in odds.items()}


def _candidates_of(examples: Examples, query: int) -> range:
    return range(examples.query_ptr[query], examples.query_ptr[query + 1])


def rule_margins(examples: Examples, q: int, num_rules: int) -> tuple[bool, Floats]:
    """For query q, whether its answer is a candidate, and each rule's value there minus its mean value."""
    candidates = [c for c in _candidates_of(examples, q) if examples.label[c] != LEFT_OUT]
    table = np.zeros((len(candidates), num_rules))
    for row, c in enumerate(candidates):
        for k, feature in candidate_features(examples, c):
            table[row, k] += feature
    is_answer = np.array([examples.label[c] == ANSWER for c in candidates], bool)
    margin = -table.mean(axis=0) if len(candidates) else np.zeros(num_rules)
    return bool(is_answer.any()), margin + table[is_answer].sum(axis=0)


def select_rules(examples: Examples, weights: Floats, log_prior: Floats, number: int) -> Floats:
    """How many queries select each rule in the E-step: those with the highest weight * margin + log prior."""
    chosen = np.zeros(len(weights))
    for q in range(len(examples.query_ptr) - 1):
        is_reached, margin = rule_margins(examples, q, len(weights))
        if not is_reached:
            continue
        h = weights * margin + log_prior
        chosen[np.argsort(-h, kind="stable")[:number]] += 1
    return chosen


def reward_samples(
    examples: Examples,
    weights: Floats,
    log_prior: Floats,
    number: int,
    uniform: Floats,
) -> Floats:
    """REINFORCE: each query draws `number` rules from the prior and rewards them with p(answer) by them."""
    reward = np.zeros(len(weights))
    for q in range(len(examples.query_ptr) - 1):
        drawn = [_drawn(np.exp(log_prior), draw) for draw in uniform[q * number : (q + 1) * number]]
        only = np.array([weight if k in drawn else 0.0 for k, weight in enumerate(weights)])
        probability = answer_probabilities(examples, q, only)
        for c, p in probability.items():
            if examples.label[c] == ANSWER:
                for k in drawn:
                    reward[k] += p
    return reward


def _drawn(mass: Floats, draw: float) -> int:
    """The index that a number in 0..1 falls on when the line is divided in proportion to `mass`."""
    place: Any = np.searchsorted(np.cumsum(mass), draw * mass.sum(), side="right")
    return min(int(place), len(mass) - 1)


def held_candidates(
    query_ptr: NDArray[np.int64],
    score: Floats,
    is_open: NDArray[np.bool_],
    luck: Floats,
    best: int,
    drawn: int,
) -> Floats:
    """How many candidates each one [c] stands for when few of each query are held; 0: none."""
    many = np.zeros(len(score))
    for first, last in pairwise(query_ptr.tolist()):
        found = sorted((c for c in range(first, last) if is_open[c]), key=lambda c: (-score[c], c))
        held = len(found) if len(found) <= best + drawn else best
        others = sorted(found[held:], key=lambda c: luck[c])
        many[found[:held]] = 1.0
        many[others[:drawn]] = len(others) / drawn
    return many


def merged(
    examples: Examples,
    multiplicity: NDArray[np.float32],
) -> NDArray[np.float32]:
    """What candidates [c] stand for if the first of a query's equal wrong ones stands for all of them."""
    found = multiplicity.copy()
    for q in range(len(examples.query_ptr) - 1):
        firsts: dict[tuple[tuple[int, float], ...], int] = {}
        for c in _candidates_of(examples, q):
            if examples.label[c] == WRONG and multiplicity[c]:
                first = firsts.setdefault(tuple(candidate_features(examples, c)), c)
                if first != c:
                    found[first] += found[c]
                    found[c] = 0
    return found
