"""Settings of the path scores phi, and of the embedding's own say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from rnnlogic.base.settings import Settings


class PathSettings(Settings):
    """How an embedding scores the paths of rules."""

    former: ClassVar[Mapping[str, str]] = {"answer_weight": "eta", "answer_weights": "etas"}
    gone: ClassVar[Mapping[str, str]] = dict.fromkeys(("eta_facts",), "the same for every graph")

    @model_validator(mode="before")
    @classmethod
    def _distance_is_a_sum_of_moduli(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Earlier settings name the distance; scores by the other one are gone."""
        if values.get("distance", "modulus") != "modulus":
            raise ValueError("distance is the sum of moduli now: fit again without this setting")
        return {key: value for key, value in values.items() if key != "distance"}

    delta: float | None = Field(
        None,
        description="phi = sigmoid((delta - distance) / temperature), as the paper states it; default: the "
        "margin of the embedding + shift",
    )
    shift: float = Field(0.0, description="delta minus the embedding's margin")
    temperature: float = Field(1.0, gt=0, description="Width of the sigmoid in units of distance (paper: 1)")
    eta: float | None = Field(
        None,
        ge=0,
        description="Weight of the embedding's own score of (h, r, answer), for all relations; 0 switches it "
        "off; default: the best of etas on the validation set",
    )
    etas: tuple[float, ...] = Field(
        (0.0, 0.25, 0.5, 1.0, 2.0, 4.0), min_length=1, description="Values of eta to choose from"
    )
    eta_facts: ClassVar[int] = 20_000  # validation facts by which eta is chosen, at most
    per_relation_eta: bool = Field(True, description="Choose an eta for each relation")
    eta_prior: float = Field(
        100.0,
        ge=0,
        description="All queries together count as this many queries of a relation in its choice of eta",
    )
