"""Settings of a fit: every number that changes a result is a named field here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.grounding.features import Feature

Variant = Literal["rnnlogic", "rnnlogic-emb", "plus", "plus-emb"]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MineSettings(_Settings):
    """Search for the relational paths between the ends of training facts, to pre-train the generator on."""

    facts_per_relation: int = Field(1000, ge=1, description="Training facts sampled per relation")
    fanout: int = Field(
        100, ge=1, description="Edges followed from one entity; a random sample if it has more"
    )
    walks_per_fact: int = Field(20000, ge=1, description="Walks between the ends of one fact, at most")
    candidates: int = Field(
        3000, ge=1, description="Bodies per relation, by support, for which statistics are made"
    )
    queries_per_relation: int = Field(
        500, ge=1, description="Training queries per relation for the statistics"
    )
    smoothing: float = Field(
        300.0, ge=0, description="Quality of a body = support / (support + wrong + smoothing)"
    )
    keep: int = Field(2000, ge=1, description="Best bodies per relation that are kept")


class GeneratorSettings(_Settings):
    """The LSTM that proposes rules."""

    embedding_size: int = Field(512, ge=1, description="Size of relation vectors and LSTM inputs")
    hidden_size: int = Field(256, ge=1, description="Size of the LSTM's state")
    pretrain_steps: int = Field(300, ge=0, description="Optimiser steps on mined rules")
    pretrain_learning_rate: float = Field(3e-3, gt=0)
    tune_steps: int = Field(150, ge=0, description="Optimiser steps of one M-step")
    tune_learning_rate: float = Field(1e-3, gt=0)
    batch_size: int = Field(1024, ge=1, description="Rules in one step")


class PredictorSettings(_Settings):
    """The log-linear predictor: one convex problem per head relation."""

    feature: Feature = Field("log1p", description="What psi multiplies: count (paper), log(1+count), or 1")
    weight_decay: float = Field(
        100.0, ge=0, description="L2 penalty on psi, against the summed log-likelihood"
    )
    weight_limit: float | None = Field(
        None, gt=0, description="No psi is larger than this, in either sign: strength comes from many rules"
    )
    initial: Literal["zero", "expectation", "random"] = Field("zero", description="Start value of psi")
    other_answers: Literal["exclude", "negative"] = Field(
        "exclude",
        description="Other known answers of a training query: left out of the softmax, or counted as wrong",
    )
    answer_discount: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Features of the answer are multiplied with it while psi is learned: below 1, only rules "
        "that reach answers clearly more often than others get positive weights",
    )
    steps: int = Field(40, ge=1, description="Passes over the training queries, at most (L-BFGS)")
    queries_per_relation: int = Field(5000, ge=1, description="Training queries per relation, at most")
    results_per_relation: int = Field(
        20_000_000, ge=1000, description="(query, entity, rule) results held at once per relation, at most"
    )


class PathSettings(_Settings):
    """How an embedding takes part, in the variant rnnlogic-emb."""

    delta: float | None = Field(
        None,
        description="phi = sigmoid((delta - distance) / temperature); not given: the margin + shift",
    )
    shift: float = Field(0.0, description="delta minus the margin with which the embedding was trained")
    temperature: float = Field(1.0, gt=0, description="How far distances may differ from delta (paper: 1)")
    distance: Literal["modulus", "euclidean"] = Field(
        "modulus", description="Sum of the moduli of complex differences, as RotatE has it, or Euclidean"
    )
    answer_weight: float | None = Field(
        None,
        ge=0,
        description="eta: how much of RotatE's own score of (h, r, answer) is added to that of the rules; "
        "not given: the best of answer_weights on validation facts",
    )
    answer_weights: tuple[float, ...] = Field((0.0, 0.25, 0.5, 1.0, 2.0, 4.0), min_length=1)


class EMSettings(_Settings):
    """Rounds in which generator and predictor teach each other."""

    optimizer: Literal["em", "reinforce", "none"] = Field(
        "em", description="How the generator learns from rewards"
    )
    rounds: int = Field(3, ge=0)
    rules: int = Field(1000, ge=1, description="Rules generated per relation (paper: N = 1000)")
    generate: Literal["beam", "sample"] = Field("beam", description="Most probable rules, or a sample")
    selected: int = Field(300, ge=1, description="Rules selected per training instance (paper: K = 300)")
    assignment: Literal["hard", "sample"] = Field(
        "hard", description="Top K by H, or K drawn from softmax(H)"
    )
    prior_weight: float = Field(0.01, ge=0, description="Weight of the generator's log-probability inside H")
    replay: bool = Field(
        True, description="The M-step also sees the mined rules and what earlier rounds selected"
    )
    queries_per_relation: int = Field(500, ge=1, description="Training queries per relation and round")
    predictor_steps: int = Field(20, ge=1, description="Passes of the predictor in each round")
    patience: int = Field(2, ge=1, description="Rounds without a better validation MRR before stopping")
    valid_facts: int = Field(2000, ge=1, description="Validation facts evaluated after each round")


class FinalSettings(_Settings):
    """The rules that answer, and how their weights are found."""

    rules: int = Field(1000, ge=1, description="Best rules per relation, by beam search (paper: 1000)")


class PlusSettings(_Settings):
    """RNNLogic+: a network scores an answer by the rules that reach it; variants plus and plus-emb."""

    rules: int | None = Field(
        None, ge=1, description="Rules per relation with the largest |psi|; all if not given"
    )
    aggregator: Literal["pna", "sum"] = Field("pna", description="How the vectors of rules are joined")
    rule_vectors: Literal["embedding", "lstm"] = Field(
        "embedding", description="A free vector for each rule, or one that an LSTM reads off its body"
    )
    dim: int = Field(32, ge=1, description="Size of the vectors of rules and relations (paper: 32)")
    hidden: int = Field(64, ge=1, description="Hidden units of the network")
    linear: Literal["none", "fixed", "trained"] = Field(
        "fixed", description="psi of RNNLogic in the score: not at all, as it is, or trained further"
    )
    path_scores: bool = Field(
        True, description="With an embedding: phi of the paths of rules takes part, in the sum of psi"
    )
    loss: Literal["softmax", "multi"] = Field(
        "softmax",
        description="Other known answers of a query are left out, or share the target with its answer",
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="Share of the target for all candidates")
    unreached: bool | None = Field(
        None,
        description="Whether entities that no rule reaches take part in the softmax, as one candidate; not "
        "given: if an embedding takes part",
    )
    queries_per_relation: int = Field(1000, ge=1, description="Training queries per relation, at most")
    strongest: int = Field(64, ge=0, description="Wrong candidates of a query: so many with the highest sums")
    random: int = Field(32, ge=0, description="Wrong candidates of a query: so many others, at random")
    epochs: int = Field(10, ge=0)
    patience: int = Field(3, ge=1, description="Epochs without a better validation MRR before stopping")
    batch_queries: int = Field(32, ge=1, description="Queries of one relation in a batch")
    batches_per_step: int = Field(4, ge=1, description="Batches, of any relations, in an optimiser step")
    learning_rate: float = Field(3e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0, description="Decoupled, in each optimiser step")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of hidden units left out in training")
    valid_facts: int = Field(2000, ge=1, description="Validation facts evaluated after each epoch")
    eta_facts: int = Field(20_000, ge=1, description="Validation facts that eta is chosen by, at most")
    answer_weights: tuple[float, ...] = Field(
        (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0), min_length=1, description="eta: tried on validation facts"
    )
    per_relation_eta: bool = Field(False, description="An eta for each relation, by its validation queries")
    eta_prior: float = Field(
        30.0, ge=0, description="What all queries say about eta counts as so many queries of a relation"
    )


class Config(_Settings):
    """All settings of `rnnlogic fit`."""

    variant: Variant = Field(
        "rnnlogic",
        description="rnnlogic-emb: an embedding scores the paths; plus: a network on top; plus-emb: both",
    )
    seed: int = 0
    threads: int | None = Field(None, description="Threads; all cores if not given")
    max_length: int = Field(3, ge=1, le=8, description="Longest rule body")
    generate: bool = Field(True, description="Look for rules; if not, only weigh those that are given")
    pinned: tuple[str, ...] = Field((), description="Rules that are surely among the final ones")
    banned: tuple[str, ...] = Field((), description="Patterns of rules that are never used: r <- * & ...")
    mine: MineSettings = MineSettings()
    generator: GeneratorSettings = GeneratorSettings()
    predictor: PredictorSettings = PredictorSettings()
    paths: PathSettings = PathSettings()
    em: EMSettings = EMSettings()
    final: FinalSettings = FinalSettings()
    plus: PlusSettings = PlusSettings()

    @property
    def has_embedding(self) -> bool:
        """Whether the variant needs an embedding."""
        return self.variant.endswith("-emb")

    @property
    def is_plus(self) -> bool:
        """Whether a network is trained on the rules."""
        return self.variant.startswith("plus")

    @property
    def scores_paths(self) -> bool:
        """Whether the embedding scores paths."""
        return self.has_embedding and (not self.is_plus or self.plus.path_scores)


def make_config(values: dict[str, Any], source: str = "settings") -> Config:
    """Check nested values; an error names the key, and the nearest one if it does not exist."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise RNNLogicError("\n".join(f"{source}: {_explain(e)}" for e in error.errors())) from None


