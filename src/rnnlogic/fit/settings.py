"""Settings of the EM rounds and of the final rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from rnnlogic.base.settings import Settings


class BudgetSettings(Settings):
    """What a fit with default settings may cost, however large the graph; null: no bound.

    A number for each relation is at most the whole divided by the relations with facts, inverses included.
    """

    walks: int | None = Field(
        None, ge=1, description="Walks from a typical entity, at most: decides how long bodies are, 3 to 5"
    )
    facts: int | None = Field(None, ge=1, description="Training facts that mining searches for paths")
    bodies: int | None = Field(None, ge=1, description="Bodies that mining counts")
    counted: int | None = Field(None, ge=1, description="Training queries on which rules are counted")
    proposed: int | None = Field(None, ge=1, description="Rules that the generator proposes in an EM round")
    rules: int | None = Field(None, ge=1, description="Rules that get weights")
    queries: int | None = Field(None, ge=1, description="Training queries that weights are learned from")
    examples: int | None = Field(None, ge=1, description="Candidates of these queries")


class EMSettings(Settings):
    """EM rounds: generator and predictor teach each other."""

    gone: ClassVar[Mapping[str, str]] = {
        "generate": "rules are found by beam search",
        "search": "rules are found by beam search",
        "assignment": "each query selects the rules with the highest H",
    }

    optimizer: Literal["em", "reinforce", "none"] = Field(
        "em", description="How the generator learns: from selected rules, from rewards, or not at all"
    )
    rounds: int = Field(3, ge=0, description="EM rounds, at most")
    rules: int = Field(1000, ge=1, description="Rules generated per relation (paper: N = 1000)")
    selected: int = Field(300, ge=1, description="Rules selected per training instance (paper: K = 300)")
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
    """What a fit chooses on validation facts before it learns the final weights: how weights are regularised.

    Nothing is chosen where there is only one option. Without validation facts, the settings stay as given.
    """

    gone: ClassVar[Mapping[str, str]] = {
        "rules": "all rules that there is budget for get weights",
        "lengths": "max_length says how long bodies are",
        "evidence": "all features of the group evidence are used",
        "confidence": "every rule has a weight of its own",
        "factors": "choice.decays lists them",
        "weight_decay": "choice.decays lists what is tried",
        "relations": "choice.facts bounds the work",
    }

    decays: tuple[tuple[float, float, float], ...] = Field(
        (), description="Weight decay, share of features and factor for each further step, to choose from"
    )
    facts: int = Field(1000, ge=1, description="Validation facts that are asked, at most")
    queries_per_relation: int = Field(300, ge=1, description="Training queries per relation, at most")
    candidates_per_query: int = Field(
        100, ge=4, description="Candidates that weights are learned from, at most"
    )


class FinalSettings(Settings):
    """The rules that the model answers with."""

    gone: ClassVar[Mapping[str, str]] = {"pooled": "the trained generator gives the rules"}

    rules: int = Field(1000, ge=1, description="Best rules per relation, by beam search (paper: 1000)")
    figures_queries: int | None = Field(
        None,
        ge=1,
        description="Training queries of each relation that support and confidence of the rules are counted "
        "on; by default as many as in mining",
    )
