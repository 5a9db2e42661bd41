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

from rnnlogic.features.base import UNSEEN
from rnnlogic.features.chains.kernels import ANSWER, WRONG
from rnnlogic.features.table import Candidates

STEEPNESS = (20.0, 60.0, 200.0)
PENALTY = 0.1  # weight decay of the sums


@dataclass(frozen=True, eq=False)
class Summed:
    """Examples with the sums as further rules."""

    found: Candidates
    single: NDArray[np.bool_]  # [rules] whether a rule also has a weight of its own
    shares: NDArray[np.float64]  # [sums, rules] of each rule in each sum

    def folded(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights of the rules [k], by those of the rules that have one and of the sums."""
        own = int(self.single.sum())
        folded = weights[own:] @ self.shares
        folded[self.single] += weights[:own]
        return np.asarray(folded)


def with_sums(
    found: Candidates,
    decay: float,
    is_named: NDArray[np.bool_],
    way: bool | str = True,
    apart: NDArray[np.bool_] | None = None,
) -> Summed:
    """Examples with sums by confidence; named evidence [rules], or all rules `apart`, take no part in them.

    The `way` is that of the settings: with a noisy-or, or `only` sums, beside which only named evidence has
    weights.
    """
    single = is_named if way == "only" else np.ones(len(is_named), bool)
    apart = is_named if apart is None else apart
    shares = np.where(apart, 0.0, _shares(np.where(apart, 0.0, confidences(found)), way is not True))
    # All weights have the same decay, so larger values have a smaller one.
    shares *= np.sqrt(max(decay, PENALTY) / PENALTY)
    candidate = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
    kept, own, sums = single[found.rule], int(single.sum()), len(shares)
    ptr = np.append(0, np.cumsum(np.bincount(candidate[kept], minlength=len(found)) + sums))
    rule, value = np.empty(ptr[-1], found.rule.dtype), np.empty(ptr[-1], np.float32)
    place = np.arange(int(kept.sum())) + sums * candidate[kept]
    rule[place], value[place] = (np.cumsum(single) - 1)[found.rule[kept]], found.value[kept]
    for i, share in enumerate(shares):
        at = ptr[1:] - sums + i
        rule[at] = own + i
        value[at] = np.bincount(candidate, share[found.rule] * found.value, minlength=len(found))
    ids = np.append(found.ids[single], np.full(sums, -1))
    summed = replace(found, ids=ids, candidate_ptr=ptr, rule=rule, value=value, folds=())
    return Summed(summed, single, shares)


def _shares(confidence: NDArray[np.float64], noisy_or: bool) -> NDArray[np.float64]:
    """How much each rule counts in each sum [sums, rules]: the most confident ones 1."""
    steep: NDArray[np.float64] = np.exp(
        np.array(STEEPNESS)[:, None] * (confidence - confidence.max(initial=0.0))
    )
    if not noisy_or:
        return steep
    surprise = -np.log1p(-confidence)  # their sum grows with 1 - the product of 1 - confidence
    return np.vstack([steep, surprise / max(float(surprise.max(initial=0.0)), 1e-12)])


def confidences(found: Candidates) -> NDArray[np.float64]:
    """Right / (right + wrong + 5) for each rule [k] in some examples, one right result left out.

    A wrong result counts once for each head, however many queries it has.
    """
    candidate = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
    is_right, is_wrong = (found.label == ANSWER)[candidate], (found.label == WRONG)[candidate]
    _, head, times = np.unique(found.heads, return_inverse=True, return_counts=True)
    once = np.repeat(1 / times[head], np.diff(found.query_ptr))
    once = once * found.multiplicity if len(found.multiplicity) else once
    right = np.bincount(found.rule[is_right], minlength=len(found.ids))
    wrong = np.bincount(found.rule[is_wrong], once[candidate[is_wrong]], minlength=len(found.ids))
    others = np.maximum(right - 1, 0)
    return np.asarray(others / (others + wrong + UNSEEN))
