"""How many facts of each relation are missing: counted, given, or estimated from what can be seen.

Facts are hidden in turn, and the model scores them among all that it proposes. Where a share of the hidden
facts scores above some threshold, so would the same share of the missing ones. They are among the proposals
above it, so there are at most as many as these, divided by the share. The lowest of these bounds counts, of
a relation the lowest but one. In a full graph few proposals score like hidden facts; in a graph with gaps the
missing ones do.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError

Origin = Literal["counted", "estimated", "given"]
Values = NDArray[np.float64]

FEW = 5.0  # hidden facts that the bound of the whole graph counts in the bound of a relation
# What lies above the bound of the whole graph counts in full for many hidden facts and a small difference.
# Both were chosen on 19 graphs, generated and real, full, with random gaps and with gaps of one relation.
MANY, USUAL = 30.0, 0.25
HALF = 0.5  # of a proposal is added to their number, as is usual where a count may be 0
# False facts that no rule can tell from missing ones, as a share of the facts: some are in every graph. So a
# few proposals that look right are no sign of gaps.
ALIKE = 0.02
LEAST = 1e-6  # of a number of facts, where logarithms are taken


class Scored(NamedTuple):
    """Facts of some relations with their log-odds; each stands for `weight` facts."""

    logit: Values  # [n]
    relation: NDArray[np.integer]  # [n]
    weight: Values  # [n]


def parsed_missing(text: str | float | None) -> float | None:
    """A number of facts, or below 1 a share of the known ones; `5%` is a share, too."""
    if text is None:
        return None
    try:
        whole = str(text).strip()
        number = float(whole.removesuffix("%")) / (100 if whole.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e12 or (whole.endswith("%") and number >= 1):
        problem = f"{text!r} is not a number of missing facts"
        raise RNNLogicError(f"{problem}; give a count such as 120, or a share such as 0.05 or 5%")
    return number


def number_given(missing: float, facts: int) -> int:
    """How many facts a number or share is."""
    return round(missing * facts if missing < 1 else missing)


def estimated_missing(
    hidden: Scored, proposals: Scored, picked: NDArray[np.integer], facts: NDArray[np.integer]
) -> Values:
    """Missing facts [R] of each relation, of which so many facts are known [R] and so many were hidden [R].

    Hidden facts that no rule reaches are not among the scored ones, but they count in `picked`. A relation
    whose bound is below that of the whole graph has few gaps, and is drawn towards the whole as a geometric
    mean. One whose bound is above it may have gaps of its own, or a rule with exceptions that look like gaps:
    the further above, the less of the difference counts, and the fewer were hidden, the less.
    """
    all_hidden, all_proposals = _as_one_relation(hidden), _as_one_relation(proposals)
    whole = float(_bounds(all_hidden, all_proposals, picked.sum(keepdims=True))[0, 0])
    common = whole / max(float(facts.sum()), 1.0) if np.isfinite(whole) else 0.0
    lowest, second = _bounds(hidden, proposals, picked)[:2]  # of few facts, the lowest is so by chance
    own, known = np.where(np.isfinite(second), second, lowest), np.maximum(facts, 1)
    own = np.where(np.isfinite(own), own / known, common)
    number = np.bincount(hidden.relation, minlength=len(facts))
    logs = np.log(np.maximum(own, LEAST)), np.log(max(common, LEAST))
    below = np.exp((number * logs[0] + FEW * logs[1]) / (number + FEW))
    above = np.maximum(own - common, 0.0)
    counted = np.exp(-((above / USUAL) ** 2) / 2) * number / (number + MANY)
    rate = np.where(above > 0, common + counted * above, np.where(own > 0, below, 0.0))
    return np.asarray(facts * rate * rate / (rate + ALIKE))


def _bounds(hidden: Scored, proposals: Scored, picked: NDArray[np.integer]) -> Values:
    """The bounds [7, groups], the lowest first; infinite where there are none."""
    tails = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # shares of the hidden facts above a threshold
    return np.sort([_bound(hidden, proposals, picked, tail) for tail in tails], axis=0)


def _as_one_relation(scored: Scored) -> Scored:
    return scored._replace(relation=np.zeros(len(scored.relation), np.int64))


def _bound(hidden: Scored, proposals: Scored, picked: NDArray[np.integer], tail: float) -> Values:
    """At most how many facts are missing [groups], by so many of the best hidden ones."""
    groups, of_hidden, of_proposals = len(picked), hidden.relation, proposals.relation
    order = np.lexsort((-hidden.logit, of_hidden))
    first = np.searchsorted(of_hidden[order], np.arange(groups))
    reached = np.bincount(of_hidden, minlength=groups)
    wanted = np.maximum(np.ceil(tail * picked), 1).astype(np.int64)
    has = (reached >= wanted) & (picked > 0)
    threshold = np.full(groups, np.inf)
    threshold[has] = hidden.logit[order][first[has] + wanted[has] - 1]
    is_above = proposals.logit >= threshold[of_proposals]
    above = np.bincount(of_proposals, proposals.weight * is_above, groups) + HALF
    return np.where(has, above * picked / wanted, np.inf)
