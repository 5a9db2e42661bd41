"""What probabilities are worth: predicted beside observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.calibrate.probability import (
    NO_LIMITS,
    Columns,
    ProbabilityModel,
    Rows,
    Values,
    fit_probability,
)

BINS = 10
LEAST = 0.1  # facts less probable than that do not count in the calibration error
FOLDS = 5


@dataclass(frozen=True)
class Bin:
    """Facts of similar probability."""

    low: float
    high: float
    facts: float  # how many, by their weights
    predicted: float  # mean probability
    observed: float  # share that is true; at most 1


@dataclass(frozen=True)
class Reliability:
    """Predicted and observed, bin by bin."""

    bins: tuple[Bin, ...]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of predicted and observed, above LEAST."""
        return self.error_from(LEAST)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is as probable as LEAST, so that there is nothing to err about."""
        return all(one.low < LEAST for one in self.bins)

    def error_from(self, least: float) -> float:
        """The same over all facts whose probability is at least so high."""
        counted = [one for one in self.bins if one.low >= least - 1e-9]
        facts = sum(one.facts for one in counted)
        return sum(one.facts * abs(one.predicted - one.observed) for one in counted) / facts if facts else 0.0

    def table(self) -> list[dict[str, Any]]:
        """One row for each bin that has facts."""
        return [
            {
                "probability": f"{one.low:.1f}-{one.high:.1f}",
                "facts": round(one.facts),
                "predicted": one.predicted,
                "observed": one.observed,
            }
            for one in self.bins
        ]

    def as_list(self) -> list[dict[str, float]]:
        """The bins in full, for JSON."""
        return [asdict(one) for one in self.bins]


def reliability(probability: Values, is_true: Values, weight: Values) -> Reliability:
    """Facts by probability [n]; `is_true` [n] is 0 or 1, or 1/share where only a share can be seen."""
    return _binned(probability, weight, probability, weight * is_true)


def held_out_logits(
    cases: Rows,
    proposals: Rows,
    groups: tuple[NDArray[np.integer], NDArray[np.integer]],  # of cases and of proposals
    num_relations: int,
    columns: Columns = NO_LIMITS,
    near: ProbabilityModel | None = None,
) -> tuple[Values, Values]:
    """Log-odds of cases and of proposals, those of every group by a fit to the other groups.

    The model of all groups is `near` those of the others.
    """
    logits = np.zeros(len(cases)), np.zeros(len(proposals))
    for of_cases, of_proposals in zip(_folds(groups[0]), _folds(groups[1]), strict=True):
        if not of_cases.any() and not of_proposals.any():
            continue
        model = fit_probability(
            cases.select(~of_cases), proposals.select(~of_proposals), num_relations, columns, near
        )
        for found, rows, part in zip(logits, (cases, proposals), (of_cases, of_proposals), strict=True):
            found[part] = model.logits(rows.features[part], rows.relation[part])
    return logits


def reliability_of_cases(
    cases: Values, case_weight: Values, proposals: Values, weight: Values
) -> Reliability:
    """Proposals by probability; how many of them are true is estimated by the probabilities of the cases."""
    return _binned(proposals, weight, cases, case_weight)


def _binned(probability: Values, weight: Values, true_at: Values, true: Values) -> Reliability:
    """Facts by probability, and where how many true ones are."""
    facts = np.bincount(_bin(probability), weight, BINS)
    predicted = np.bincount(_bin(probability), weight * probability, BINS)
    observed = np.bincount(_bin(true_at), true, BINS)
    rows = zip(facts.tolist(), predicted.tolist(), observed.tolist(), strict=True)
    return Reliability(
        tuple(
            Bin(i / BINS, (i + 1) / BINS, number, sum_predicted / number, min(sum_true / number, 1.0))
            for i, (number, sum_predicted, sum_true) in enumerate(rows)
            if number
        )
    )


def _bin(probability: Values) -> NDArray[np.int64]:
    return np.minimum((probability * BINS).astype(np.int64), BINS - 1)


def _folds(group: NDArray[np.integer]) -> Iterator[NDArray[np.bool_]]:
    """Masks [n] of the parts; a group belongs to the same part wherever it occurs."""
    mixed = (group.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    for fold in range(FOLDS):
        yield mixed % np.uint64(FOLDS) == fold
