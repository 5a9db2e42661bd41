"""Settings of the EM rounds and of the final rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from rnnlogic.base.settings import Settings


class EMSettings(Settings):
    """EM rounds: generator and predictor teach each other."""

    former: ClassVar[Mapping[str, str]] = {"generate": "search"}

    optimizer: Literal["em", "reinforce", "none"] = Field(
        "em", description="How the generator learns: from selected rules, from rewards, or not at all"
    )
    rounds: int = Field(3, ge=0, description="EM rounds, at most")
    rules: int = Field(1000, ge=1, description="Rules generated per relation (paper: N = 1000)")
    search: Literal["beam", "sample"] = Field(
        "beam", description="The generator's most probable rules, or a sample (paper)"
    )
    selected: int = Field(300, ge=1, description="Rules selected per training instance (paper: K = 300)")
    assignment: Literal["hard", "sample"] = Field(
        "hard", description="The K rules with the highest H, or K drawn from softmax(H); the paper has both"
    )
    prior_weight: float = Field(0.01, ge=0, description="Weight of the generator's log-probability inside H")
    replay: bool = Field(
        True, description="The M-step also sees the mined rules and what earlier rounds selected"
    )
    queries_per_relation: int = Field(500, ge=1, description="Training queries per relation and round")
    predictor_steps: int = Field(20, ge=1, description="Passes of the predictor in each round")
    patience: int = Field(1, ge=1, description="Rounds that gain too little before stopping")
    least_gain: float = Field(
        0.002, ge=0, description="Validation MRR that a round must gain, or it gains too little"
    )
    valid_facts: int = Field(
        2000, ge=1, description="Validation facts evaluated after each round, at most: keeps rounds short"
    )


class ChoiceSettings(Settings):
    """What a fit chooses on validation facts before it learns the final weights."""

    rules: tuple[float, ...] = Field(
        (), description="How many of the best rules to use: shares of them that are tried; none: all are used"
    )
    lengths: tuple[int, ...] = Field(
        (), description="How long bodies may be: lengths tried besides max_length; none: all are used"
    )
    evidence: bool = Field(True, description="Which kinds of evidence besides chains to use, of those wanted")
    confidence: bool = Field(False, description="Whether to learn weights by confidence, too")
    weight_decay: bool = Field(False, description="The weight decay: the given one, or times a factor")
    factors: tuple[float, ...] = Field((1.0, 0.1, 0.01), min_length=1, description="Factors tried on it")
    facts: int = Field(1000, ge=1, description="Validation facts asked for each choice, at most")
    relations: int = Field(
        30, ge=1, description="Relations that these are about, at least, if there are so many"
    )
    queries_per_relation: int = Field(300, ge=1, description="Training queries per relation, at most")
    candidates_per_query: int = Field(
        200, ge=4, description="Candidates that weights are learned from, at most"
    )


class FinalSettings(Settings):
    """The rules that the model answers with."""

    rules: int = Field(1000, ge=1, description="Best rules per relation, by beam search (paper: 1000)")
    figures_queries: int | None = Field(
        None,
        ge=1,
        description="Training queries of each relation that support and confidence of the rules are counted "
        "on; by default as many as in mining",
    )
    pooled: bool = Field(
        False,
        description="The rules that each EM round selected most often, instead of the generator's best after "
        "all rounds (the paper's first code)",
    )
