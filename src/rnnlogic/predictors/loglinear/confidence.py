"""Sums of confidences as features of a relation: a few numbers say how far to trust its confident rules.

The best rule that reaches an answer often says more than all others together. For some steepness b the sum of
exp(b * (confidence - highest)) over the rules that reach an answer is close to that: only the most confident
count. Each such sum is one more feature with a weight of its own, so the problem stays convex. A sum over
rules is a weight for each of them, so what is learned for it ends up in the weights of the rules, and
nothing else has to know of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rnnlogic.grounding.candidates import Candidates
from rnnlogic.grounding.kernels import ANSWER, WRONG

STEEPNESS = (20.0, 60.0, 200.0)
PENALTY = 0.1  # weight decay of the sums
CAUTION = 5.0  # wrong results that every rule is taken to have besides those seen


@dataclass(frozen=True, eq=False)
class Summed:
    """Examples with the sums as further rules."""

    found: Candidates
    shares: NDArray[np.float64]  # [sums, rules] of each rule in each sum

    def folded(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights of the rules [k], by those of the rules and the sums."""
        rules = self.shares.shape[1]
        return np.asarray(weights[:rules] + weights[rules:] @ self.shares)


def with_sums(found: Candidates, decay: float, is_named: NDArray[np.bool_]) -> Summed:
    """Examples with sums by confidence; named evidence [rules] takes no part in them."""
    confidence = np.where(is_named, 0.0, confidences(found))
    steep = np.array(STEEPNESS)[:, None] * (confidence - confidence.max(initial=0.0))
    # All weights have the same decay, so larger values have a smaller one.
    shares = np.where(is_named, 0.0, np.exp(steep)) * np.sqrt(max(decay, PENALTY) / PENALTY)
    sums, rules = shares.shape
    candidate = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
    ptr = found.candidate_ptr + sums * np.arange(len(found) + 1)
    rule, value = np.empty(ptr[-1], found.rule.dtype), np.empty(ptr[-1], np.float32)
    place = np.arange(len(found.rule)) + sums * candidate
    rule[place], value[place] = found.rule, found.value
    for i, share in enumerate(shares):
        at = ptr[1:] - sums + i
        rule[at] = rules + i
        value[at] = np.bincount(candidate, share[found.rule] * found.value, minlength=len(found))
    ids = np.append(found.ids, np.full(sums, -1))
    return Summed(replace(found, ids=ids, candidate_ptr=ptr, rule=rule, value=value), shares)


def confidences(found: Candidates) -> NDArray[np.float64]:
    """Right / (right + wrong + 5) for each rule [k] in some examples, one right result left out.

    A wrong result counts once for each head, however many questions are asked about that.
    """
    candidate = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
    is_right, is_wrong = (found.label == ANSWER)[candidate], (found.label == WRONG)[candidate]
    _, head, times = np.unique(found.heads, return_inverse=True, return_counts=True)
    once = np.repeat(1 / times[head], np.diff(found.query_ptr))
    once = once * found.stands_for if len(found.stands_for) else once
    right = np.bincount(found.rule[is_right], minlength=len(found.ids))
    wrong = np.bincount(found.rule[is_wrong], once[candidate[is_wrong]], minlength=len(found.ids))
    others = np.maximum(right - 1, 0)
    return np.asarray(others / (others + wrong + CAUTION))
