"""Settings of RotatE training: every number that changes a result is a named field here."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.named import KNOWN

FOLDER = files("rnnlogic") / "settings" / "rotate"
SIZES = {"small": 20_000, "medium": 200_000}  # most training facts of each; any more are "large"


class RotatESettings(BaseModel):
    """How RotatE is trained."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(0, ge=0)
    dim: int = Field(200, ge=1, description="Complex dimensions D")
    margin: float = Field(9.0, gt=0, le=60, description="gamma: score = margin - distance")
    adversarial_temperature: float = Field(
        1.0, ge=0, description="alpha: negatives weigh softmax(alpha * score); 0 weighs all alike"
    )
    batch_size: int = Field(
        1024, ge=1, description="Queries per step; a fact is two: (h, r, ?) and (t, r^-1, ?)"
    )
    negatives: int = Field(256, ge=1, description="Wrong answers per query, drawn without repeats; E at most")
    share: int = Field(128, ge=1, description="Queries that share the same negatives")
    subsampling: bool = Field(
        True,
        description="Weigh a fact by 1 / sqrt(6 + facts of (h, r) + facts of (r, t)), or all alike",
    )
    epochs: float = Field(100.0, gt=0, description="Passes over all training queries")
    learning_rate: float = Field(
        0.01, gt=0, description="Adam's step; entities: in units of (margin + 2) / dim, phases: of pi"
    )
    schedule: Literal["cosine", "step", "constant"] = Field(
        "cosine", description="Rate falls as a cosine to 0, or to a tenth after half the steps, or not at all"
    )
    evaluations: int = Field(10, ge=1, description="Times the validation MRR is measured")
    patience: int | None = Field(
        None, ge=1, description="Stop after so many evaluations without a better validation MRR"
    )
    valid_facts: int = Field(1000, ge=1, description="Validation facts evaluated each time, at most")

    @property
    def entity_range(self) -> float:
        """Entities begin uniformly between minus and plus this."""
        return (self.margin + 2.0) / self.dim


def make_settings(values: dict[str, Any], source: str = "settings") -> RotatESettings:
    """Check values; an error names the key, and the nearest one if it does not exist."""
    for key in values:
        if key not in RotatESettings.model_fields:
            problem = UnknownNameError("key", key, RotatESettings.model_fields)
            raise RNNLogicError(f"{source}: {problem} (known: {', '.join(RotatESettings.model_fields)})")
    try:
        return RotatESettings.model_validate(values)
    except ValidationError as error:
        problems = [f"{e['loc'][0]}: {e['msg']}, found {e['input']!r}" for e in error.errors()]
        raise RNNLogicError("\n".join(f"{source}: {problem}" for problem in problems)) from None


def override(settings: RotatESettings, assignments: Sequence[str]) -> RotatESettings:
    """The settings with `key=value` changes such as `epochs=50`; values are read as YAML."""
    values = settings.model_dump()
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise RNNLogicError(f"--set {assignment}: expected key=value, for example epochs=50")
        try:
            values[key.strip()] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise RNNLogicError(f"--set {assignment}: the value is not YAML: {error}") from None
    return make_settings(values, "--set")


def settings_for(dataset: Dataset) -> RotatESettings:
    """The packaged settings for a dataset, by its name if that is known, else by its size."""
    name = dataset.name.lower()
    if name not in KNOWN or name not in packaged_names():
        fitting = (size for size, most in SIZES.items() if len(dataset.train) <= most)
        name = next(fitting, "large")
    return packaged(name)


def packaged_names() -> list[str]:
    """Names of all packaged settings."""
    return sorted(file.name.removesuffix(".yaml") for file in FOLDER.iterdir())


def packaged(name: str) -> RotatESettings:
    """Packaged settings by name."""
    if name not in packaged_names():
        raise UnknownNameError("settings", name, packaged_names())
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return make_settings(yaml.safe_load(text) or {}, f"{name}.yaml")
