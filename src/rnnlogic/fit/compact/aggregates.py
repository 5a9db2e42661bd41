"""Aggregates in a compact model: their values come from the rules that the model has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rnnlogic.features.aggregates import Fold
from rnnlogic.fit.compact.fit import Fit, Sparse, fitted, of_columns
from rnnlogic.fit.compact.types import Columns, Floats, Ids, Imitation

REASONS = 3  # of a relation: tried 1, 3 and 6
LEAST_WORTH = 0.5  # mean score that a reason gives to answers: below it, rules that imitate sums do more
# Candidate [n], rule [n] that reaches it, its value [n]
Rows = tuple[NDArray[np.int32], Ids, NDArray[np.float32]]


def rows_of(columns: Columns, active: Ids) -> Rows:
    """The candidates that some rules reach."""
    first = columns.ptr[active]
    sizes = columns.ptr[active + 1] - first
    starts = np.cumsum(sizes) - sizes
    place = np.arange(int(sizes.sum())) + np.repeat(first - starts, sizes)
    return columns.candidate[place], np.repeat(active, sizes), columns.value[place]


def reasons(fold: Fold, problem: Imitation, allowed: Ids, weight: float) -> Ids:
    """Few allowed rules: those that decide the aggregate for many answers of the full model, the best first.

    A model that has to do without them has no other in their place, however well it imitates by sums.
    `weight` is that of the aggregate in the full model.
    """
    rule, candidate = deciding(fold, rows_of(problem.columns, allowed), len(problem.target))
    score = problem.target[candidate] * fold.strength[rule]
    worth = weight * np.bincount(rule, score, len(fold.strength))
    first = np.argsort(-worth, kind="stable")[:REASONS]
    return first[worth[first] >= LEAST_WORTH]


def deciding(fold: Fold, rows: Rows, size: int) -> tuple[Ids, NDArray[np.int32]]:
    """The rules that decide the value of candidates [size], each with its candidate."""
    candidate, rule, values = rows
    value = fold.values(candidate, rule, size, values)
    own = fold.aggregate.decide(fold.strengths_at(rule, values), value[candidate])
    return rule[own], candidate[own]


def with_aggregates(
    folds: Sequence[Fold], problem: Imitation, model: Sparse, fit: Fit, staying: Ids
) -> Sparse:
    """A model fitted again together with aggregates; what gets no weight goes, but for `staying`."""
    active, everything = model.active, np.arange(len(model.active))
    small = of_columns(problem, active)
    candidate, rule, value = rows_of(small.columns, everything)
    columns = small.columns
    for fold in folds:
        values = fold.values(candidate, active[rule], len(small.target), value)
        reached = np.flatnonzero(values)
        columns = Columns(
            np.append(columns.ptr, columns.ptr[-1] + len(reached)),
            np.append(columns.candidate, reached.astype(np.int32)),
            np.append(columns.value, values[reached]),
        )
    places = [fold.place for fold in folds]
    both, start = np.append(active, places), np.append(model.weights, np.zeros(len(folds)))
    told = np.arange(len(both)), start, fit.penalty[both], fit
    weights = fitted(small._replace(columns=columns), *told, fit.signs[both])
    kept = (weights != 0) | np.isin(both, fit.pinned) | np.isin(both, staying)
    for fold, is_kept in zip(folds, kept[len(active) :].tolist(), strict=True):
        if is_kept:  # a rule without a weight of its own may be the one that decides
            needed = deciding(fold, (candidate, active[rule], value), len(small.target))[0]
            kept[: len(active)] |= np.isin(active, needed)
    order = np.argsort(both[kept])
    return Sparse(both[kept][order], weights[kept][order])


def add_aggregates(folds: Sequence[Fold], columns: Columns, model: Sparse, scores: Floats) -> Sparse:
    """Add to scores [c] what aggregates say in a model; the model without them."""
    is_other = ~np.isin(model.active, [fold.place for fold in folds])
    others = Sparse(model.active[is_other], model.weights[is_other])
    if not is_other.all():
        candidate, rule, value = rows_of(columns, others.active)
        weight = dict(zip(model.active.tolist(), model.weights.tolist(), strict=True))
        for fold in folds:
            if fold.place in weight:
                scores += weight[fold.place] * fold.values(candidate, rule, len(scores), value)
    return others
