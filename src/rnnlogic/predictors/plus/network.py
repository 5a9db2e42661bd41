"""The network of RNNLogic+ in torch, to be trained; `parameters.py` has it in numpy, to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.features.table import Candidates
from rnnlogic.predictors.base import Predictor
from rnnlogic.predictors.plus.kernels import pna_rules, pna_rules_gradient, sum_rules, sum_rules_gradient
from rnnlogic.predictors.plus.predictor import READ, PlusParameters, PlusScorer, scales
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.rules.ruleset import RuleSet


class _SumRules(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, candidates: Candidates) -> Tensor:
        ctx.candidates, ctx.vectors = candidates, vectors.detach().numpy()
        return torch.from_numpy(sum_rules(*_columns(candidates), ctx.vectors))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
        (up,) = upstream
        gradient = sum_rules_gradient(*_columns(ctx.candidates), ctx.vectors, up.contiguous().numpy())
        return torch.from_numpy(gradient), None


class _PnaRules(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, candidates: Candidates) -> Tensor:
        ctx.candidates, ctx.vectors = candidates, vectors.detach().numpy()
        ctx.features = pna_rules(*_columns(candidates), ctx.vectors)
        return torch.from_numpy(ctx.features)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
        (up,) = upstream
        columns = _columns(ctx.candidates)
        gradient = pna_rules_gradient(*columns, ctx.vectors, ctx.features, up.contiguous().numpy())
        return torch.from_numpy(gradient), None


def sum_of_rules(vectors: Tensor, candidates: Candidates) -> Tensor:
    """Sums [c, D] of value * vector over the rules of each candidate; vectors [K, D]."""
    result: Tensor = _SumRules.apply(vectors, candidates)
    return result


def pna_of_rules(vectors: Tensor, candidates: Candidates) -> Tensor:
    """Mean, smallest, largest, standard deviation [c, 4D] of value * vector over each candidate's rules."""
    result: Tensor = _PnaRules.apply(vectors, candidates)
    return result


def _columns(candidates: Candidates) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return candidates.candidate_ptr, candidates.rule, candidates.value


class BodyEncoder(nn.Module):  # type: ignore[misc]
    """An LSTM that reads the body of a rule, the head relation first: the vector of any rule."""

    def __init__(self, num_relations: int, dim: int, reads_evidence: bool = False) -> None:
        """`num_relations` counts inverses too; only with `reads_evidence` it knows names of evidence."""
        super().__init__()
        self.step = nn.Embedding(num_relations + 1, dim, padding_idx=num_relations)
        self.head = nn.Embedding(num_relations, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, dim)
        self.named = nn.Embedding(len(READ), dim) if reads_evidence else None

    def forward(self, relation: int, bodies: Tensor) -> Tensor:
        """Vectors [k, D] of rules of one relation with bodies [k, L] as `padded_bodies` makes them."""
        head = self.head.weight[relation].expand(len(bodies), 1, -1)
        states, _ = self.lstm(torch.cat([head, self._steps(bodies)], dim=1))
        length = (bodies != self.step.padding_idx).sum(dim=1)
        result: Tensor = self.out(states[torch.arange(len(bodies)), length])
        return result

    def _steps(self, bodies: Tensor) -> Tensor:
        table = self.step.weight if self.named is None else torch.cat([self.step.weight, self.named.weight])
        steps: Tensor = functional.embedding(bodies, table, padding_idx=self.step.padding_idx)
        return steps


