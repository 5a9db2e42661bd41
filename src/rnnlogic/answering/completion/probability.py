"""From features to the probability that a fact is true, by logistic regression on facts that were held back.

Only a share of the true facts is known to be true (those of the validation split); the others look like false
ones. If it is chance which of them were found, a true fact has been found with probability `share`, whatever
its features, so the chance that a fact x is found is share * p(x): its likelihood is maximised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RIDGE = 1.0  # penalty of the weights of standardised features, as many facts' worth
CEILING = 0.9  # quantile of the facts found at which a feature is cut off
BINS = 10
LEAST = 0.1  # facts less probable than that do not count in the calibration error
FOLDS = 5

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProbabilityModel:
    """p = sigmoid(weights * features + offset of the relation), with features up to a ceiling.

    Scores have no limit, but beyond those of nearly all facts found nobody has seen what more of it means.
    """

    ceiling: Values  # [features]
    mean: Values  # [features]
    scale: Values  # [features]
    weights: Values  # [features]
    offsets: Values  # [relations]
    constant: float

    def logits(self, features: Values, relation: NDArray[np.integer] | int) -> Values:
        """Log-odds [n] of facts with features [n, features] and relations [n]."""
        slopes = self.weights / self.scale
        fixed = self.constant - float(self.mean @ slopes)
        return np.asarray(np.minimum(features, self.ceiling) @ slopes + self.offsets[relation] + fixed)

    def probabilities(self, features: Values, relation: NDArray[np.integer] | int) -> Values:
        """Probabilities [n]."""
        return sigmoid(self.logits(features, relation))


@dataclass(frozen=True, eq=False)
class Sample:
    """Facts that rules propose, some of them found to be true; each stands for `weight` facts."""

    features: Values  # [n, features]
    relation: NDArray[np.int64]  # [n]
    is_found: NDArray[np.bool_]  # [n]
    weight: Values  # [n]
    group: NDArray[np.int64]  # [n] facts of one group are fitted or tested together

    def __len__(self) -> int:
        return len(self.relation)

    def select(self, rows: NDArray[Any]) -> Sample:
        """Some of the facts: a mask or indices."""
        columns = (self.features, self.relation, self.is_found, self.weight, self.group)
        return Sample(*(column[rows] for column in columns))


def fit_probability(
    sample: Sample, share: float, num_relations: int, limited: Sequence[int] = ()
) -> ProbabilityModel:
    """The model under which the facts found are most likely; the weights are kept small.

    The features `limited` get a ceiling.
    """
    from scipy.optimize import minimize

    ceiling = np.full(sample.features.shape[1], np.inf)
    for column in limited:
        ceiling[column] = np.quantile(sample.features[sample.is_found, column], CEILING)
    features = np.minimum(sample.features, ceiling)
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-9] = 1.0
    standard = (features - mean) / scale
    width, found = standard.shape[1], float(sample.weight @ sample.is_found)
    start = np.zeros(width + num_relations + 1)
    rate = np.clip(found / share / sample.weight.sum(), 1e-9, 0.5)
    start[-1] = np.log(rate / (1 - rate))

    def loss(parameters: Values) -> tuple[float, Values]:
        """Minus the log-likelihood and the penalty, for each fact found; and the gradient."""
        weights, offsets, constant = parameters[:width], parameters[width:-1], parameters[-1]
        value, slope = _loss(standard @ weights + offsets[sample.relation] + constant, sample, share)
        by_relation = np.bincount(sample.relation, slope, num_relations)
        gradient = np.concatenate([slope @ standard, by_relation, [slope.sum()]])
        gradient[:-1] += RIDGE * parameters[:-1]
        penalty = RIDGE * float(parameters[:-1] @ parameters[:-1]) / 2
        return (value + penalty) / found, gradient / found

    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-8, "gtol": 1e-5}).x
    return ProbabilityModel(ceiling, mean, scale, best[:width], best[width:-1], float(best[-1]))


def _loss(logits: Values, sample: Sample, share: float) -> tuple[float, Values]:
    """-log likelihood, and its derivative by the logits [n]."""
    p = sigmoid(logits)
    unfound = np.maximum(1 - share * p, 1e-12)
    log_found = np.log(share) - np.logaddexp(0, -logits)
    values = np.where(sample.is_found, -log_found, -np.log(unfound))
    slopes = np.where(sample.is_found, p - 1, share * p * (1 - p) / unfound)
    return float(sample.weight @ values), sample.weight * slopes


def sigmoid(logits: Values) -> Values:
    """1 / (1 + exp(-logits))."""
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))


@dataclass(frozen=True)
class Bin:
    """Facts of similar probability."""

    low: float
    high: float
    facts: float  # how many, by their weights
    predicted: float  # mean probability
    observed: float  # share that is true, as estimated from those found; at most 1


@dataclass(frozen=True)
class Reliability:
    """What probabilities are worth: predicted and observed, for facts that they were not fitted on."""

    bins: tuple[Bin, ...]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of predicted and observed, above LEAST."""
        counted = [one for one in self.bins if one.low >= LEAST - 1e-9]
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


def reliability(probability: Values, is_true: Values, weight: Values) -> Reliability:
    """Facts by probability [n]; `is_true` [n] is 0 or 1, or 1/share where only a share was found."""
    place = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    facts = np.bincount(place, weight, BINS)
    predicted, observed = (np.bincount(place, weight * v, BINS) for v in (probability, is_true))
    return Reliability(
        tuple(
            Bin(i / BINS, (i + 1) / BINS, count, one_predicted / count, min(one_observed / count, 1.0))
            for i, (count, one_predicted, one_observed) in enumerate(
                zip(facts.tolist(), predicted.tolist(), observed.tolist(), strict=True)
            )
            if count
        )
    )


def cross_validated(
    sample: Sample, share: float, num_relations: int, limited: Sequence[int] = ()
) -> Reliability:
    """Reliability with every group's probabilities from a fit to the other groups."""
    probability = np.zeros(len(sample))
    for part in _folds(sample.group):
        if part.any() and sample.is_found[~part].any():
            model = fit_probability(sample.select(~part), share, num_relations, limited)
            probability[part] = model.probabilities(sample.features[part], sample.relation[part])
    return reliability(probability, sample.is_found / share, sample.weight)


def _folds(group: NDArray[np.int64]) -> Iterator[NDArray[np.bool_]]:
    """Masks [n] of the parts."""
    shuffled = np.random.default_rng(0).permutation(int(group.max(initial=0)) + 1)
    for fold in range(FOLDS):
        yield shuffled[group] % FOLDS == fold
