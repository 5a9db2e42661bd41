"""From features to the probability that a fact is true, by logistic regression without false examples.

Nobody can tell a true fact that is missing from a false one, so nothing is labelled. Two things are known:
how true missing facts look (the cases: facts that were hidden, which stand for all that are missing), and how
proposals look as a whole, true and false. Where n of N proposals with the same features are true, a row
drawn from cases and proposals together is a case with chance n / (n + N) = p / (1 + p). The likelihood of
that is maximised.

(Matching the sums over cases, as the plain logistic loss would, was tried and is not robust: where by chance
there are more cases than proposals, it says 1.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import check_time
from rnnlogic.base.chances import expit

RIDGE = 1.0  # penalty of the weights of standardised features, as many cases' worth
REGION = 0.05  # probabilities from here on are set right once more
AS_THEY_ARE = np.array([1.0, 1.0, 0.0])  # factors of log-odds below and above 0, and a shift
FARTHEST = 10.0  # that log-odds of a relation are shifted: beyond, each fact is as good as certain

Values = NDArray[np.float64]


class Columns(NamedTuple):
    """Places of features with limits."""

    capped: tuple[int, ...] = ()  # get a ceiling
    lowering: tuple[int, ...] = ()  # may make a fact less probable, never more


NO_LIMITS = Columns()


@dataclass(frozen=True, eq=False)
class ProbabilityModel:
    """p = sigmoid(weights * features + offset of the relation, stretched), with features up to a ceiling.

    Scores have no limit, but beyond those of nearly all cases nobody has seen what more of it means.
    """

    ceiling: Values  # [features]
    mean: Values  # [features]
    scale: Values  # [features]
    weights: Values  # [features]
    offsets: Values  # [relations]
    constant: float
    stretch: Values = field(default_factory=AS_THEY_ARE.copy)

    def logits(self, features: Values, relation: NDArray[np.integer] | int) -> Values:
        """Log-odds [n] of facts with features [n, features] and relations [n]."""
        slopes = self.weights / self.scale
        fixed = self.constant - float(self.mean @ slopes)
        capped = np.minimum(features, self.ceiling)
        total = np.zeros(len(capped))  # a sum over columns: the same fact has the same value in any batch
        for column, slope in zip(capped.T, slopes.tolist(), strict=True):
            total += column * slope
        return stretched(np.asarray(total + self.offsets[relation] + fixed), self.stretch)

    def probabilities(self, features: Values, relation: NDArray[np.integer] | int) -> Values:
        """Probabilities [n]."""
        return np.asarray(expit(self.logits(features, relation)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Facts with their features; each stands for `weight` facts."""

    features: Values  # [n, features]
    relation: NDArray[np.int64]  # [n] below R
    weight: Values  # [n]

    def __len__(self) -> int:
        return len(self.relation)

    def select(self, rows: NDArray[np.bool_]) -> Rows:
        """Those of a mask."""
        return Rows(self.features[rows], self.relation[rows], self.weight[rows])


def fit_probability(
    cases: Rows,
    proposals: Rows,
    num_relations: int,
    columns: Columns = NO_LIMITS,
    near: ProbabilityModel | None = None,
) -> ProbabilityModel:
    """The model under which the cases are most likely; the weights are kept small.

    The search begins at a model that is `near`, if there is one.
    """
    from scipy.optimize import minimize

    width = proposals.features.shape[1]
    ceiling = np.full(width, np.inf)
    for column in columns.capped if len(cases) else ():
        # A feature is cut off at this quantile of the cases
        ceiling[column] = np.quantile(cases.features[:, column], 0.9)
    features = np.minimum(np.concatenate([cases.features, proposals.features]), ceiling)
    if not len(features):
        nothing = np.zeros(width)
        return ProbabilityModel(ceiling, nothing, nothing + 1, nothing, np.zeros(num_relations), _logit(0.0))
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.maximum(scale, 0.5)  # so one or two cases do not make what is rare, such as loops, decisive
    standard = (features - mean) / scale
    relation = np.concatenate([cases.relation, proposals.relation])
    unit = float(cases.weight.mean()) if len(cases) else 1.0  # the penalty counts cases, not facts
    weight = np.concatenate([cases.weight, proposals.weight]) / unit
    start = np.zeros(width + num_relations + 1)
    start[-1] = _logit(float(cases.weight.sum() / max(proposals.weight.sum(), 1e-9)))
    if near is not None:
        start = np.concatenate([near.weights, near.offsets, [near.constant]])

    def loss(parameters: Values) -> tuple[float, Values]:
        """Minus the log-likelihood and the penalty, for each case; and the gradient."""
        check_time()
        weights, offsets, constant = parameters[:width], parameters[width:-1], parameters[-1]
        # einsum: BLAS would use all cores for so little, and give other digits with other numbers of them.
        logits = np.einsum("ij,j->i", standard, weights) + offsets[relation] + constant
        value, slope = _loss(logits, len(cases), weight)
        by_relation = np.bincount(relation, slope, num_relations)
        gradient = np.concatenate([np.einsum("i,ij->j", slope, standard), by_relation, [slope.sum()]])
        gradient[:-1] += RIDGE * parameters[:-1]
        penalty = RIDGE * float(parameters[:-1] @ parameters[:-1]) / 2
        return (value + penalty) / max(len(cases), 1), gradient / max(len(cases), 1)

    limits = [(None, 0.0 if i in columns.lowering else None) for i in range(len(start))]
    options = {"ftol": 1e-8, "gtol": 1e-5}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=options).x
    return ProbabilityModel(ceiling, mean, scale, best[:width], best[width:-1], float(best[-1]))


