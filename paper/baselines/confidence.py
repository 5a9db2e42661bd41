"""Rules with given confidences, such as AnyBURL's, as a scorer; nothing is learned.

`max`: an answer scores as the most confident rule that reaches it; ties are broken by the second and then by
the third most confident rule, as AnyBURL does. `noisy-or`: 1 - product of (1 - confidence) over all rules
that reach the answer.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Candidates, sums_by_candidate
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable

Aggregation = Literal["max", "noisy-or"]
SURE = 0.9999  # highest confidence in noisy-or, so that a certain rule does not silence the others
UNSEEN = 5  # added to a rule's predictions, so that rare rules count less; AnyBURL's default
LOOK_AT = 3  # how many of the most confident rules `max` compares


class MaxScorer:
    """Score of an answer: the ranks of its most confident rules among all confidences, as one number."""

    def __init__(self, rules: RuleSet, confidences: ArrayLike, threads: int | None = None) -> None:
        self._rules, self._threads = rules, threads
        distinct, place = np.unique(np.asarray(confidences, np.float64), return_inverse=True)
        self._place, self._base = place + 1.0, len(distinct) + 1.0  # 0 stands for no rule
        if self._base**LOOK_AT >= 2.0**53:
            raise RNNLogicError(f"{len(distinct):,} different confidences are too many; round them first")

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E]; -inf for entities that no rule reaches."""
        scores = np.full((len(heads), graph.num_entities), -np.inf)
        for part in Grounder(graph, self._rules, self._threads).ground(heads, relations):
            found = part.candidates()
            scores[found.query, found.entity] = self._values(found)
        return scores

    def _values(self, found: Candidates) -> NDArray[np.float64]:
        """A number of LOOK_AT digits for each candidate [c], the most confident rule first."""
        candidate = np.repeat(np.arange(len(found.entity)), np.diff(found.candidate_ptr))
        place = self._place[found.rule_id]
        order = np.lexsort((-place, candidate))  # candidates keep their order
        nth = np.arange(len(order)) - found.candidate_ptr[candidate]
        digits = np.where(nth < LOOK_AT, place[order] * self._base ** (LOOK_AT - 1.0 - nth), 0.0)
        return sums_by_candidate(digits, found.candidate_ptr)


def confidence_scorer(
    table: RuleTable, aggregation: Aggregation = "max", unseen: float = UNSEEN, threads: int | None = None
) -> MaxScorer | RuleScorer:
    """A scorer for rules with the columns of AnyBURL's files: predictions and support."""
    confidences = smoothed_confidences(table, unseen)
    if aggregation == "max":
        return MaxScorer(table.rules, confidences, threads)
    # 1 - prod(1 - c) grows with the sum of -log(1 - c), so both give the same ranking.
    weights = -np.log1p(-np.minimum(confidences, SURE))
    return RuleScorer(table.rules, weights, "binary", threads)


def smoothed_confidences(table: RuleTable, unseen: float = UNSEEN) -> NDArray[np.float64]:
    """support / (predictions + unseen) of each rule."""
    columns: dict[str, Any] = {name: table.column(name) for name in ("predictions", "support")}
    missing = [name for name, values in columns.items() if any(value is None for value in values)]
    if missing:
        raise RNNLogicError(f"the rules have no {missing[0]}; use a rule file that AnyBURL wrote")
    predictions, support = (np.array(values, np.float64) for values in columns.values())
    found: NDArray[np.float64] = support / (predictions + unseen)
    return found
