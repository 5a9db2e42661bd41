"""The most trusted rule as evidence of a compact model: it is one of the rules that the model has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.features.evidence.surest import SUREST, strengths
from rnnlogic.features.evidence.trust.kernels import largest_by_column
from rnnlogic.fit.compact.fit import Fit, Sparse, fitted, of_columns
from rnnlogic.fit.compact.types import Columns, Floats, Ids, Imitation
from rnnlogic.rules.ruleset import RuleSet

REASONS = 3  # of a relation: tried 1, 3 and 6
LEAST_WORTH = 0.5  # mean score that a reason gives to answers: below it, rules that imitate sums do more


class Surest(NamedTuple):
    """Where the evidence stands among some rules, and what each of them counts if it is the most trusted."""

    place: int
    strength: NDArray[np.float32]  # [rules]

    def values(self, columns: Columns, active: Ids, size: int) -> NDArray[np.float32]:
        """What the most trusted of the active rules counts for each candidate [size]."""
        return largest_by_column(columns.ptr, columns.candidate, active, self.strength[active], size)

    def reasons(self, problem: Imitation, allowed: Ids, weight: float) -> Ids:
        """Few allowed rules: the most trusted ones behind many answers of the full model, the best first.

        A model that has to do without them has no other to trust, however well it imitates by sums. `weight`
        is that of this evidence in the full model.
        """
        strength = np.zeros_like(self.strength)
        strength[allowed] = self.strength[allowed]
        highest = self.values(problem.columns, allowed, len(problem.target))
        rule, candidate = most_trusted(problem.columns, strength, highest)
        worth = weight * np.bincount(rule, problem.target[candidate] * strength[rule], len(strength))
        first = np.argsort(-worth, kind="stable")[:REASONS]
        return first[worth[first] >= LEAST_WORTH]

    def joined(self, problem: Imitation, model: Sparse, fit: Fit) -> Sparse:
        """A model fitted anew together with this evidence; without it where it gets no weight."""
        active, everything = model.active, np.arange(len(model.active))
        small = of_columns(problem, active)
        values = Surest(0, self.strength[active]).values(small.columns, everything, len(small.target))
        reached = np.flatnonzero(values)
        ptr, candidate, value = small.columns
        columns = Columns(
            np.append(ptr, ptr[-1] + len(reached)),
            np.append(candidate, reached.astype(np.int32)),
            np.append(value, values[reached]),
        )
        both, start = np.append(active, self.place), np.append(model.weights, 0.0)
        told = np.append(everything, len(active)), start, fit.penalty[both], fit
        weights = fitted(small._replace(columns=columns), *told)
        kept = (weights != 0) | np.isin(both, fit.pinned)
        if kept[-1]:  # a rule without a weight of its own may be the one that answers are trusted for
            kept[most_trusted(small.columns, self.strength[active], values)[0]] = True
        order = np.argsort(both[kept])
        return Sparse(both[kept][order], weights[kept][order])

    def score(self, columns: Columns, model: Sparse, scores: Floats) -> Sparse:
        """Add to scores [c] what this evidence says in a model; the model without it."""
        is_other = model.active != self.place
        others = Sparse(model.active[is_other], model.weights[is_other])
        if not is_other.all():
            values = self.values(columns, others.active, len(scores))
            scores += model.weights[~is_other][0] * values
        return others


def most_trusted(
    columns: Columns, strength: NDArray[np.float32], highest: NDArray[np.float32]
) -> tuple[Ids, NDArray[np.int32]]:
    """Rules that candidates are trusted for, each with its candidate; `highest` is of each candidate."""
    rule = np.repeat(np.arange(len(columns.ptr) - 1), np.diff(columns.ptr))
    is_most = (strength[rule] > 0) & (strength[rule] >= highest[columns.candidate])
    return rule[is_most], columns.candidate[is_most]


def surest_of(rules: RuleSet, ids: Ids) -> Surest | None:
    """The most trusted of the rules with these ids, if that is evidence among them."""
    place = np.flatnonzero(rules.are_feature(SUREST)[ids])
    return Surest(int(place[0]), strengths(rules, ids)) if len(place) else None
