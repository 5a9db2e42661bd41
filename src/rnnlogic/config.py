"""Settings of a fit, assembled from the classes that lie beside the code they govern; packaged settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.settings import (
    Named,
    Settings,
    changed,
    checked,
    name_for,
    override,
    packaged,
    packaged_names,
    read_values,
)
from rnnlogic.generator.settings import GeneratorSettings
from rnnlogic.grounding.evidence.settings import EvidenceSettings
from rnnlogic.learning.compact.settings import CompactSettings
from rnnlogic.learning.settings import ChoiceSettings, EMSettings, FinalSettings
from rnnlogic.mining.settings import MineSettings
from rnnlogic.predictors.table import PredictorGroups, entry

__all__ = [
    "Config",
    "Variant",
    "changed",
    "load_preset",
    "make_config",
    "override",
    "preset_for",
    "preset_name",
    "preset_names",
    "read_config",
]

Variant = str  # a name of the table of predictors


class Basics(Settings):
    """Settings of a fit that belong to no part of it."""

    variant: Variant = Field("rnnlogic", description="The predictor: a name of predictors/table.py")
    seed: int = Field(0, ge=0, description="Seed of everything random")
    threads: int | None = Field(None, ge=1, description="Threads; all cores if not given")
    max_length: int = Field(3, ge=1, le=8, description="Longest rule body")
    generate: bool = Field(True, description="Generate rules; if false, only learn weights of the given ones")
    pinned: tuple[str, ...] = Field((), description="Rules that the final rules always contain")
    banned: tuple[str, ...] = Field(
        (), description="Patterns of rules that are never used, such as r <- * & ..."
    )

    @field_validator("variant")
    @classmethod
    def _is_known(cls, variant: Variant) -> Variant:
        try:
            entry(variant)
        except RNNLogicError as error:
            raise ValueError(str(error)) from None
        return variant


class Config(PredictorGroups, Basics):
    """All settings of `rnnlogic fit`."""

    mine: MineSettings = MineSettings()
    generator: GeneratorSettings = GeneratorSettings()
    em: EMSettings = EMSettings()
    final: FinalSettings = FinalSettings()
    evidence: EvidenceSettings = EvidenceSettings()
    choice: ChoiceSettings = ChoiceSettings()
    compact: CompactSettings = CompactSettings()

    @property
    def has_embedding(self) -> bool:
        """Whether the variant needs an embedding."""
        return entry(self.variant).needs_embedding


def make_config(values: Mapping[str, Any], source: str = "settings") -> Config:
    """Check nested values; an error names the key, and the nearest one if it does not exist."""
    return checked(Config, values, source)


def read_config(path: str | Path) -> Config:
    """Settings of a YAML file."""
    return make_config(read_values(path), str(path))


def preset_for(dataset: Named, variant: Variant = "rnnlogic") -> Config:
    """The packaged settings for a dataset, by its name if that is known, else by its size."""
    return load_preset(preset_name(dataset), variant)


def preset_name(dataset: Named) -> str:
    """The name of the settings that `preset_for` gives."""
    return name_for(dataset, preset_names())


def preset_names() -> list[str]:
    """Names of all packaged settings."""
    return packaged_names()


def load_preset(name: str, variant: Variant = "rnnlogic") -> Config:
    """Packaged settings by name: settings/NAME.yaml, with what settings/VARIANT/NAME.yaml changes.

    A variant that is like another starts from the packaged settings of that one.
    """
    if name not in preset_names():
        raise UnknownNameError("preset", name, preset_names())
    config = make_config(packaged("", name), f"settings/{name}.yaml")
    for folder in _lineage(variant):
        if name in packaged_names(folder):
            config = changed(config, packaged(folder, name), f"settings/{folder}/{name}.yaml")
    return changed(config, {"variant": variant})


def _lineage(variant: Variant) -> Iterator[Variant]:
    """The variants whose packaged changes apply, the variant itself last."""
    like = entry(variant).like
    if like is not None:
        yield from _lineage(like)
    yield variant