class PlusNetwork(nn.Module):  # type: ignore[misc]
    """Scores of candidates of the queries of one relation."""

    def __init__(
        self,
        rules: RuleSet,
        num_relations: int,
        psi: NDArray[np.float64],
        usual_degree: float,
        settings: PlusSettings,
        seed: int,
    ) -> None:
        """`num_relations` counts inverses too. At first scores are 0."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # the state of others stays as it is
            torch.manual_seed(seed)
            self._build(rules, num_relations, psi, usual_degree, settings)

    def _build(
        self,
        rules: RuleSet,
        num_relations: int,
        psi: NDArray[np.float64],
        usual_degree: float,
        settings: PlusSettings,
    ) -> None:
        self.rules, self.settings, self.usual_degree = rules, settings, usual_degree
        self.ids = {int(r): rules.by_head(int(r)) for r in rules.head_relations()}
        dim, hidden = settings.dim, settings.hidden
        features, scalers = (4 * dim, 3) if settings.aggregator == "pna" else (dim, 1)
        self.relation = nn.Embedding(num_relations, dim)
        self.by_relation = nn.Linear(dim, hidden)
        self.layer = nn.Parameter(torch.randn(scalers, features, hidden) / (scalers * features) ** 0.5)
        self.output = nn.Parameter(torch.zeros(hidden))
        self.psi = (psi if settings.linear != "none" else np.zeros(len(rules))).astype(np.float32)
        if settings.rule_vectors == "lstm":
            self.encoder = BodyEncoder(num_relations, dim, bool(rules.are_features.any()))
            self.bodies = {r: padded_bodies(rules, ids, num_relations) for r, ids in self.ids.items()}
        else:
            vectors = {str(r): nn.Parameter(torch.randn(len(ids), dim)) for r, ids in self.ids.items()}
            self.vectors = nn.ParameterDict(vectors)

    def rule_vectors(self, relation: int) -> Tensor:
        """Vectors [k, D] of the rules of a relation."""
        if self.settings.rule_vectors == "lstm":
            vectors: Tensor = self.encoder(relation, self.bodies[relation])
            return vectors
        own: Tensor = self.vectors[str(relation)]
        return own

    def forward(self, candidates: Candidates) -> Tensor:
        """Scores [c] of candidates."""
        relation = candidates.relation
        aggregate = pna_of_rules if self.settings.aggregator == "pna" else sum_of_rules
        features = aggregate(self.rule_vectors(relation), candidates)  # [c, F]
        by_scale = torch.einsum("cf,sfh->csh", features, self.layer)
        degree = np.diff(candidates.candidate_ptr)
        scale = torch.from_numpy(scales(degree, self.usual_degree)[: len(self.layer)].T)  # [c, S]
        hidden = torch.einsum("cs,csh->ch", scale.to(by_scale.dtype), by_scale)
        hidden = torch.relu(hidden + self.by_relation(self.relation.weight[relation]))
        scores: Tensor = hidden @ self.output
        return scores

    def parameters_of(self, relation: int) -> list[Tensor]:
        """The parameters that scores of this relation depend on and that are trained."""
        own = str(relation)
        shared = [p for name, p in self.named_parameters() if not name.startswith("vectors.")]
        is_known = self.settings.rule_vectors != "lstm" and own in self.vectors
        return [*shared, self.vectors[own]] if is_known else shared

    def as_arrays(self, eta: NDArray[np.float64]) -> PlusParameters:
        """What was learned, free of torch; with eta [2R]."""
        with torch.no_grad():
            return self._as_arrays(eta)

    def _as_arrays(self, eta: NDArray[np.float64]) -> PlusParameters:
        size = len(self.rules)
        vectors = np.zeros((size, self.settings.dim), np.float32)
        for relation, ids in self.ids.items():
            vectors[ids] = self.rule_vectors(relation).numpy()
        is_lstm = self.settings.rule_vectors == "lstm"
        encoder = {k: v.numpy().copy() for k, v in self.encoder.state_dict().items()} if is_lstm else {}
        return PlusParameters(
            self.settings.aggregator,
            vectors,
            self.psi,
            self.by_relation(self.relation.weight).numpy(),
            self.layer.numpy().copy(),
            self.output.numpy().copy(),
            self.usual_degree,
            eta,
            encoder,
        )


def padded_bodies(rules: RuleSet, ids: NDArray[np.int64], padding: int) -> Tensor:
    """Bodies [k, L] of some rules, filled up with `padding`; features are numbered after it."""
    steps = rules.steps(ids, int(rules.lengths[ids].max(initial=0))).astype(np.int64)
    steps[steps < 0] = padding
    for place, name in enumerate(READ):
        steps[rules.are_feature(name)[ids], :1] = padding + 1 + place
    return torch.from_numpy(steps)


def with_unseen_rules(predictor: Predictor, rules: RuleSet) -> Predictor:
    """The network with rules [n] that come after those it knows, and that it was not trained on."""
    if not isinstance(predictor, PlusScorer) or not predictor.parameters.encoder:
        raise RNNLogicError(
            "only RNNLogic+ whose vectors come from an LSTM can use rules that it was not trained on, and "
            "only on the graph that it learned from (--variant plus --set plus.rule_vectors=lstm); else fit "
            "with them: --rules FILE --no-generate"
        )
    if not rules.are_chains.all():
        raise RNNLogicError(
            "only chain rules can be added: leave out rules with constants and other features"
        )
    known = predictor.parameters
    parameters = replace(
        known,
        vectors=np.concatenate([known.vectors, encode_rules(known.encoder, rules)]),
        psi=np.append(known.psi, np.zeros(len(rules), np.float32)),
    )
    both = predictor.rules | rules
    return replace(
        predictor,
        rules=both,
        weights=np.append(predictor.weights, np.zeros(len(rules))),
        parameters=parameters,
        rule_values=predictor.rule_values.of(both),
    )


def encode_rules(encoder: Mapping[str, NDArray[Any]], rules: RuleSet) -> NDArray[np.float32]:
    """Vectors [n, D] of any rules, by the parameters of a trained `BodyEncoder`."""
    num_relations, dim = encoder["head.weight"].shape
    network = BodyEncoder(num_relations, dim, "named.weight" in encoder)
    network.load_state_dict({name: torch.tensor(array) for name, array in encoder.items()})
    vectors = np.zeros((len(rules), dim), np.float32)
    with torch.no_grad():
        for relation in map(int, rules.head_relations()):
            ids = rules.by_head(relation)
            vectors[ids] = network(relation, padded_bodies(rules, ids, num_relations)).numpy()
    return vectors
