"""Settings of the log-linear predictor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from rnnlogic.base.settings import Settings
from rnnlogic.base.types import Feature

DECAYS = ("weight_decay", "evidence_decay", "length_decay")  # what a fit chooses on validation facts


class LogLinearSettings(Settings):
    """The log-linear predictor: one convex problem per head relation."""

    gone: ClassVar[Mapping[str, str]] = {
        "by_confidence": "every rule has a weight of its own; evidence.surest adds the best rule"
    }

    feature: Feature = Field("log1p", description="What psi multiplies: count (paper), log(1+count), or 1")
    weight_decay: float = Field(
        100.0, ge=0, description="L2 penalty on psi, against the summed log-likelihood"
    )
    evidence_decay: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the weight decay for features without a body: few numbers per relation",
    )
    length_decay: float = Field(
        1.0, ge=1, description="Factor on the weight decay of a rule for each step after the first"
    )
    weight_limit: float | None = Field(
        None, gt=0, description="Bound on |psi|: an answer needs several rules to get a high score"
    )
    sign_lift: float | None = Field(
        1.0,
        ge=1,
        description="A rule with at least this lift never counts against an answer, and one with at most the "
        "inverse never counts for one; null: signs are free",
    )
    initial: Literal["zero", "expectation"] = Field(
        "zero", description="psi before the first pass; expectation: the mean margin of the rule (paper)"
    )
    other_answers: Literal["exclude", "negative"] = Field(
        "exclude",
        description="Other known answers of a training query: left out of the softmax, or counted as wrong",
    )
    answer_discount: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Factor on the answer's features while psi is learned; below 1, only rules that reach "
        "answers clearly more often than other entities get positive weights",
    )
    steps: int = Field(40, ge=1, description="Passes over the training queries, at most (L-BFGS)")
    queries_per_relation: int = Field(5000, ge=1, description="Training queries per relation, at most")
    results_per_relation: int = Field(
        20_000_000, ge=1000, description="(query, entity, rule) results held at once per relation, at most"
    )
    candidates_per_query: int = Field(
        1000,
        ge=4,
        description="Candidates that weights are learned from, at most: the answer, the best others by a "
        "first guess, and a sample that stands for the rest",
    )
