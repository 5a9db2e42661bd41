"""Weighted rules whose paths an embedding scores, and the embedding itself as one more voice.

phi(path) = sigmoid((delta - d(x_head o x_r1 o ... o x_rl, x_end)) / temperature): how well the embedding
thinks that relations lead from one end to the other. It depends on the two ends and on the sum of the phases
of the body: the same relations in another order turn a head alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays, Feature, Recent
from rnnlogic.config import Config
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Candidates, sums_by_candidate
from rnnlogic.predictors.base import (
    AnswerScorer,
    Contributions,
    Move,
    PiecePredictor,
    RuleValues,
    Task,
    Weights,
    reaching,
)
from rnnlogic.predictors.eta import chosen_etas, spoken, voices
from rnnlogic.predictors.loglinear.fit import learn_weights
from rnnlogic.predictors.paths.kernels import Results, Vectors, path_distances
from rnnlogic.predictors.paths.settings import PathSettings
from rnnlogic.rules.ruleset import RuleSet

WEIGHTS = 0.8  # of a budget; the rest is for eta


class Turns(NamedTuple):
    """How the rules of one relation turn their heads."""

    of_rule: NDArray[np.int32]  # [rules of the relation]
    is_named: NDArray[np.bool_]  # [rules of the relation] features have no paths: their phi is 1
    cosine: NDArray[np.float32]  # [k, D]
    sine: NDArray[np.float32]  # [k, D]


@dataclass(frozen=True, eq=False)
class PathModel:
    """An embedding, and how its distances become scores of paths."""

    embedding: RotatE
    delta: float
    temperature: float = 1.0

    def turns(self, rules: RuleSet, relation: int) -> Turns:
        """The turns of all rules of a relation."""
        net = _net_relations(rules, relation, self.embedding.num_relations)
        different, of_rule = np.unique(net, axis=0, return_inverse=True)
        phases = different.astype(np.float32) @ self.embedding.phase
        is_named = rules.are_features[rules.by_head(relation)]
        return Turns(of_rule.ravel().astype(np.int32), is_named, np.cos(phases), np.sin(phases))

    def phi(self, turns: Turns, candidates: Candidates) -> NDArray[np.float32]:
        """phi [n] of the paths of each rule to each candidate."""
        vectors = Vectors(self.embedding.entity, turns.cosine, turns.sine)
        results = Results(
            candidates.heads,
            np.argsort(candidates.heads, kind="stable"),
            candidates.query_ptr,
            candidates.entity,
            candidates.candidate_ptr,
            turns.of_rule[candidates.rule],
        )
        phi = path_distances(vectors, results)
        phi -= np.float32(self.delta)
        phi /= np.float32(self.temperature)
        with np.errstate(over="ignore"):  # infinity becomes 0
            np.exp(phi, out=phi)
        phi += 1
        np.reciprocal(phi, out=phi)
        if turns.is_named.any():
            phi[turns.is_named[candidates.rule]] = 1
        return phi


def _net_relations(rules: RuleSet, relation: int, num_relations: int) -> NDArray[np.int8]:
    """For each rule [n, R], how often it follows each relation, steps against it subtracted."""
    steps = rules.steps(rules.by_head(relation))
    rule, place = np.nonzero(steps >= 0)
    step = steps[rule, place].astype(np.int64)
    net = np.zeros((len(steps), num_relations), np.int8)
    np.add.at(net, (rule, step % num_relations), np.where(step < num_relations, 1, -1).astype(np.int8))
    return net


class PathValues(RuleValues):
    """Values of rules whose paths an embedding scores."""

    scores_paths = True

    def __init__(self, rules: RuleSet, feature: Feature, paths: PathModel) -> None:
        super().__init__(rules, feature)
        self.paths = paths
        self._turns: Recent[Turns] = Recent(8)  # relations whose turns are held in memory

    def phi(self, candidates: Candidates) -> NDArray[np.float32]:
        """phi [n] of the paths of each rule to each candidate."""
        if not len(candidates.rule):
            return np.empty(0, np.float32)
        relation = candidates.relation
        turns = self._turns.get(relation, lambda: self.paths.turns(self.rules, relation))
        return self.paths.phi(turns, candidates)

    def of(self, rules: RuleSet) -> PathValues:
        """The same for other rules."""
        return PathValues(rules, self.feature, self.paths)

    def scorer(self, weights: NDArray[np.float64], threads: int | None) -> AnswerScorer:
        """Weighted rules as something that answers, without a say of the embedding itself."""
        from rnnlogic.predictors.paths.predictor import PathRuleScorer

        return PathRuleScorer(self.rules, weights, self.feature, self.paths, 0.0, threads)


def path_model(embedding: Scorer | None, settings: PathSettings) -> PathModel | None:
    """How an embedding scores paths by these settings; None if none is a RotatE, as no other can."""
    embedding = next((part for part in voices(embedding) if isinstance(part, RotatE)), None)
    if embedding is None:
        return None
    delta = embedding.margin + settings.shift if settings.delta is None else settings.delta
    return PathModel(embedding, delta, settings.temperature)


@dataclass(eq=False)
class PathRuleScorer(PiecePredictor):
    """Score of an answer: sum of weight * feature * phi over the rules, plus eta * the embedding's score.

    Where eta is 0, candidates are the entities that a rule reaches; else all entities. Only RotatE scores
    paths: with others phi is 1.
    """

    uses_evidence: ClassVar[bool] = True
    rules: RuleSet
    weights: Weights
    feature: Feature
    paths: PathModel | None
    eta: float | NDArray[np.float64] = 0.0  # one for all, or for each embedding and relation [M, 2R]
    threads: int | None = None
    speaker: Scorer | None = None  # the embedding, if it is not just the one that scores paths
    _grounders: Recent[Grounder] = field(default_factory=lambda: Recent(1), init=False, repr=False)

    def __post_init__(self) -> None:
        self._voices = voices(self.embedding, threads=1)
        self._values = _values(self.rules, self.feature, self.paths)

    @classmethod
    def fit(cls, task: Task) -> Self:
        """Learn the weights with phi, or take known ones where there is none; then choose eta."""
        timely = replace(task, budget=task.budget.share(WEIGHTS))
        values = cls.values(task.rules, task.config, task.embedding)
        known = None if values.scores_paths else task.weights
        weights, lift = learn_weights(timely, values) if known is None else (known, None)
        alone = cls._of(task.rules, weights, 0.0, task.config, task.embedding)
        predictor = replace(alone, eta=_chosen_eta(alone, task))
        predictor.lift = lift
        return predictor

    @classmethod
    def values(cls, rules: RuleSet, config: Config, embedding: Scorer | None) -> RuleValues:
        """Features times phi."""
        return _values(rules, config.predictor.feature, path_model(embedding, config.paths))

    @classmethod
    def _of(
        cls,
        rules: RuleSet,
        weights: Weights,
        eta: float | NDArray[np.float64],
        config: Config,
        embedding: Scorer | None,
    ) -> Self:
        paths = path_model(embedding, config.paths)
        return cls(rules, weights, config.predictor.feature, paths, eta, config.threads, embedding)

    @property
    def embedding(self) -> Scorer | None:
        """The embedding that has a say; RotatE, or one among several, also scores paths."""
        return self.paths.embedding if self.speaker is None and self.paths is not None else self.speaker

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """Each rule adds its weight times its feature times phi."""
        found = reaching(self.on(graph), head, relation, tail, is_hidden)
        weight, phi = self.weights[found.rule_id], self._values.phi(found)
        values = weight * self._values.features(found) * (1 if phi is None else phi)
        rest = self.rest(graph, head, relation, tail)
        return Contributions(found.rule_id, found.count, weight, phi, values, rest)

    def sums(self, candidates: Candidates) -> NDArray[np.float64]:
        """The sum over the rules [c] of every candidate."""
        phi = self._values.phi(candidates)
        values = self.weights[candidates.rule_id] * self._values.features(candidates)
        return sums_by_candidate(values if phi is None else values * phi, candidates.candidate_ptr)

    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """eta * the embedding's score [B, E]; None if it has no say on this relation."""
        return spoken(self._voices, self.eta, graph, heads, relation)

    def reduced(self, rules: RuleSet, weights: Weights) -> Self:
        """The predictor with these rules and weights."""
        return replace(self, rules=rules, weights=weights)

    def pack(self) -> Arrays:
        """Weights and eta; the embedding is kept elsewhere."""
        return {"weights": self.weights, "eta": np.array(self.eta)}

    @classmethod
    def arrays(cls, config: Config) -> Declaration:
        """What `pack` gives."""
        return super().arrays(config) | {"eta": Declared("float64", other_shape=("embeddings", "2*R"))}

    @classmethod
    def unpack(
        cls, arrays: Mapping[str, NDArray[Any]], rules: RuleSet, config: Config, embedding: Scorer | None
    ) -> Self:
        """The predictor that `pack` gave these arrays."""
        return cls._of(rules, arrays["weights"], arrays["eta"], config, embedding)

    def moved(self, move: Move) -> Self:
        """Refuse: the embedding knows only the entities that it was trained with."""
        del move
        raise RNNLogicError(
            "this model cannot move to another graph: its embedding knows only the entities that it was "
            "trained with; use variant rnnlogic or plus"
        )


def _values(rules: RuleSet, feature: Feature, paths: PathModel | None) -> RuleValues:
    return RuleValues(rules, feature) if paths is None else PathValues(rules, feature, paths)


def _chosen_eta(alone: PathRuleScorer, task: Task) -> float | NDArray[np.float64]:
    """How much of the embedding's own score is added: as given, or the best on validation facts."""
    settings = task.config.paths
    if settings.eta is not None or not len(task.dataset.valid):
        return settings.eta or 0.0
    return chosen_etas(alone, task, settings)