def stretched(logits: Values, stretch: Values) -> Values:
    """Log-odds times a factor below 0 and another one above, and shifted; a steady function of them."""
    below, above, shift = stretch
    return np.asarray(below * np.minimum(logits, 0.0) + above * np.maximum(logits, 0.0) + shift)


def recalibration(cases: Values, case_weight: Values, logits: Values, weight: Values) -> Values:
    """The stretch of logits that suits cases and proposals best, among those of some probability.

    The model above is fitted to all proposals, nearly all of them hopeless. This looks only at those from
    REGION on, by logits of fits that have not seen them.
    """
    from scipy.optimize import minimize

    least = float(np.log(REGION / (1 - REGION)))
    kept = cases > least, logits > least
    z = np.concatenate([cases[kept[0]], logits[kept[1]]])
    w = np.concatenate([case_weight[kept[0]], weight[kept[1]]])
    if not kept[0].any() or not kept[1].any():
        return AS_THEY_ARE
    w = w / case_weight.mean()
    number = int(kept[0].sum())
    parts = np.stack([np.minimum(z, 0.0), np.maximum(z, 0.0), np.ones(len(z))])

    def loss(stretch: Values) -> tuple[float, Values]:
        value, slopes = _loss(np.einsum("ij,i->j", parts, stretch), number, w)
        change = stretch - AS_THEY_ARE
        gradient = np.einsum("ij,j->i", parts, slopes) + 2 * RIDGE * change
        return value + RIDGE * float(change @ change), gradient

    limits = [(0.1, 3.0)] * 2 + [(None, None)]  # factors above 0 keep the order of facts
    return np.asarray(minimize(loss, AS_THEY_ARE, jac=True, method="L-BFGS-B", bounds=limits).x)


def relation_shifts(cases: Rows, proposals: Rows, model: ProbabilityModel) -> Values:
    """What to add to the offsets [R], so that each relation has about as many probable facts as cases.

    The number of cases is Poisson with what the probabilities from REGION on sum to; the shifts are normal
    with standard deviation 1. So relations with few cases stay with the whole.
    """
    shifts = np.zeros(len(model.offsets))
    if not len(cases):
        return shifts
    least, unit = np.log(REGION / (1 - REGION)), float(cases.weight.mean())
    plain = replace(model, stretch=AS_THEY_ARE)
    rows, kept = (cases, proposals), []
    for part in rows:
        logits = plain.logits(part.features, part.relation)
        is_probable = stretched(logits, model.stretch) > least
        kept.append((logits[is_probable], part.relation[is_probable], part.weight[is_probable] / unit))
    (_, of_cases, stands_for), (logits, relation, weight) = kept
    number = np.bincount(of_cases, stands_for, len(shifts))
    for one in np.unique(relation).tolist():
        own, count = relation == one, number[one]
        z, w = logits[own], weight[own]

        def loss(shift: float, z: Values = z, w: Values = w, count: float = count) -> float:
            expected = float(w @ expit(stretched(z + shift, model.stretch)))
            return expected - count * float(np.log(max(expected, 1e-9))) + shift**2 / 2

        shifts[one] = best_shift(loss)
    return shifts


def best_shift(loss: Callable[[float], float]) -> float:
    """The shift of log-odds with the smallest loss, within +-FARTHEST."""
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(loss, bounds=(-FARTHEST, FARTHEST), method="bounded").x)


def _loss(logits: Values, cases: int, weight: Values) -> tuple[float, Values]:
    """-log likelihood, and its derivative by the logits [n], of which the first are those of the cases."""
    p = expit(logits)
    values, no = np.log1p(p), 1 - p
    values[:cases] += np.logaddexp(0, -logits[:cases])
    slopes = p * no / (1 + p)
    slopes[:cases] -= no[:cases]
    return float(weight @ values), weight * slopes


def _logit(rate: float) -> float:
    within = min(max(rate, 1e-9), 0.5)
    return float(np.log(within / (1 - within)))


BINS = 10  # as people read probabilities: to one digit
LEAST = 0.1  # facts less probable than that do not count in the calibration error
FOLDS = 5  # of cross-validation


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
        """Expected calibration error: the mean distance of predicted and observed, from LEAST on."""
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
