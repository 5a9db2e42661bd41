"""RNNLogic+: a network scores an answer by the rules that reach it. Only fitting needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays, Feature, Recent
from rnnlogic.config import Config
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Candidates
from rnnlogic.predictors.base import Contributions, Move, PiecePredictor, RuleValues, Task, Weights, reaching
from rnnlogic.predictors.eta import spoken, voices
from rnnlogic.predictors.paths.predictor import PathRuleScorer
from rnnlogic.predictors.plus.kernels import pna_rules, sum_rules
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.rules.ruleset import RuleSet

Aggregator = Literal["pna", "sum"]
Floats = NDArray[np.float32]

CANDIDATES = 1 << 9  # whose features are held at once
ARRAYS = ("vectors", "psi", "relations", "layer", "output", "eta")
PREFIX, ENCODER = "plus.", "plus.encoder."
READ = (  # features that a network reads, in the order of its rows
    *("reversed", "linked", "linked_back", "itself", "seen", "frequency", "degree"),
    *("best_constant_of_x", "constants_of_x", "best_constant_of_y", "constants_of_y"),
)
LEFT_OUT_RESULTS = 1 << 22  # results that are held at once to leave out each rule of an answer


@dataclass(frozen=True, eq=False)
class PlusParameters:
    """A network over the rules that reach a candidate. K rules, D their size, H hidden units."""

    aggregator: Aggregator
    vectors: Floats  # [K, D]
    psi: Floats  # [K] weights of RNNLogic, whose sum is added to the score; zeros if it has no part
    relations: Floats  # [2R, H] what the query's relation adds to the hidden units
    layer: Floats  # [S, F, H] from features of a candidate to hidden units, for each of S scales
    output: Floats  # [H]
    usual_degree: float  # mean of log(1 + number of rules) over candidates in training
    eta: NDArray[np.float64]  # [M, 2R] how much of each embedding's own score is added; [2R]: not chosen yet
    encoder: dict[str, NDArray[Any]] = field(default_factory=dict)  # LSTM that makes vectors, if there is one

    def rule_scores(
        self,
        relation: int,
        ptr: NDArray[np.int64],
        rule: NDArray[np.integer],
        value: Floats,
        phi: Floats | None = None,
    ) -> NDArray[np.float64]:
        """Scores [c] of candidates by the rules rule[ptr[c]:ptr[c+1]] (ids) with these features.

        phi of paths has a say in the sum over psi only: training facts have larger ones than others, as the
        embedding has seen them, and a network would learn that.
        """
        scores = np.empty(len(ptr) - 1)
        weight = value if phi is None else value * phi
        for first in range(0, len(scores), CANDIDATES):
            part = ptr[first : first + CANDIDATES + 1]
            linear = sum_rules(part, rule, weight, self.psi[:, None])[:, 0]
            scores[first : first + CANDIDATES] = linear + self._part(relation, part, rule, value)
        return scores

    def unreached_score(self, relation: int) -> float:
        """The score by rules of a candidate that no rule reaches."""
        none = np.empty(0, np.int32), np.empty(0, np.float32)
        return float(self.rule_scores(relation, np.zeros(2, np.int64), *none)[0])

    def moved(
        self, kept: NDArray[np.bool_], new_ids: NDArray[np.int32], num_relations: int
    ) -> PlusParameters:
        """The parameters for the rules kept [K], with relation ids [2R] of another graph; -1 drops one.

        The LSTM stays behind: it knows the old ids.
        """
        return replace(
            self,
            vectors=self.vectors[kept],
            psi=self.psi[kept],
            relations=_by_new_id(self.relations, new_ids, num_relations),
            eta=_by_new_id(self.eta, new_ids, num_relations),
            encoder={},
        )

    def _part(
        self, relation: int, ptr: NDArray[np.int64], rule: NDArray[np.integer], value: Floats
    ) -> Floats:
        aggregate = pna_rules if self.aggregator == "pna" else sum_rules
        features = aggregate(ptr, rule, value, self.vectors)
        hidden = np.repeat(self.relations[relation][None], len(features), axis=0)
        with np.errstate(invalid="ignore"):  # OpenBLAS may set the flag for finite values; NaN is told later
            for scale, layer in zip(scales(np.diff(ptr), self.usual_degree), self.layer, strict=False):
                hidden += scale[:, None] * (features @ layer)
            scores: Floats = np.maximum(hidden, 0) @ self.output
        return scores


def _by_new_id(values: NDArray[Any], new_ids: NDArray[np.int32], num_relations: int) -> NDArray[Any]:
    """Rows [2R] of relations put in the places of their new ids; zeros for relations that are new."""
    known = new_ids >= 0
    moved = np.zeros((2 * num_relations, *values.shape[1:]), values.dtype)
    moved[new_ids[known]] = values[known]
    return moved


def scales(degree: NDArray[np.int64], usual: float) -> Floats:
    """PNA's scalers [3, c] of candidates that `degree` rules reach: 1, amplification, attenuation."""
    amplified = np.log1p(np.maximum(degree, 1)) / usual
    return np.stack([np.ones(len(degree)), amplified, 1 / amplified]).astype(np.float32)


