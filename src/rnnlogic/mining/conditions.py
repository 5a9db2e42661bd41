"""Mine conditions on numbers and dates: `risk(X,high) <- age(X) >= 60`, `elder(X,Y) <- born(X) < born(Y)`.

An interval is as good as the facts that it explains: the log-likelihood that telling inside from outside
gains over one rate for all, less the logarithm of the cases for each cut that was chosen. All intervals
between the quantiles of an attribute are tried for each answer of a relation, and the best one is a rule. For
a comparison the pairs of a relation are told from all pairs of its heads and tails. Nothing is random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import map_ordered
from rnnlogic.data.attributes import Kind
from rnnlogic.data.graph import Graph
from rnnlogic.features.constants.kernels import SUPPORT
from rnnlogic.rules.conditions import Condition, Interval, after
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import NONE
from rnnlogic.rules.ruleset import RuleSet

Numbers = NDArray[np.float64]
Kinds = Sequence[Kind]
CUTS = 40  # quantiles that may bound an interval: a cut is right to 2.5 % of the values
PAIRS = 500  # heads, and tails, whose pairs stand for all: evenly spaced in the order of their values
MATCHES = 1000  # entities that a comparison may reach from a typical head, as the base rate does
DIGITS = 12  # of a bound after its point, at most


class Scored(NamedTuple):
    """A rule, and how much it explains: the log-likelihood gained."""

    rule: Condition
    score: float


class _Intervals(NamedTuple):
    """Some intervals: places where they begin and end among sorted bounds, and how many cuts each chose."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    cuts: NDArray[np.int64]

    @classmethod
    def between(cls, bins: int) -> _Intervals:
        """All intervals of whole bins but that of all."""
        first, last = np.triu_indices(bins + 1, 1)
        cuts = (first > 0).astype(np.int64) + (last < bins)
        order = np.argsort(cuts, kind="stable")
        order = order[cuts[order] > 0]
        return cls(first[order], last[order], cuts[order])


def mine_conditions(
    graph: Graph, kinds: Kinds, number: int, banned: Banned | None = None, threads: int | None = None
) -> RuleSet:
    """The `number` conditions of each relation that explain most, and their mirror images."""
    if graph.values is None or not number:
        return RuleSet.from_rules([])
    relations = [r for r in range(graph.num_relations) if len(graph.edges(r)[0])]
    found = list[Condition]()
    for best in map_ordered(_best, relations, (graph, kinds, number), threads):
        found += [one.rule for one in best]
    rules = RuleSet.from_rules([*found, *(rule.turned(graph.inverse(rule.head)) for rule in found)])
    return rules if banned is None else banned.keep(rules)


def conditions_of(graph: Graph, kinds: Kinds, relation: int) -> list[Scored]:
    """All conditions for a relation that explain anything, the best first; `kinds` of all attributes."""
    inverse = graph.inverse(relation)
    found = [*_unary(graph, relation), *_comparisons(graph, kinds, relation)]
    for rule, score in _unary(graph, inverse):
        found.append(Scored(rule.turned(relation), score))
    return sorted(found, key=lambda one: (-one.score, one.rule))


def _best(shared: tuple[Graph, Kinds, int], relation: int) -> list[Scored]:
    graph, kinds, number = shared
    return conditions_of(graph, kinds, relation)[:number]


def _unary(graph: Graph, relation: int) -> Iterator[Scored]:
    """The best interval of each attribute for each answer of a relation."""
    assert graph.values is not None
    heads, tails = graph.edges(relation)
    tried = len(graph.values) * max(len(np.unique(tails)), 1)
    for attribute, values in enumerate(graph.values):
        known = np.flatnonzero(~np.isnan(values))
        bounds = _bounds(values[known])
        if len(bounds) < 2:
            continue
        bin_of = np.searchsorted(bounds, values, side="right") - 1
        sizes = np.bincount(bin_of[known], minlength=len(bounds))
        intervals = _Intervals.between(len(bounds))
        own = ~np.isnan(values[heads])
        order = np.argsort(tails[own], kind="stable")
        answers, starts = np.unique(tails[own][order], return_index=True)
        parts = np.split(bin_of[heads[own]][order], starts[1:]) if len(starts) else []
        for answer, part in zip(answers.tolist(), parts, strict=True):
            if len(part) <= SUPPORT:
                continue
            best = _best_interval(np.bincount(part, minlength=len(bounds)), sizes, intervals)
            if best is not None and best[1] > math.log(tried):
                interval = _rounded(values[known], bounds, intervals, best[0])
                yield Scored(Condition(relation, answer, attribute, NONE, interval), best[1])


def _best_interval(
    right: NDArray[np.int64], sizes: NDArray[np.int64], intervals: _Intervals
) -> tuple[int, float] | None:
    """The interval that explains most, by right cases and cases of each bin; None if none does."""
    ahead, before = np.append(0, np.cumsum(sizes)), np.append(0, np.cumsum(right))
    cases = ahead[intervals.last] - ahead[intervals.first]
    hits = before[intervals.last] - before[intervals.first]
    total, whole = int(right.sum()), int(sizes.sum())
    gain = _likelihood(hits, cases) + _likelihood(total - hits, whole - cases)
    score = gain - float(_likelihood(total, whole)) - intervals.cuts * math.log(whole)
    score[(hits * whole <= total * cases) | (hits <= SUPPORT)] = -math.inf
    best = int(np.argmax(score))  # of equal ones that with the fewest cuts
    return (best, float(score[best])) if score[best] > 0 else None


