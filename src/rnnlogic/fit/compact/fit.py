"""Weights of few rules: sparse ones first, then fewer and fewer, fitted again each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rnnlogic.base.budget import check_time
from rnnlogic.fit.compact.ground import query_of
from rnnlogic.fit.compact.kernels import (
    add_scores,
    column_sums,
    cross_entropy,
    curvatures,
    minimised,
    restricted,
)
from rnnlogic.fit.compact.settings import CompactSettings
from rnnlogic.fit.compact.types import Floats, Ids, Imitation, Terms
from rnnlogic.predictors.loglinear.fit import Signs, clipped

FTOL = 1e-5  # relative; 1e-7 takes twice the passes for the same MRR
FINE_FTOL = 1e-7  # where an embedding decides most of the loss, what rules change is small against it
LEVELS = (10, 25, 50, 75, 100, 200)  # numbers of rules that every path stops at
NONE: Ids = np.empty(0, np.int64)


class Fit(NamedTuple):
    """How weights are fitted: penalties and limits."""

    weight_decay: float
    steps: int
    pinned: Ids  # never dropped
    penalty: Floats  # [k] on the size of each weight, once rules are dropped
    signs: Signs  # [k] of the weights


class Sparse(NamedTuple):
    """Rules and their weights; all others have none."""

    active: Ids
    weights: Floats  # [active]


def loss_of(problem: Imitation, active: Ids, weights: Floats) -> tuple[float, Floats]:
    """Mean cross entropy with weights [active], and its derivative by score [c]."""
    check_time()
    scores = problem.rest.copy()
    add_scores(problem.columns, active, weights, scores)
    upstream = np.empty(len(scores))
    loss = cross_entropy(problem.query_ptr, problem.target, problem.multiplicity, scores, upstream)
    return loss, upstream


def of_columns(problem: Imitation, active: Ids) -> Imitation:
    """The problem for some of its rules only; candidates that none of them reaches count as one."""
    return restricted(problem, active, not problem.rest.any())


def fitted(
    problem: Imitation, active: Ids, start: Floats, penalty: Floats, fit: Fit, signs: Signs | None = None
) -> Floats:
    """Weights [active] that minimise loss + sum penalty * |weight| + weight_decay / 2 * |weights|^2.

    Their `signs` [active] are those of the fit if not given.
    """
    if not len(active):
        return start
    check_time()
    small, everything = of_columns(problem, active), np.arange(len(active))
    signs = fit.signs[active] if signs is None else signs
    begin = clipped(start, signs)
    _, upstream = loss_of(small, everything, begin)
    scale = 1.0 / (second_derivatives(small, everything, upstream) + max(fit.weight_decay, 1e-6))
    tolerance = FINE_FTOL if problem.rest.any() else FTOL
    terms = Terms(penalty, scale, signs, fit.weight_decay)
    weights, _ = minimised(small, begin, terms, fit.steps, tolerance)
    return weights


def sparse_weights(problem: Imitation, start: Floats, penalty: Floats, fit: Fit, rounds: int = 3) -> Floats:
    """Weights [k], most of them 0, that minimise loss + penalty [k] * |weight|.

    A rule enters when the loss falls faster with its weight than the penalty grows.
    """
    weights, everything = start.copy(), np.arange(len(start))
    for _ in range(rounds):
        active = np.flatnonzero(weights)
        _, upstream = loss_of(problem, active, weights[active])
        slope = -column_sums(problem.columns, everything, upstream)
        gain = _towards(slope, fit.signs) / penalty
        gain[active] = 0.0
        entering = np.flatnonzero(gain > 1.02)
        if not len(entering):
            break
        entering = entering[np.argsort(-gain[entering], kind="stable")[: max(200, len(active))]]
        active = np.union1d(active, entering)
        weights[active] = fitted(problem, active, weights[active], penalty[active], fit)
    return weights


def _towards(slope: Floats, signs: Signs) -> Floats:
    """How fast the loss falls with each weight on the sides of zero where it may be."""
    return np.where(signs == 0, np.abs(slope), signs * slope)


def first_rules(problem: Imitation, cost: Floats, settings: CompactSettings, fit: Fit) -> Floats:
    """Sparse weights [k] with about `first` rules, along ever smaller penalties, shared out by cost [k]."""
    weights = np.zeros(len(cost))
    for sparsity in settings.sparsity:
        weights = sparse_weights(problem, weights, sparsity * cost, fit)
        if np.count_nonzero(weights) >= settings.first:
            break
    return weights


def second_derivatives(problem: Imitation, active: Ids, upstream: Floats) -> Floats:
    """Second derivative of the loss by the weight of each rule [active]."""
    query = query_of(problem.query_ptr)
    weight = np.bincount(query, problem.target, minlength=len(problem.query_ptr) - 1).astype(np.float64)
    probability = upstream + problem.target  # softmax times the query's weight
    return curvatures(problem.columns, active, query.astype(np.int32), probability, weight)


def saved_loss(problem: Imitation, active: Ids, weights: Floats) -> Floats:
    """About how much loss each rule [active] saves: half its squared weight times the curvature."""
    small, everything = of_columns(problem, active), np.arange(len(active))
    _, upstream = loss_of(small, everything, weights)
    saved: Floats = 0.5 * weights**2 * second_derivatives(small, everything, upstream)
    return saved


def dropped(problem: Imitation, model: Sparse, size: int, fit: Fit) -> Sparse:
    """The `size` rules that save most and all pinned ones, fitted again."""
    active, weights = model
    is_pinned = np.isin(active, fit.pinned)
    size = max(size, int(is_pinned.sum()))
    if len(active) > size:
        saved = np.where(is_pinned, np.inf, saved_loss(problem, active, weights))
        best = np.sort(np.argsort(-saved, kind="stable")[:size])
        active, weights = active[best], weights[best]
    weights = fitted(problem, active, weights, fit.penalty[active], fit)
    kept = (weights != 0) | np.isin(active, fit.pinned)
    return Sparse(active[kept], weights[kept])


def path_sizes(first: int, keep: float, wanted: Sequence[int]) -> list[int]:
    """Numbers of rules from `first` down to 1: each a share of the last, and all wanted ones."""
    sizes = {size for size in wanted if 0 < size < first}
    size = first
    while size > 0:
        sizes.add(size)
        size = min(size - 1, int(np.ceil(size * keep)))
    return sorted(sizes, reverse=True)


def shrink(
    problem: Imitation,
    weights: Floats,
    settings: CompactSettings,
    fit: Fit,
    spare: int = 0,
    reasons: Ids = NONE,
) -> Iterator[tuple[Ids, Floats, Floats]]:
    """Ever smaller models (rules, weights, loss that each rule saves) from sparse weights [k].

    All sizes that a path stops at leave room for `spare` more rules. `reasons` go last, the first at the end.
    """
    seen = np.union1d(np.flatnonzero(weights), np.union1d(fit.pinned, reasons))
    model = Sparse(seen, weights[seen])
    needed = len(np.union1d(fit.pinned, reasons))  # the smallest model that keeps all reasons
    levels = (*LEVELS, needed + spare, *(() if settings.rules is None else (settings.rules,)))
    wanted = [max(size - spare, 1) for size in levels]
    for size in path_sizes(min(len(seen), settings.first), settings.keep, wanted):
        pinned = np.union1d(fit.pinned, reasons[: max(size - len(fit.pinned), 0)])
        model = dropped(problem, model, size, fit._replace(pinned=pinned))
        if len(model.active):
            yield *model, saved_loss(problem, *model)