def pack_plus(parameters: PlusParameters) -> dict[str, NDArray[Any]]:
    """Parameters as arrays with names."""
    arrays = {PREFIX + name: getattr(parameters, name) for name in ARRAYS}
    encoder = {ENCODER + name: array for name, array in parameters.encoder.items()}
    return arrays | encoder | {PREFIX + "usual_degree": np.array(parameters.usual_degree)}


def plus_arrays(settings: PlusSettings) -> Declaration:
    """What `pack_plus` gives with these settings."""
    dim, hidden = settings.dim, settings.hidden
    scalers, features = (3, 4 * dim) if settings.aggregator == "pna" else (1, dim)
    shapes: dict[str, tuple[str | int, ...]] = {
        "vectors": ("rules", dim),
        "psi": ("rules",),
        "relations": ("2*R", hidden),
        "layer": (scalers, features, hidden),
        "output": (hidden,),
    }
    encoder: dict[str, tuple[str | int, ...]] = {
        "step.weight": ("2*R+1", dim),
        "head.weight": ("2*R", dim),
        "lstm.weight_ih_l0": (4 * dim, dim),
        "lstm.weight_hh_l0": (4 * dim, dim),
        "lstm.bias_ih_l0": (4 * dim,),
        "lstm.bias_hh_l0": (4 * dim,),
        "out.weight": (dim, dim),
        "out.bias": (dim,),
    }
    is_free = settings.rule_vectors != "lstm"
    named = Declared("float32", (len(READ), dim), optional=True)  # there if some rules are features
    return {
        **{PREFIX + name: Declared("float32", shape) for name, shape in shapes.items()},
        **{ENCODER + name: Declared("float32", shape, optional=is_free) for name, shape in encoder.items()},
        ENCODER + "named.weight": named,
        PREFIX + "eta": Declared("float64", ("2*R",), other_shape=("embeddings", "2*R")),
        PREFIX + "usual_degree": Declared("float64", least=0),
    }


def unpack_plus(arrays: Mapping[str, NDArray[Any]]) -> PlusParameters:
    """Parameters packed by `pack_plus`."""
    own = {name: arrays[PREFIX + name] for name in ARRAYS}
    encoder = {
        name.removeprefix(ENCODER): array for name, array in arrays.items() if name.startswith(ENCODER)
    }
    aggregator: Aggregator = "pna" if len(own["layer"]) == 3 else "sum"
    usual = float(arrays[PREFIX + "usual_degree"])
    return PlusParameters(aggregator=aggregator, usual_degree=usual, encoder=encoder, **own)


