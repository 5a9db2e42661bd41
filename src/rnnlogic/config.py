"""Settings of a fit, assembled from the classes that lie beside the code they govern; packaged settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, field_validator

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.settings import (
    Named,
    Settings,
    all_keys,
    changed,
    checked,
    merged,
    name_for,
    override,
    packaged,
    packaged_names,
    read_values,
)
from rnnlogic.features.evidence.settings import EvidenceSettings
from rnnlogic.fit.compact.settings import CompactSettings
from rnnlogic.fit.settings import ChoiceSettings, EMSettings, FinalSettings
from rnnlogic.generator.settings import GeneratorSettings
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
    "with_keywords",
]

Variant = str  # a name of the table of predictors


KEYWORDS = {  # short names of settings in Python: RNNLogic(rules=50, max_length=2)
    "rules": "final.rules",
    "rounds": "em.rounds",
    "feature": "predictor.feature",
    "weight_decay": "predictor.weight_decay",
    "smoothing": "mine.smoothing",
    "compact": "compact.enabled",
    "tolerance": "compact.tolerance",
    "most_rules": "compact.rules",
}


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


def with_keywords(config: Config, keywords: Mapping[str, Any]) -> Config:
    """The settings with some changed by short names (KEYWORDS), by their own, or as `em__rounds`."""
    values: dict[str, Any] = {}
    for word, value in keywords.items():
        key = setting_of(word)
        group, _, name = key.rpartition(".")
        values = merged(values, {group: {name: value}} if group else {key: value})
    return changed(config, values)


def setting_of(keyword: str) -> str:
    """The setting that a keyword stands for, such as final.rules; an error names the nearest keywords."""
    known = {key.replace(".", "__"): key for key in all_keys(Config)} | KEYWORDS
    if keyword not in known:
        raise UnknownNameError("setting", keyword, [*KEYWORDS, *sorted(known)])
    return known[keyword]


class Arguments:
    """The arguments of a model: settings, a variant, single settings by keyword; scikit-learn's way."""

    def __init__(
        self,
        config: Config | Mapping[str, Any] | None = None,
        variant: Variant | None = None,
        **settings: Any,
    ) -> None:
        self._params: dict[str, Any] = {}
        self.set_params(config=config, variant=variant, **settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All arguments."""
        del deep
        return dict(self._params)

    def set_params(self, **params: Any) -> Self:
        """Change arguments; what was fitted stays until the next fit."""
        now = self._params | params
        words = {key: value for key, value in now.items() if key not in ("config", "variant")}
        config, variant = now["config"], now["variant"]
        given = make_config(config) if isinstance(config, Mapping) else config
        if given is None:
            with_keywords(Config(), words)  # refuses unknown names and wrong values at once
        else:
            given = with_keywords(given, words | ({} if variant is None else {"variant": variant}))
        self._params, self._config = now, given
        self._given, self._words, self._variant = given, words, variant or "rnnlogic"
        return self

    def settings_for(self, dataset: Named) -> Config:
        """The settings of a fit: those given, else packaged ones, with the keywords."""
        return self._given or with_keywords(preset_for(dataset, self._variant), self._words)


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
