"""Settings of the search for paths."""

from __future__ import annotations

from pydantic import Field

from rnnlogic.base.settings import Settings


class MineSettings(Settings):
    """Paths between the two ends of training facts, as rule bodies to pre-train the generator on."""

    facts_per_relation: int = Field(1000, ge=1, description="Training facts sampled per relation")
    fanout: int = Field(
        100, ge=1, description="Edges followed from an entity; a random sample if it has more"
    )
    walks_per_fact: int = Field(
        20000, ge=1, description="Walks between the two ends of a fact, at most: bounds time and memory"
    )
    candidates: int = Field(
        3000, ge=1, description="Bodies per relation that get statistics: those with the most support"
    )
    queries_per_relation: int = Field(
        500, ge=1, description="Training queries per relation for the statistics"
    )
    smoothing: float = Field(
        300.0, ge=0, description="Quality of a body = support / (support + wrong + smoothing)"
    )
    keep: int = Field(2000, ge=1, description="Bodies per relation that are kept: those of highest quality")
    one_step: bool = Field(
        False,
        description="Keep all one-step rules with support: they are few and easy to read",
    )