@dataclass(eq=False)
class PlusScorer(PiecePredictor):
    """Score of an answer: a network over the rules that reach it, plus eta times the embedding's score.

    Where eta of a relation is 0, candidates are the entities that a rule reaches; else all entities.
    """

    uses_evidence: ClassVar[bool] = True
    rules: RuleSet
    weights: Weights  # psi, from which the network started
    parameters: PlusParameters
    rule_values: RuleValues
    embedding: Scorer | None = None
    threads: int | None = None
    _grounders: Recent[Grounder] = field(default_factory=lambda: Recent(1), init=False, repr=False)

    def __post_init__(self) -> None:
        self._voices = voices(self.embedding, threads=1)

    @property
    def feature(self) -> Feature:  # type: ignore[override]
        """The feature of walks that the network sees."""
        return self.rule_values.feature

    @classmethod
    def fit(cls, task: Task) -> Self:
        """Learn psi as RNNLogic does, then the network, then eta."""
        from rnnlogic.predictors.plus.train import train

        return cls(*train(task, cls.values(task.rules, task.config, task.embedding)))

    @classmethod
    def values(cls, rules: RuleSet, config: Config, embedding: Scorer | None) -> RuleValues:
        """Features, times phi if the embedding scores paths."""
        if config.has_embedding and config.plus.path_scores:
            return PathRuleScorer.values(rules, config, embedding)
        return RuleValues(rules, config.predictor.feature)

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """What each rule adds: the score minus the score without it. They need not sum to the score."""
        found = reaching(self.on(graph), head, relation, tail, is_hidden)
        rule, value, phi = found.rule_id, self._features(found), self.rule_values.phi(found)
        whole = self.parameters.rule_scores(relation, np.array([0, len(rule)]), rule, value, phi)
        without = self._left_out(relation, rule, value, phi)
        weight = self.parameters.psi[rule].astype(np.float64)
        rest = self.rest(graph, head, relation, tail)
        return Contributions(rule, found.count, weight, phi, whole - without, rest, "leave-one-out")

    def without_embedding(self) -> PlusScorer:
        """The score by rules alone."""
        alone = replace(self, embedding=None)
        alone._grounders = self._grounders
        return alone

    def sums(self, candidates: Candidates) -> NDArray[np.float64]:
        """The score by rules [c] of every candidate."""
        value, phi = self._features(candidates), self.rule_values.phi(candidates)
        rules = candidates.candidate_ptr, candidates.rule_id
        return self.parameters.rule_scores(candidates.relation, *rules, value, phi)

    def unreached(self, relation: int) -> float:
        """What the network makes of no rules."""
        return self.parameters.unreached_score(relation)

    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """eta * the embedding's score [B, E]; None if it has no say on this relation."""
        return spoken(self._voices, self.parameters.eta, graph, heads, relation) if self._voices else None

    def pack(self) -> Arrays:
        """psi and the network."""
        return {"weights": self.weights} | pack_plus(self.parameters)

    @classmethod
    def arrays(cls, config: Config) -> Declaration:
        """What `pack` gives with these settings."""
        return super().arrays(config) | plus_arrays(config.plus)

    @classmethod
    def unpack(
        cls, arrays: Mapping[str, NDArray[Any]], rules: RuleSet, config: Config, embedding: Scorer | None
    ) -> Self:
        """The predictor that `pack` gave these arrays."""
        values = cls.values(rules, config, embedding)
        return cls(rules, arrays["weights"], unpack_plus(arrays), values, embedding, config.threads)

    def moved(self, move: Move) -> Self:
        """The network on the rules whose relations the other graph has; refused with an embedding."""
        if self.embedding is not None:
            raise RNNLogicError(
                "this model cannot move to another graph: its embedding knows only the entities that it was "
                "trained with; use variant rnnlogic or plus"
            )
        return replace(
            self,
            rules=move.rules,
            weights=self.weights[move.kept],
            parameters=self.parameters.moved(move.kept, move.relations, move.num_relations),
            rule_values=self.rule_values.of(move.rules),
        )

    def _features(self, candidates: Candidates) -> NDArray[np.float32]:
        return self.rule_values.features(candidates).astype(np.float32)

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
