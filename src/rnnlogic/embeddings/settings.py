"""Settings of RotatE training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from rnnlogic.base.settings import Named, Settings, checked, name_for, override, packaged_names
from rnnlogic.base.settings import packaged as packaged_values

__all__ = ["RotatESettings", "make_settings", "override", "packaged", "settings_for"]

FOLDER = "rotate"  # of the packaged settings


class RotatESettings(Settings):
    """How RotatE is trained."""

    seed: int = Field(0, ge=0)
    dim: int = Field(200, ge=1, description="Complex dimensions D")
    margin: float = Field(9.0, gt=0, le=60, description="gamma: score = margin - distance")
    adversarial_temperature: float = Field(
        1.0, ge=0, description="alpha: negatives weigh softmax(alpha * score); 0 weighs all the same"
    )
    batch_size: int = Field(
        1024, ge=1, description="Queries per step; a fact gives two: (h, r, ?) and (t, r^-1, ?)"
    )
    negatives: int = Field(256, ge=1, description="Wrong answers per query, drawn without repeats; E at most")
    share: int = Field(128, ge=1, description="Queries that share the same negatives")
    subsampling: bool = Field(
        True,
        description="Weigh a fact by 1 / sqrt(6 + facts of (h, r) + facts of (r, t)), as RotatE's authors do",
    )
    epochs: float = Field(100.0, gt=0, description="Passes over all training queries")
    learning_rate: float = Field(
        0.01, gt=0, description="Adam's step; entities: in units of (margin + 2) / dim, phases: of pi"
    )
    schedule: Literal["cosine", "step", "constant"] = Field(
        "cosine",
        description="The rate falls as a cosine to 0, to a tenth at half the steps (authors), or not at all",
    )
    evaluations: int = Field(
        10, ge=1, description="Evaluations of the validation set during training; more cost time"
    )
    patience: int | None = Field(
        None,
        ge=1,
        description="Evaluations without a better validation MRR before stopping; default: never stop early",
    )
    valid_facts: int = Field(1000, ge=1, description="Validation facts in an evaluation, at most")

    @property
    def entity_range(self) -> float:
        """Entities start uniformly between minus and plus this."""
        return (self.margin + 2.0) / self.dim


def make_settings(values: Mapping[str, Any], source: str = "settings") -> RotatESettings:
    """Check values; an error names the key, and the nearest one if it does not exist."""
    return checked(RotatESettings, values, source)


def settings_for(dataset: Named) -> RotatESettings:
    """The packaged settings for a dataset, by its name if that is known, else by its size."""
    return packaged(name_for(dataset, packaged_names(FOLDER)))


def packaged(name: str) -> RotatESettings:
    """Packaged settings by name."""
    return make_settings(packaged_values(FOLDER, name), f"settings/{FOLDER}/{name}.yaml")
