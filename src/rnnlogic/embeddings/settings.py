"""Settings of the training of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, overload

from pydantic import Field

from rnnlogic.base.errors import UnknownNameError
from rnnlogic.base.settings import Settings, checked, override, packaged

__all__ = ["ComplExSettings", "RotatESettings", "TrainingSettings", "default_settings", "override"]


class TrainingSettings(Settings):
    """What the training of every embedding has."""

    gone: ClassVar[Mapping[str, str]] = {
        "schedule": "the rate falls as a cosine to 0",
        "patience": "the best evaluation counts",
        "subsampling": "RotatE weighs facts as its authors do",
        "start": "ComplEx starts from numbers close to 0",
    }

    seed: int = Field(0, ge=0)
    dim: int = Field(200, ge=1, description="Complex dimensions D")
    batch_size: int = Field(1024, ge=1, description="Queries per step")
    epochs: float = Field(100.0, gt=0, description="Passes over all training queries")
    learning_rate: float = Field(0.01, gt=0, description="Size of a step; it falls as a cosine to 0")
    evaluations: int = Field(
        10, ge=1, description="Evaluations of the validation set during training; more cost time"
    )
    valid_facts: int = Field(1000, ge=1, description="Validation facts in an evaluation, at most")


class ComplExSettings(TrainingSettings):
    """How ComplEx is trained."""

    dim: int = Field(100, ge=1, description="Complex dimensions D, the rank")
    batch_size: int = Field(
        256, ge=1, description="Distinct queries (h, r, ?) or (t, r^-1, ?) per step, with all their answers"
    )
    epochs: float = Field(30.0, gt=0, description="Passes over all training queries")
    learning_rate: float = Field(0.1, gt=0, description="Adagrad's rate")
    penalty: float = Field(
        0.05, ge=0, description="N3: weight of the summed cubes of moduli of head, relation and answer"
    )
    relation_weight: float = Field(
        0.0, ge=0, description="Weight of the second task, to tell a fact's relation by its entities"
    )


class RotatESettings(TrainingSettings):
    """How RotatE is trained."""

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
    learning_rate: float = Field(
        0.01, gt=0, description="Adam's step; entities: in units of (margin + 2) / dim, phases: of pi"
    )

    @property
    def entity_range(self) -> float:
        """Entities start uniformly between minus and plus this."""
        return (self.margin + 2.0) / self.dim


MODELS: dict[str, type[TrainingSettings]] = {"rotate": RotatESettings, "complex": ComplExSettings}


@overload
def default_settings(model: Literal["rotate"] = "rotate") -> RotatESettings: ...
@overload
def default_settings(model: Literal["complex"]) -> ComplExSettings: ...
@overload
def default_settings(model: str) -> TrainingSettings: ...
def default_settings(model: str = "rotate") -> TrainingSettings:
    """The settings of a model on any graph: settings/MODEL.yaml."""
    if model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    return checked(MODELS[model], packaged(model), f"settings/{model}.yaml")
