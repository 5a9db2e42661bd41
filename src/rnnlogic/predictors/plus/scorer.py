"""RNNLogic+ as something that scores answers; free of torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.grounding.features import Feature, feature_values
from rnnlogic.grounding.ground import Grounder, Grounding
from rnnlogic.predictors.loglinear.scorer import Contributions, reaching
from rnnlogic.predictors.paths.scorer import TURNS_KEPT
from rnnlogic.predictors.paths.scores import PathModel, Results
from rnnlogic.predictors.pieces import PieceScorer, Sums
from rnnlogic.predictors.plus.parameters import PlusParameters
from rnnlogic.rules.ruleset import RuleSet

LEFT_OUT_RESULTS = 1 << 22  # results that are held at once to leave out each rule of an answer


@dataclass(eq=False)
class PlusScorer(PieceScorer):
    """Score of an answer: a network over the rules that reach it, plus eta times the embedding's score.

    Where eta of a relation is 0, candidates are the entities that a rule reaches; else all entities.
    """

    rules: RuleSet
    parameters: PlusParameters
    feature: Feature
    paths: PathModel | None = None
    embedding: Scorer | None = None
    threads: int | None = None
    _grounder: Grounder | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.embedding, RotatE):
            self.embedding = replace(self.embedding, threads=1)
        self._values = RuleValues(self.rules, self.feature, self.paths)

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """What each rule adds: the score minus the score without it. They need not sum to the score."""
        rule, count = reaching(self.on(graph), head, relation, tail, is_hidden)
        one, ends = np.array([0, 1]), np.array([0, len(rule)])
        place = Results(np.array([head], np.int32), one, np.array([tail], np.int32), ends, rule)
        value, phi = self._values(relation, count, place)
        whole = self.parameters.rule_scores(relation, ends, rule, value, phi)
        without = self._left_out(relation, rule, value, phi)
        rest = self.elsewhere(graph, np.array([head], np.int32), relation)
        return Contributions(
            rule,
            count,
            self.parameters.psi[rule].astype(np.float64),
            phi,
            whole - without,
            None if rest is None else float(rest[0, tail]),
            "leave-one-out",
        )

    def rows(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Scores [B, E] by rules alone, and where a rule reaches."""
        alone = replace(self, embedding=None)
        alone._grounder, alone._values = self.on(graph), self._values
        scores = alone.score(graph, heads, relations)
        unreached = np.array([self.parameters.unreached_score(int(r)) for r in relations])
        is_reached = np.isfinite(scores)
        return np.where(is_reached, scores, unreached[:, None]), is_reached

    def _left_out(
        self,
        relation: int,
        rule: NDArray[np.int64],
        value: NDArray[np.float32],
        phi: NDArray[np.float32] | None,
    ) -> NDArray[np.float64]:
        """Scores [n] of a candidate without each of its n rules."""
        number = len(rule)
        scores = [np.empty(0)]
        step = max(1, LEFT_OUT_RESULTS // max(number, 1))
        for first in range(0, number, step):
            out = np.arange(first, min(first + step, number))
            kept = np.nonzero(np.arange(number)[None, :] != out[:, None])[1]
            ptr = np.arange(len(out) + 1) * (number - 1)
            kept_phi = None if phi is None else phi[kept]
            scores.append(self.parameters.rule_scores(relation, ptr, rule[kept], value[kept], kept_phi))
        return np.concatenate(scores)

    def sums(self, grounding: Grounding, heads: NDArray[np.int32], relation: int) -> Sums:
        """Query, entity and score by rules [c] of every candidate."""
        found = grounding.candidates()
        query_ptr = np.append(np.searchsorted(found.query, grounding.queries), len(found.query))
        results = Results(heads, query_ptr, found.entity, found.ptr, found.rule)
        value, phi = self._values(relation, found.count, results)
        scores = self.parameters.rule_scores(relation, found.ptr, found.rule, value, phi)
        return found.query, found.entity, scores

    def unreached(self, relation: int) -> float:
        """What the network makes of no rules."""
        return self.parameters.unreached_score(relation)

    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """eta * the embedding's score [B, E]; None if it has no say on this relation."""
        eta = self.parameters.answer_weight[relation]
        if self.embedding is None or not eta:
            return None
        return np.asarray(eta * self.embedding.score(graph, heads, np.full(len(heads), relation, np.int32)))


class RuleValues:
    """The feature of each rule at each candidate, and phi of its paths if they are scored."""

    def __init__(self, rules: RuleSet, feature: Feature, paths: PathModel | None) -> None:
        self._rules, self._feature, self._paths = rules, feature, paths
        if paths is not None:
            self._turns = lru_cache(TURNS_KEPT)(lambda relation: paths.turns(rules, relation))

    def __call__(
        self, relation: int, count: NDArray[Any], results: Results
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Features [n] and phi [n], None where all are 1; `results.rule` are ids of rules of the relation."""
        value = feature_values(count, self._feature).astype(np.float32)
        if self._paths is None:
            return value, None
        if not len(count):
            return value, value
        place = np.searchsorted(self._rules.by_head(relation), results.rule)
        phi = self._paths.phi(self._turns(relation), results._replace(rule=place))
        return value, phi
