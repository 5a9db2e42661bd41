"""Weighted rules whose paths an embedding scores, and the embedding itself as one more voice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.grounding.features import Feature, feature_values
from rnnlogic.grounding.ground import Grounder, Grounding
from rnnlogic.predictors.loglinear.scorer import Contributions, reaching
from rnnlogic.predictors.paths.scores import PathModel, Results
from rnnlogic.predictors.pieces import PieceScorer, Sums
from rnnlogic.rules.ruleset import RuleSet

TURNS_KEPT = 8  # relations whose turns are held in memory


@dataclass(eq=False)
class PathRuleScorer(PieceScorer):
    """Score of an answer: sum of weight * feature * phi over the rules, plus answer_weight * RotatE's score.

    Without an answer weight, candidates are the entities that a rule reaches; with one, all entities.
    """

    rules: RuleSet
    weights: NDArray[np.float64]  # [rules]
    feature: Feature
    paths: PathModel
    answer_weight: float = 0.0  # eta
    threads: int | None = None
    _grounder: Grounder | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._embedding: RotatE = replace(self.paths.embedding, threads=1)
        self._turns = lru_cache(TURNS_KEPT)(lambda relation: self.paths.turns(self.rules, relation))

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """Each rule adds its weight times its feature times phi."""
        rule, count = reaching(self.on(graph), head, relation, tail, is_hidden)
        weight = self.weights[rule]
        place = np.searchsorted(self.rules.by_head(relation), rule)
        one, ends = np.array([0, 1]), np.array([0, len(rule)])
        results = Results(np.array([head], np.int32), one, np.array([tail], np.int32), ends, place)
        phi = self.paths.phi(self._turns(relation), results) if len(rule) else np.empty(0, np.float32)
        values = weight * feature_values(count, self.feature) * phi
        rest = self.elsewhere(graph, np.array([head], np.int32), relation)
        return Contributions(rule, count, weight, phi, values, None if rest is None else float(rest[0, tail]))

    def sums(self, grounding: Grounding, heads: NDArray[np.int32], relation: int) -> Sums:
        """Query, entity and sum over the rules [c] of every candidate."""
        found = grounding.candidates()
        if not len(found.entity):
            return found.query, found.entity, np.empty(0)
        query_ptr = np.append(np.searchsorted(found.query, grounding.queries), len(found.query))
        place = np.searchsorted(self.rules.by_head(relation), found.rule)
        results = Results(heads, query_ptr, found.entity, found.ptr, place)
        phi = self.paths.phi(self._turns(relation), results)
        values = self.weights[found.rule] * feature_values(found.count, self.feature) * phi
        return found.query, found.entity, np.add.reduceat(values, found.ptr[:-1])

    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """answer_weight * RotatE's score [B, E]."""
        if not self.answer_weight:
            return None
        relations = np.full(len(heads), relation, np.int32)
        return self.answer_weight * self._embedding.score(graph, heads, relations)
