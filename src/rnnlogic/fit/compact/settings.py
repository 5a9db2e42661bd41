"""Settings of the compact model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rnnlogic.base.settings import Settings


class CompactSettings(Settings):
    """How few rules are made of many. What no packaged file sets was measured once: see docs/lab-notes.md."""

    enabled: bool = Field(True, description="Leave the compact model behind; if not, the full one")
    tolerance: float = Field(
        0.02, ge=0, lt=1, description="Share of the full model's validation MRR that may be lost"
    )
    rules: int | None = Field(None, ge=1, description="At most so many rules per relation and direction")
    signs: Literal["any", "nonnegative"] = Field(
        "any", description="Whether rules may speak against an answer (negative weights)"
    )
    first: int = Field(500, ge=1, description="Rules per relation and direction to start from, at most")
    temperature: float = Field(
        2.0, gt=0, description="The student imitates softmax(temperature * full score)"
    )
    unasked: float = Field(0.3, gt=0, description="Weight of a head without facts; with n facts sqrt(n) more")
    sparsity: tuple[float, ...] = Field(
        (0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125), min_length=1, description="L1 penalties tried in turn"
    )
    refit_sparsity: float = Field(
        0.001, ge=0, description="L1 penalty once rules are dropped; a larger one gives fewer, stronger rules"
    )
    focus: float = Field(
        0.0, ge=0, description="Above 0, rules that reach few answers go later: fewer rules speak for each"
    )
    length_cost: float = Field(
        0.1, ge=0, description="The penalty grows by this share with each body atom after the first"
    )
    weight_decay: float = Field(0.001, ge=0, description="L2 penalty, against the mean loss")
    keep: float = Field(0.75, gt=0, lt=1, description="Share of the rules that stays when some are dropped")
    swaps: int = Field(2, ge=0, description="Rounds in which other rules may come in, for small models")
    swap_below: int = Field(60, ge=0, description="Number of rules up to which that is tried, at some stops")
    steps: int = Field(40, ge=1, description="Passes over the questions per fit, at most (L-BFGS)")
    queries_per_relation: int = Field(1000, ge=1, description="Questions per relation and direction, at most")
    candidates_per_query: int = Field(
        300, ge=2, description="Half of them the best by the full model, half a sample of the others"
    )
    results_per_relation: int = Field(
        10_000_000, ge=1000, description="(query, entity, rule) results held at once per relation, at most"
    )
    support_queries: int = Field(
        50_000, ge=1, description="Training facts on which support is looked for before a rule is given up"
    )
