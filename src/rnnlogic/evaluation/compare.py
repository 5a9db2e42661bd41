"""Is A better than B, or is it chance? Paired bootstrap over the facts that both were asked for.

Both directions of a fact are asked, and a model that knows the fact answers both, so these two queries are
not independent. Each sample therefore draws facts, with replacement, and takes all queries of each fact. A
and B answer the same queries in every sample. The interval is the middle 95 % of the differences over all
samples. The p-value is twice the share of samples on the far side of zero, and at least 2 / (samples + 1).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.ranks import query_metrics
from rnnlogic.evaluation.report import Report

COMPARED = ("mrr", "hits@1", "hits@10")
COVERAGE = 0.95  # of intervals: the usual one
DRAWN_AT_ONCE = 1 << 18  # facts, over several samples: this bounds memory to a few MB


@dataclass(frozen=True)
class Difference:
    """One metric of A and of B; the difference is A - B."""

    metric: str
    a: float
    b: float
    difference: float
    low: float  # the 95 % interval of the difference
    high: float
    p_value: float


@dataclass(frozen=True)
class RelationDifference:
    """One relation, both directions; `wins` are queries where A ranks the answer better than B."""

    relation: str
    queries: int
    mrr_a: float
    mrr_b: float
    difference: float
    wins: int
    losses: int


@dataclass(frozen=True)
class Comparison:
    """A compared with B on the same queries."""

    dataset: str
    split: str
    evidence: str
    queries: int
    facts: int  # what each sample draws
    samples: int
    seed: int
    metrics: tuple[Difference, ...]
    wins: int  # queries where A ranks the answer better
    ties: int
    losses: int
    relations: tuple[RelationDifference, ...]  # largest difference first

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def compare(a: Report, b: Report, samples: int = 10_000, seed: int = 0) -> Comparison:
    """Compare two evaluations of the same queries; ties within a ranking count by expectation."""
    _require_same_questions(a, b)
    if samples < 1:
        raise RNNLogicError(f"samples must be at least 1, not {samples}")
    of_a, of_b = _columns(a), _columns(b)  # [queries, metrics]
    fact = facts_of(a)  # [queries]
    draws = resampled_means(of_a - of_b, fact, samples, np.random.default_rng(seed))
    metrics = [
        _difference(name, float(of_a[:, i].mean()), float(of_b[:, i].mean()), draws[:, i])
        for i, name in enumerate(COMPARED)
    ]
    better, worse = of_a[:, 0] > of_b[:, 0], of_a[:, 0] < of_b[:, 0]
    wins, losses = int(better.sum()), int(worse.sum())
    return Comparison(
        a.dataset,
        a.split,
        a.evidence,
        a.queries,
        int(fact.max(initial=-1)) + 1,
        samples,
        seed,
        tuple(metrics),
        wins,
        a.queries - wins - losses,
        losses,
        _by_relation(a, of_a[:, 0], of_b[:, 0]),
    )


def facts_of(report: Report) -> NDArray[np.int64]:
    """A number 0.. for each query [n], the same for both directions of one fact."""
    head, relation, tail = report.asked.T.astype(np.int64)
    num_relations = len(report.relations)
    is_inverse = relation >= num_relations
    first, last = np.where(is_inverse, tail, head), np.where(is_inverse, head, tail)
    size = 1 + max(head.max(initial=0), tail.max(initial=0))
    numbers: NDArray[np.int64] = np.unique(
        ((relation % num_relations) * size + first) * size + last, return_inverse=True
    )[1]
    return numbers


def resampled_means(
    values: NDArray[np.float64],  # [queries, k]
    fact: NDArray[np.int64],  # [queries] the fact 0..f-1 of each query
    samples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Means [samples, k] over queries, of facts drawn with replacement, as many as there are."""
    facts = int(fact.max()) + 1
    table = np.empty((facts, values.shape[1] + 1))  # sums of each fact, and its number of queries
    for i, column in enumerate((*values.T, np.ones(len(fact)))):
        table[:, i] = np.bincount(fact, column, minlength=facts)
    rows = max(1, DRAWN_AT_ONCE // facts)
    means = []
    for start in range(0, samples, rows):
        size = min(rows, samples - start)
        drawn = rng.integers(facts, size=(size, facts)) + facts * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * facts).reshape(size, facts)
        totals = times.astype(np.float64) @ table
        means.append(totals[:, :-1] / totals[:, -1:])
    return np.concatenate(means)


def _require_same_questions(a: Report, b: Report) -> None:
    for what in ("split", "evidence", "protocol", "relations"):
        if getattr(a, what) != getattr(b, what):
            raise RNNLogicError(f"the two evaluations differ in {what}; evaluate both the same way")
    same_asked = np.array_equal(a.asked, b.asked)
    if not same_asked or not np.array_equal(a.ranks.candidates, b.ranks.candidates):
        what = "candidates" if same_asked else "queries"
        raise RNNLogicError(f"the two evaluations differ in their {what}: they are of different data")


def _columns(report: Report) -> NDArray[np.float64]:
    """The metrics compared, for each query, [queries, metrics]."""
    values = query_metrics(report.ranks)
    return np.stack([values[name] for name in COMPARED], axis=1)


def _difference(metric: str, a: float, b: float, draws: NDArray[np.float64]) -> Difference:
    low, high = np.quantile(draws, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    beyond = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    p_value = min(1.0, 2 * (beyond + 1) / (len(draws) + 1))
    return Difference(metric, a, b, a - b, float(low), float(high), p_value)


def _by_relation(
    report: Report, of_a: NDArray[np.float64], of_b: NDArray[np.float64]
) -> tuple[RelationDifference, ...]:
    relation, size = report.asked[:, 1] % len(report.relations), len(report.relations)
    queries = np.bincount(relation, minlength=size)
    wins, losses = (np.bincount(relation[mask], minlength=size) for mask in (of_a > of_b, of_a < of_b))
    mean_a, mean_b = (
        np.bincount(relation, values, minlength=size) / np.maximum(queries, 1) for values in (of_a, of_b)
    )
    rows = [
        RelationDifference(
            report.relations[r],
            int(queries[r]),
            float(mean_a[r]),
            float(mean_b[r]),
            float(mean_a[r] - mean_b[r]),
            int(wins[r]),
            int(losses[r]),
        )
        for r in np.flatnonzero(queries)
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.difference)))
