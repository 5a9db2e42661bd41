"""Settings of the compact model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from rnnlogic.base.settings import Settings


class CompactSettings(Settings):
    """How few rules are made of many; what it does not set was measured once (research/lab-notes.md)."""

    gone: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "unasked",
            "sparsity",
            "refit_sparsity",
            "length_cost",
            "swap_below",
            "results_per_relation",
            "support_queries",
        ),
        "measured once, and the same for every graph",
    )

    enabled: bool = Field(True, description="Leave the compact model behind; if not, the full one")
    tolerance: float = Field(
        0.01, ge=0, lt=1, description="Share of the full model's validation MRR that may be lost"
    )
    rules: int | None = Field(None, ge=1, description="Maximum number of rules per relation and direction")
    signs: Literal["any", "nonnegative"] = Field(
        "any", description="Whether rules may count against an answer (negative weights)"
    )
    first: int = Field(500, ge=1, description="Rules per relation and direction to start from, at most")
    temperature: float = Field(
        2.0, gt=0, description="The student imitates softmax(temperature * full score)"
    )
    unasked: ClassVar[float] = 0.3  # weight of a head without facts; with n facts sqrt(n) more
    sparsity: ClassVar[tuple[float, ...]] = (
        0.04,
        0.02,
        0.01,
        0.005,
        0.0025,
        0.00125,
    )  # L1 penalties tried in turn
    refit_sparsity: ClassVar[float] = (
        0.001  # L1 penalty once rules are dropped: a larger one gives fewer, stronger rules
    )
    # The penalty grows by this share with each body atom after the first
    length_cost: ClassVar[float] = 0.1
    weight_decay: float = Field(0.001, ge=0, description="L2 penalty, against the mean loss")
    keep: float = Field(0.75, gt=0, lt=1, description="Share of the rules that stays when some are dropped")
    swaps: int = Field(2, ge=0, description="Rounds in which other rules may come in, for small models")
    swap_below: ClassVar[int] = (
        60  # rules up to which others may come in, at some stops: beyond, it costs more than it gains
    )
    steps: int = Field(40, ge=1, description="Passes over the questions per fit, at most (L-BFGS)")
    queries_per_relation: int = Field(1000, ge=1, description="Questions per relation and direction, at most")
    candidates_per_query: int = Field(
        300, ge=2, description="Half of them the best by the full model, half a sample of the others"
    )
    results_per_relation: ClassVar[int] = (
        10_000_000  # (query, entity, rule) results held at once per relation, at most: 200 MB
    )
    support_queries: ClassVar[int] = (
        50_000  # training facts on which support is looked for before a rule is given up
    )
