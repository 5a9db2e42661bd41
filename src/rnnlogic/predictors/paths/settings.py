"""Settings of path scores."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rnnlogic.base.settings import Settings


class PathSettings(Settings):
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
