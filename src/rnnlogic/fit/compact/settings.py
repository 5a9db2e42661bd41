"""Settings of the compact model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from rnnlogic.base.settings import Settings

MEASURED = "measured once, and the same for every graph"
FIXED = "no other rules come into small models: they got no better"


class CompactSettings(Settings):
    """How few rules are made of many; what it does not set was measured once (research/lab-notes.md)."""

    gone: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("unasked", "sparsity", "refit_sparsity", "length_cost", "results_per_relation"),
            *("support_queries", "temperature", "weight_decay", "steps"),
        ),
        MEASURED,
    ) | {"swaps": FIXED, "swap_below": FIXED, "signs": "rules keep the signs of the full model"}

    enabled: bool = Field(True, description="Leave the compact model behind; if not, the full one")
    tolerance: float = Field(
        0.01, ge=0, lt=1, description="Share of the full model's validation MRR that may be lost"
    )
    rules: int | None = Field(None, ge=1, description="Maximum number of rules per relation and direction")
    first: int = Field(500, ge=1, description="Rules per relation and direction to start from, at most")
    keep: float = Field(0.75, gt=0, lt=1, description="Share of the rules that stays when some are dropped")
    queries_per_relation: int = Field(1000, ge=1, description="Questions per relation and direction, at most")
    candidates_per_query: int = Field(
        300, ge=2, description="Half of them the best by the full model, half a sample of the others"
    )

    temperature: ClassVar[float] = 2.0  # the student imitates softmax(temperature * full score)
    unasked: ClassVar[float] = 0.3  # weight of a head without facts; with n facts sqrt(n) more
    sparsity: ClassVar[tuple[float, ...]] = (0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125)  # L1, tried in turn
    refit_sparsity: ClassVar[float] = 0.001  # L1 once rules are dropped: more gives fewer, stronger rules
    length_cost: ClassVar[float] = 0.1  # share by which L1 grows with each body atom after the first
    weight_decay: ClassVar[float] = 0.001  # L2, against the mean loss
    steps: ClassVar[int] = 40  # passes over the questions per fit, at most (L-BFGS)
    results_per_relation: ClassVar[int] = 10_000_000  # (query, entity, rule) held at once, at most: 200 MB
    support_queries: ClassVar[int] = 50_000  # training facts searched for support before a rule is given up