def _likelihood(right: NDArray[np.int64] | int, cases: NDArray[np.int64] | int) -> Numbers:
    """The log-likelihood of so many right cases at their own rate."""
    right, cases = np.asarray(right, float), np.asarray(cases, float)
    rate = np.clip(right / np.maximum(cases, 1), 1e-300, 1)
    other = np.clip(1 - right / np.maximum(cases, 1), 1e-300, 1)
    return np.asarray(right * np.log(rate) + (cases - right) * np.log(other))


def _bounds(values: Numbers) -> Numbers:
    """Where bins begin: the least value, and quantiles of the others; each value, if they are few."""
    different = np.unique(values)
    if len(different) <= CUTS + 1:
        return different
    return np.unique(np.sort(values)[np.linspace(0, len(values), CUTS + 1, endpoint=False).astype(int)])


def _rounded(values: Numbers, bounds: Numbers, intervals: _Intervals, place: int) -> Interval:
    """An interval between bins, its bounds as short as they can be between the values."""
    ends = [-math.inf, math.inf]
    for side, cut in enumerate((intervals.first[place], intervals.last[place])):
        if 0 < cut < len(bounds):
            ends[side] = short_number(float(values[values < bounds[cut]].max()), float(bounds[cut]))
    return Interval(*ends)


def short_number(low: float, high: float) -> float:
    """The number with the fewest digits that is above `low` and at most `high`."""
    largest = max(abs(low), abs(high), 1e-300)
    for digits in range(-math.ceil(math.log10(largest)), DIGITS + 1):
        step = 10.0**-digits
        number = round(math.floor(high / step) * step, max(digits, 0))
        if low < number <= high:
            return number
    return high


def _comparisons(graph: Graph, kinds: Kinds, relation: int) -> Iterator[Scored]:
    """The best way in which each attribute of Y differs from each of X."""
    assert graph.values is not None
    heads, tails = graph.edges(relation)
    is_pair = heads != tails
    for of_x, x_values in enumerate(graph.values):
        for of_y, y_values in enumerate(graph.values):
            more = (y_values[tails] - x_values[heads])[is_pair]
            more = np.sort(more[~np.isnan(more)])
            if len(more) <= SUPPORT or kinds[of_x] != kinds[of_y]:
                continue
            ends = np.unique(heads), np.unique(tails)
            others = _differences(x_values[ends[0]], y_values[ends[1]])
            best = _best_difference(more, others)
            if best is None or best[1] <= math.log(len(graph.values) ** 2):
                continue
            reached = _differences(x_values[ends[0]], y_values)
            share = _inside(reached, best[0]) / max(len(reached), 1)
            if share * np.count_nonzero(~np.isnan(y_values)) <= MATCHES:
                yield Scored(Condition(relation, NONE, of_x, of_y, best[0]), best[1])


def _differences(first: Numbers, second: Numbers) -> Numbers:
    """How much more the second values are than the first: all pairs, or evenly spaced ones; ascending."""
    sides = []
    for values in (first, second):
        known = np.sort(values[~np.isnan(values)])
        places = np.linspace(0, len(known) - 1, min(len(known), PAIRS)).astype(int)
        sides.append(known[places])
    return np.sort((sides[1][None, :] - sides[0][:, None]).ravel())


def _inside(ascending: Numbers, interval: Interval) -> int:
    first, last = np.searchsorted(ascending, interval)
    return int(last - first)


def _best_difference(pairs: Numbers, others: Numbers) -> tuple[Interval, float] | None:
    """The interval in which pairs lie more often than others do, by what it explains; None if none does."""
    best: tuple[Interval, float] | None = None
    for interval, cuts in _candidates(pairs, others):
        inside, cases = _inside(pairs, interval), len(pairs)
        share, rate = inside / cases, (_inside(others, interval) + 0.5) / (len(others) + 1)
        if share <= rate or rate >= 1 or inside <= SUPPORT:
            continue
        gain = inside * math.log(share / rate)
        if inside < cases:
            gain += (cases - inside) * math.log((1 - share) / (1 - rate))
        score = gain - (1 + cuts) * math.log(cases)  # one for the choice to compare at all
        if score > 0 and (best is None or score > best[1]):
            best = interval, score
    return best


def _candidates(pairs: Numbers, others: Numbers) -> Iterator[tuple[Interval, int]]:
    """Intervals of differences that a person would name, and how many cuts each chose, simple ones first."""
    zero = after(0.0)
    yield from (
        (Interval(low=zero), 0),
        (Interval(high=0.0), 0),
        (Interval(low=0.0), 0),
        (Interval(high=zero), 0),
    )
    yield Interval(0.0, zero), 0
    apart = np.unique(np.abs(np.concatenate([pairs, others])))
    for width in _bounds(np.abs(pairs)).tolist():
        further = apart[np.searchsorted(apart, width, side="right") :]
        most = -short_number(-float(further[0]), -width) if len(further) else width
        if most > 0:
            yield Interval(-most, after(most)), 1
    bounds = _bounds(pairs)
    ends = [short_number(float(low), float(high)) for low, high in itertools.pairwise(bounds)]
    yield from ((Interval(low=end), 1) for end in ends)
    yield from ((Interval(high=end), 1) for end in ends)
    yield from ((Interval(low, high), 2) for i, low in enumerate(ends) for high in ends[i + 1 :])
