"""The ranks of right answers, and their metrics: mean rank, mean reciprocal rank and hits@k.

With m candidates better than the answer and n tied with it (the answer included), the answer can stand at
any of the ranks m+1 .. m+n. There are three tie rules:

- `expected`: each metric is averaged over these ranks (the paper's rule);
- `realistic`: the metrics of the one rank m + (n+1)/2, their mean;
- `pessimistic`: the metrics of the last rank m + n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError

Pairs = tuple[NDArray[np.integer], NDArray[np.integer]]  # rows [f] and entities [f], index arrays


class UndefinedScoreError(RNNLogicError):
    """A query has a score that is not a number, so its answer has no rank."""

    def __init__(self, row: int, entity: int) -> None:
        self.row, self.entity = row, entity
        super().__init__(f"query {row} cannot be ranked: the score of entity {entity} is not a number (NaN)")

    def __reduce__(self) -> tuple[type[UndefinedScoreError], tuple[int, int]]:
        return UndefinedScoreError, (self.row, self.entity)


@dataclass(frozen=True, eq=False)
class Ranks:
    """For each of n queries, how many candidates beat the answer, how many equal it, how many there are."""

    better: NDArray[np.int64]  # [n] candidates scored strictly higher than the answer
    tied: NDArray[np.int64]  # [n] candidates with the answer's score, the answer included
    candidates: NDArray[np.int64]  # [n] candidates in all, the answer included

    def __len__(self) -> int:
        return len(self.better)

    def select(self, queries: slice | NDArray[np.integer] | NDArray[np.bool_]) -> Ranks:
        """The ranks of some of the queries: a slice, a mask or indices."""
        return Ranks(self.better[queries], self.tied[queries], self.candidates[queries])

    @staticmethod
    def concatenate(parts: Sequence[Ranks]) -> Ranks:
        """The ranks of all parts, one part after another."""
        return Ranks(
            np.concatenate([part.better for part in parts]),
            np.concatenate([part.tied for part in parts]),
            np.concatenate([part.candidates for part in parts]),
        )


def rank_answers(
    scores: NDArray[np.floating],  # [B, E]
    answers: NDArray[np.integer],  # [B]
    filtered: Pairs,  # (row, entity) pairs to leave out; a row's own answer always stays
) -> Ranks:
    """Compare each row's answer with all entities that are not filtered.

    A score of -inf marks an unreached entity: such an answer is tied with every other unreached candidate,
    behind all reached ones. NaN raises `UndefinedScoreError`.
    """
    refuse_nan(scores)
    num_rows, num_entities = scores.shape
    answer_scores = scores[np.arange(num_rows), answers]  # [B]
    rows, entities = _others(filtered, answers, num_entities)
    left_out, limits = scores[rows, entities], answer_scores[rows]

    def per_row(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
        return np.bincount(pairs, minlength=num_rows)

    above = np.count_nonzero(scores > answer_scores[:, None], axis=1)
    equal = np.count_nonzero(scores == answer_scores[:, None], axis=1)
    return Ranks(
        better=above - per_row(rows[left_out > limits]),
        tied=equal - per_row(rows[left_out == limits]),
        candidates=num_entities - per_row(rows),
    )


def refuse_nan(scores: NDArray[np.floating]) -> None:
    """Raise `UndefinedScoreError` for the first row [B, E] with a score that is not a number."""
    undefined = np.isnan(scores.min(axis=1))  # min passes NaN on and needs no array of the size of scores
    if undefined.any():
        row = int(np.argmax(undefined))
        raise UndefinedScoreError(row, int(np.argmax(np.isnan(scores[row]))))


def _others(filtered: Pairs, answers: NDArray[np.integer], num_entities: int) -> Pairs:
    """The filtered pairs, each once, without the answers themselves."""
    rows, entities = (np.asarray(column, dtype=np.int64) for column in filtered)
    keys = rows * num_entities + entities
    if np.any(keys[1:] <= keys[:-1]):
        rows, entities = np.divmod(np.unique(keys), num_entities)
    keep = entities != answers[rows]
    return rows[keep], entities[keep]


class NegativeSampler:
    """Draws distinct entities that are not known answers, all equally likely.

    One generator serves the queries in order, so results depend on that order but not on chunks.
    """

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.random = count, np.random.default_rng(seed)

    def draw(self, known: NDArray[np.integer], num_entities: int) -> NDArray[np.int64]:
        """`count` entities that are not in `known` (ascending), or all of those if there are fewer."""
        left = num_entities - len(known)
        places = self.random.choice(left, min(self.count, left), replace=False)  # among the others
        return np.asarray(places + np.searchsorted(known - np.arange(len(known)), places, side="right"))

    def rank(self, scores: NDArray[np.floating], answers: NDArray[np.integer], known: Pairs) -> Ranks:
        """Compare each row's answer [B] with entities drawn for it; scores [B, E], known (row, entity) pairs.

        Every answer is among the known answers of its row, and pairs ascend.
        """
        refuse_nan(scores)
        ends = np.searchsorted(known[0], np.arange(len(answers) + 1))
        better, tied, candidates = np.zeros((3, len(answers)), np.int64)
        for row, answer in enumerate(answers):
            drawn = self.draw(known[1][ends[row] : ends[row + 1]], scores.shape[1])
            theirs, mine = scores[row, drawn], scores[row, answer]
            better[row] = np.count_nonzero(theirs > mine)
            tied[row] = np.count_nonzero(theirs == mine) + 1
            candidates[row] = len(drawn) + 1
        return Ranks(better, tied, candidates)


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
