"""Weighted rules whose paths an embedding scores, and the embedding itself as one more voice."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.recent import Recent
from rnnlogic.base.types import Arrays, Feature
from rnnlogic.config import Config
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.grounding.candidates import Candidates, sums_by_candidate
from rnnlogic.grounding.ground import Grounder
from rnnlogic.predictors.base import Contributions, Move, Task, Weights, reaching
from rnnlogic.predictors.eta import reciprocal_ranks
from rnnlogic.predictors.loglinear.fit import learn_weights
from rnnlogic.predictors.paths.model import PathModel
from rnnlogic.predictors.paths.values import PathValues, path_model
from rnnlogic.predictors.pieces import PiecePredictor
from rnnlogic.rules.ruleset import RuleSet


@dataclass(eq=False)
class PathRuleScorer(PiecePredictor):
    """Score of an answer: sum of weight * feature * phi over the rules, plus eta * RotatE's score.

    Without eta, candidates are the entities that a rule reaches; with it, all entities.
    """

    rules: RuleSet
    weights: Weights
    feature: Feature
    paths: PathModel
    eta: float = 0.0
    threads: int | None = None
    _grounders: Recent[Grounder] = field(default_factory=lambda: Recent(1), init=False, repr=False)

    def __post_init__(self) -> None:
        self._alone: RotatE = replace(self.paths.embedding, threads=1)
        self._values = PathValues(self.rules, self.feature, self.paths)

    @classmethod
    def fit(cls, task: Task) -> Self:
        """Learn the weights with phi; then choose eta on validation facts."""
        values = cls.values(task.rules, task.config, task.embedding)
        weights = learn_weights(task, values)
        alone = cls(task.rules, weights, values.feature, values.paths, 0.0, task.config.threads)
        return replace(alone, eta=_chosen_eta(alone, task))

    @classmethod
    def values(cls, rules: RuleSet, config: Config, embedding: Scorer | None) -> PathValues:
        """Features times phi."""
        assert isinstance(embedding, RotatE)
        return PathValues(rules, config.predictor.feature, path_model(embedding, config.paths))

    @classmethod
    def scores_paths(cls, config: Config) -> bool:
        """Always."""
        del config
        return True

    @property
    def embedding(self) -> RotatE:
        """The embedding that scores paths."""
        return self.paths.embedding

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """Each rule adds its weight times its feature times phi."""
        found = reaching(self.on(graph), head, relation, tail, is_hidden)
        weight, phi = self.weights[found.rule_id], self._values.phi(found)
        values = weight * self._values.features(found) * phi
        rest = self.rest(graph, head, relation, tail)
        return Contributions(found.rule_id, found.count, weight, phi, values, rest)

    def sums(self, candidates: Candidates) -> NDArray[np.float64]:
        """The sum over the rules [c] of every candidate."""
        values = self.weights[candidates.rule_id] * self._values.features(candidates)
        return sums_by_candidate(values * self._values.phi(candidates), candidates.candidate_ptr)

    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """eta * RotatE's score [B, E]."""
        if not self.eta:
            return None
        return self.eta * self._alone.score(graph, heads, np.full(len(heads), relation, np.int32))

    def reduced(self, rules: RuleSet, weights: Weights) -> Self:
        """The predictor with these rules and weights."""
        return replace(self, rules=rules, weights=weights)

    def pack(self) -> Arrays:
        """Weights and eta; the embedding is kept elsewhere."""
        return {"weights": self.weights, "eta": np.array(self.eta)}

    @classmethod
    def arrays(cls, config: Config) -> Declaration:
        """What `pack` gives."""
        return super().arrays(config) | {"eta": Declared("float64")}

    @classmethod
    def unpack(
        cls, arrays: Mapping[str, NDArray[Any]], rules: RuleSet, config: Config, embedding: Scorer | None
    ) -> Self:
        """The predictor that `pack` gave these arrays."""
        values = cls.values(rules, config, embedding)
        eta = float(arrays["eta"])
        return cls(rules, arrays["weights"], values.feature, values.paths, eta, config.threads)

    def moved(self, move: Move) -> Self:
        """Refuse: the embedding knows only the entities that it was trained with."""
        del move
        raise RNNLogicError(
            "this model cannot move to another graph: its embedding knows only the entities that it was "
            "trained with; use variant rnnlogic or plus"
        )


def _chosen_eta(alone: PathRuleScorer, task: Task) -> float:
    """How much of the embedding's own score is added: as given, or the best on validation facts."""
    given, tried = task.config.paths.eta, task.config.paths.etas
    if given is not None or not len(task.dataset.valid):
        return given or 0.0
    started, most = time.perf_counter(), task.config.em.valid_facts
    sums, asked = reciprocal_ranks(alone, alone.embedding, task.dataset, tried, most)
    mrr = sums.sum(axis=0) / max(1, asked.sum())
    task.note("eta", started, tried=tried, valid_mrr=mrr.tolist())
    return tried[int(np.argmax(mrr))]
