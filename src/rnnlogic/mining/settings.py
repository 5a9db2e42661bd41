"""Settings of the search for rules."""

from __future__ import annotations

from pydantic import Field

from rnnlogic.base.settings import Settings


class MineSettings(Settings):
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