def read_config(path: str | Path) -> Config:
    """Settings of a YAML file."""
    return make_config(read_values(path), str(path))


def read_values(path: str | Path) -> dict[str, Any]:
    """What a YAML file says, unchecked."""
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError) as error:
        raise RNNLogicError(f"{path}: cannot be read ({error})") from None
    except yaml.YAMLError as error:
        raise RNNLogicError(f"{path}: is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise RNNLogicError(f"{path}: expected 'key: value' lines, found {type(values).__name__}")
    return values


def changed(config: Config, values: Mapping[str, Any], source: str = "settings") -> Config:
    """The settings with nested changes."""
    return make_config(_merged(config.model_dump(), values), source)


def override(config: Config, assignments: list[str]) -> Config:
    """The settings with `key=value` changes such as `em.rounds=5`; values are read as YAML."""
    values = config.model_dump()
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise RNNLogicError(f"--set {assignment}: expected key=value, for example em.rounds=5")
        *outer, last = key.strip().split(".")
        place = values
        for name in outer:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise RNNLogicError(f"--set {key}: {name!r} is a value, not a group of settings")
        place[last] = yaml.safe_load(text)
    return make_config(values, "--set")


def differences(config: Config) -> dict[str, Any]:
    """The settings that differ from the defaults, nested."""
    return config.model_dump(exclude_defaults=True)


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    nested = {key: _merged(values.get(key, {}), new) for key, new in changes.items() if isinstance(new, dict)}
    return {**values, **changes, **nested}


def _explain(error: Any) -> str:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] != "extra_forbidden":
        return f"{key}: {error['msg']}, found {error.get('input')!r}"
    known = all_keys()
    near = difflib.get_close_matches(key, known, n=3, cutoff=0.4)
    return f"unknown key {key!r}" + (
        f"; did you mean {', '.join(near)}?" if near else f"; known: {', '.join(known)}"
    )


def all_keys() -> list[str]:
    """Every key that may be set, with dots."""
    keys: list[str] = []
    for name, field in Config.model_fields.items():
        group = field.annotation
        nested = isinstance(group, type) and issubclass(group, BaseModel)
        keys += [f"{name}.{inner}" for inner in group.model_fields] if nested else [name]  # type: ignore[union-attr]
    return keys
