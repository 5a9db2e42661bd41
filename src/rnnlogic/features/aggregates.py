"""Aggregates: features whose value comes from the rules that reach an answer, as that of [best_chain].

Their values depend on which rules are there: a table from which rules are taken away folds them again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Feature
from rnnlogic.features.base import STRETCH, Aggregate, Ids, Mask, Numbers, Places, Rows, ranges, zeros
from rnnlogic.features.kernels import largest, number_answers
from rnnlogic.features.named import owned
from rnnlogic.rules.ruleset import RuleSet

BEST_CHAIN = "best_chain"


def chain_confidences(rules: RuleSet) -> Numbers:
    """The smoothed confidence of each chain [n]; 0 for other rules."""
    return np.where(rules.are_chains, rules.trust, np.float32(0))


class Best:
    """The most confident rule counts log(1 + 100 * confidence), and all others nothing."""

    def strengths(self, rules: RuleSet) -> Numbers:
        """What each chain [n] counts if it is the most confident one."""
        return self.strength_of(chain_confidences(rules))

    @staticmethod
    def strength_of(confidence: NDArray[Any]) -> NDArray[Any]:
        """What rules of some confidence [n] count."""
        return np.asarray(np.log1p(STRETCH * confidence))

    def weakened(self, strength: Numbers, share: Numbers) -> Numbers:
        """The strength of a share of the confidence."""
        return np.log1p(share * np.expm1(strength)).astype(np.float32)

    def fold(self, candidate: Places, rule: Places, strength: Numbers, size: int) -> Numbers:
        """The largest strength of the rules that reach each candidate [size]."""
        return largest(candidate, rule, strength, size)

    def decide(self, strength: Numbers, value: Numbers) -> Mask:
        """Those with the largest strength."""
        return np.asarray((strength > 0) & (strength >= value))

    def weights(self, strength: NDArray[np.floating]) -> NDArray[np.float64]:
        """All for the first of the strongest."""
        weights = np.zeros(len(strength))
        weights[np.argmax(strength)] = 1.0
        return weights


class NoisyOr:
    """Each rule adds -log(1 - confidence): the chance that all are wrong, if they are independent."""

    def strengths(self, rules: RuleSet) -> Numbers:
        """The term of each chain [n]."""
        return self.strength_of(chain_confidences(rules))

    @staticmethod
    def strength_of(confidence: NDArray[Any]) -> NDArray[Any]:
        """The terms of rules of some confidence [n]."""
        return np.array([-math.log1p(-c) for c in confidence.tolist()])

    def weakened(self, strength: Numbers, share: Numbers) -> Numbers:
        """The term of a share of the confidence."""
        return -np.log1p(share * np.expm1(-strength)).astype(np.float32)

    def fold(self, candidate: Places, rule: Places, strength: Numbers, size: int) -> Numbers:
        """The sum of the terms of the rules that reach each candidate [size]."""
        return np.bincount(candidate, strength[rule], minlength=size).astype(np.float32)

    def decide(self, strength: Numbers, value: Numbers) -> Mask:
        """All that have a term."""
        del value
        return np.asarray(strength > 0)

    def weights(self, strength: NDArray[np.floating]) -> NDArray[np.float64]:
        """Each gets its term."""
        return np.asarray(strength, np.float64)


AGGREGATES: dict[str, Aggregate] = {BEST_CHAIN: Best()}  # by the name of the feature


@dataclass(frozen=True, eq=False)
class Fold:
    """An aggregate among the rules of a relation."""

    aggregate: Aggregate
    place: int  # its position among the rules
    strength: Numbers  # [k] of the rules; 0 for those that take no part
    paths_as: Feature | None = None  # where facts have weights, how values tell what paths are worth

    def rows(self, found: Rows, queries: int, entities: int) -> Rows:
        """Its values for the answers that rules reach."""
        bodies = np.flatnonzero(self.strength[found.place] > 0)
        with zeros("number", entities, np.int64) as number:
            ptr, entity, candidate, body = number_answers(found.ptr, found.entity, bodies, queries, number)
        rule = found.place.astype(np.int32)[body]
        of_rows = None if self.paths_as is None else found.value[_by_query(found.ptr, bodies, queries)]
        value = self.values(candidate, rule, len(entity), of_rows)
        said = value != 0
        kept = np.append(0, np.cumsum(said))[ptr]
        return Rows(np.array([self.place]), kept, entity[said], value[said])

    def values(
        self, candidate: Places, rule: Places, size: int, value: NDArray[Any] | None = None
    ) -> Numbers:
        """Its value at each candidate [size]: rule `rule[i]` reaches candidate `candidate[i]` [n].

        Where facts have weights, the values [n] of the rules tell what their paths are worth.
        """
        if self.paths_as is None:
            return self.aggregate.fold(candidate, rule, self.strength, size)
        return self.aggregate.fold(candidate, np.arange(len(rule)), self.strengths_at(rule, value), size)

    def strengths_at(self, rule: Places, value: NDArray[Any] | None) -> Numbers:
        """What rules [n] count where they have values [n]."""
        own = self.strength[rule]
        if self.paths_as is None or value is None:
            return own
        paths = np.expm1(value) if self.paths_as == "log1p" else value
        return self.aggregate.weakened(own, np.minimum(paths, 1.0).astype(np.float32))

    def moved(self, column: NDArray[np.integer]) -> Fold:
        """The same among fewer rules, by their new places [k], -1 for those that are left out."""
        return replace(self, place=int(column[self.place]), strength=self.strength[column >= 0])

    def weights(self, rule: Ids) -> NDArray[np.float64]:
        """How much the rules [n] add that reach one candidate, against each other; 0: nothing."""
        weights = np.zeros(len(rule))
        own = np.flatnonzero(self.strength[rule] > 0)
        if len(own):
            weights[own] = self.aggregate.weights(self.strength[rule[own]])
        return weights


def _by_query(ptr: Ids, bodies: Ids, queries: int) -> Ids:
    """The rows [n] of some bodies, those of one query together: the order of `number_answers`."""
    cells = (np.arange(queries)[:, None] + bodies * queries).ravel()
    return ranges(ptr[cells], ptr[cells + 1])[1]


def folds_of(rules: RuleSet, ids: Ids, paths_as: Feature | None = None) -> list[Fold]:
    """The aggregates among some rules [k] of one relation; `paths_as` where facts have weights."""
    own = rules[ids] if len(ids) else rules[:0]
    return [
        Fold(aggregate, place, aggregate.strengths(own).astype(np.float32), paths_as)
        for name, aggregate in AGGREGATES.items()
        for place in np.flatnonzero(own.are_feature(name)).tolist()
    ]


def split_aggregates(
    rules: RuleSet, ids: Ids, weight: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[Ids, NDArray[np.float64], int | None]:
    """What aggregates add to one candidate, given to the rules [n] with these ids that reach it.

    Returns which rules are left, their weights, greater by their part, and which of them is the best rule.
    An aggregate none of whose rules is there keeps what it adds.
    """
    folds = [fold for fold in folds_of(rules, ids) if fold.strength.any()]
    left = np.setdiff1d(np.arange(len(ids)), [fold.place for fold in folds])
    parts, best = weight.copy(), None
    for fold in folds:
        share = fold.weights(np.arange(len(ids)))
        own = np.flatnonzero(share)
        share = share[own] / math.fsum(share[own])
        parts[own] += weight[fold.place] * value[fold.place] * share / value[own]
        if isinstance(fold.aggregate, Best):
            best = int(np.searchsorted(left, own[0]))
    return left, parts[left], best


def are_aggregates(rules: RuleSet) -> Mask:
    """Which rules [n] are aggregates."""
    return owned(rules, AGGREGATES)
