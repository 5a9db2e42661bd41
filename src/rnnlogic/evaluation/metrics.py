"""Mean rank, mean reciprocal rank and hits@k, under three tie rules.

With m candidates better than the answer and n tied with it (the answer included), the answer can stand at
any of the ranks m+1 .. m+n:

- `expected`: each metric is averaged over these ranks (the paper's rule);
- `realistic`: the metrics of the one rank m + (n+1)/2, their mean;
- `pessimistic`: the metrics of the last rank m + n.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.ranks import Ranks

TieRule = Literal["expected", "realistic", "pessimistic"]
TIE_RULES: tuple[TieRule, ...] = get_args(TieRule)
HITS_AT = (1, 3, 10)
METRICS = ("mrr", "mr", *(f"hits@{k}" for k in HITS_AT))

Metrics = dict[str, float]  # the keys are METRICS; hits are fractions in 0..1


def metrics(ranks: Ranks, tie_rule: TieRule = "expected") -> Metrics:
    """The means over all queries; they do not depend on the order of the queries."""
    return mean_metrics(query_metrics(ranks, tie_rule))


def mean_metrics(values: dict[str, NDArray[np.float64]]) -> Metrics:
    """Means of the per-query values; sums are exact before rounding, so the order does not matter."""
    return {name: math.fsum(column.tolist()) / len(column) for name, column in values.items()}


def query_metrics(ranks: Ranks, tie_rule: TieRule = "expected") -> dict[str, NDArray[np.float64]]:
    """Each metric for each query, float64 [n]."""
    if tie_rule == "expected":
        return _over_all_tied_ranks(ranks)
    if tie_rule == "realistic":
        return _at_rank(ranks.better + (ranks.tied + 1) / 2)
    if tie_rule == "pessimistic":
        return _at_rank((ranks.better + ranks.tied).astype(np.float64))
    raise RNNLogicError(f"unknown tie rule {tie_rule!r}; choose one of {', '.join(TIE_RULES)}")


def _over_all_tied_ranks(ranks: Ranks) -> dict[str, NDArray[np.float64]]:
    better, tied = ranks.better, ranks.tied
    return {
        "mrr": _mean_reciprocal(better, tied),
        "mr": better + (tied + 1) / 2,
        **{f"hits@{k}": np.clip(k - better, 0, tied) / tied for k in HITS_AT},
    }


def _at_rank(rank: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    hits = {f"hits@{k}": (rank <= k).astype(np.float64) for k in HITS_AT}
    return {"mrr": 1 / rank, "mr": rank, **hits}


def _mean_reciprocal(better: NDArray[np.int64], tied: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean of 1/(m+1) .. 1/(m+n), which is (H(m+n) - H(m)) / n with harmonic numbers H."""
    last = better + tied
    harmonic = _harmonic_numbers(int(last.max(initial=1)).bit_length())
    # An untied answer needs no difference: 1 / rank is exact.
    return np.where(tied == 1, 1 / last, (harmonic[last] - harmonic[better]) / tied)


@lru_cache(maxsize=1)
def _harmonic_numbers(bits: int) -> NDArray[np.float64]:
    """H(0) .. H(2**bits - 1)."""
    terms = np.arange(1 << bits, dtype=np.float64)
    terms[1:] = 1 / terms[1:]
    return np.cumsum(terms)
