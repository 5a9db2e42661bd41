"""Settings of a fit, assembled from the classes that lie beside the code they govern; the default ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.settings import (
    Settings,
    all_keys,
    changed,
    checked,
    merged,
    override,
    packaged,
    read_values,
)
from rnnlogic.base.types import PathKind
from rnnlogic.constraints.settings import ConstraintSettings
from rnnlogic.features.settings import EvidenceSettings
from rnnlogic.fit.compact.settings import CompactSettings
from rnnlogic.fit.settings import BudgetSettings, ChoiceSettings, EMSettings, FinalSettings
from rnnlogic.generator.settings import GeneratorSettings
from rnnlogic.mining.settings import MineSettings
from rnnlogic.predictors.table import PredictorGroups, entry

__all__ = [
    "Config",
    "Variant",
    "changed",
    "default_config",
    "make_config",
    "override",
    "preset_for",
    "read_config",
    "with_keywords",
]

Variant = str  # a name of the table of predictors


SHORTEST, LONGEST = 3, 5  # the default bounds of bodies; between them, as long as walks are few

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
    path_kind: PathKind = Field(
        "simple", description="Paths of a rule: those that visit no entity twice, or all walks (paper)"
    )
    max_length: int = Field(3, ge=1, le=8, description="Longest rule body")
    generate: bool = Field(True, description="Generate rules; if false, only learn weights of the given ones")
    pinned: tuple[str, ...] = Field((), description="Rules that the final rules always contain")
    banned: tuple[str, ...] = Field(
        (), description="Patterns of rules that are never used, such as r <- * & ..."
    )
    only: tuple[str, ...] = Field(
        (), description="Patterns of rules; if there are any, no other rules and features are used"
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

    budget: BudgetSettings = BudgetSettings()
    mine: MineSettings = MineSettings()
    generator: GeneratorSettings = GeneratorSettings()
    em: EMSettings = EMSettings()
    final: FinalSettings = FinalSettings()
    evidence: EvidenceSettings = EvidenceSettings()
    choice: ChoiceSettings = ChoiceSettings()
    compact: CompactSettings = CompactSettings()
    constraints: ConstraintSettings = ConstraintSettings()

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


class Names(Protocol):
    """How many entities and relations a dataset has."""

    @property
    def num_entities(self) -> int:
        """Its entities."""

    @property
    def num_relations(self) -> int:
        """Its relations, without inverses."""


class Facts(Protocol):
    """What the default settings need to know about a dataset."""

    @property
    def vocab(self) -> Names:
        """Its names."""

    @property
    def train(self) -> NDArray[np.int32]:
        """Its training facts [n, 3]."""


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
        """All arguments.

        Args:
            deep: Changes nothing; scikit-learn gives it.

        Returns:
            The settings and keywords that the model was made with.
        """
        del deep
        return dict(self._params)

    def set_params(self, **params: Any) -> Self:
        """Change arguments; what was fitted stays until the next fit.

        Args:
            **params: The arguments of the class; those that are not named keep their values.

        Returns:
            The model itself.

        Raises:
            RNNLogicError: If a setting is unknown or its value is wrong.
        """
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

    def settings_for(self, dataset: Facts) -> Config:
        """The settings of a fit: those given, else the default ones, with the keywords.

        Args:
            dataset: Its size decides which bounds matter.

        Returns:
            The settings that `fit` uses for this dataset.
        """
        return self._given or preset_for(dataset, self._variant, lambda own: with_keywords(own, self._words))


def read_config(path: str | Path) -> Config:
    """Settings of a YAML file."""
    return make_config(read_values(path), str(path))


def as_given(config: Config) -> Config:
    """Settings without any changes."""
    return config


def preset_for(
    dataset: Facts, variant: Variant = "rnnlogic", change: Callable[[Config], Config] = as_given
) -> Config:
    """The default settings for a dataset, with changes.

    What would grow with the graph is bounded by `budget`. What is changed explicitly is as it was changed.

    Args:
        dataset: Its size decides which bounds matter; its name does not.
        variant: The predictor.
        change: Makes changes to the settings.

    Returns:
        The settings that `RNNLogic` takes as its first argument.

    Raises:
        RNNLogicError: If a change names an unknown setting or a wrong value.

    Examples:
        >>> from rnnlogic.config import override
        >>> preset_for(load_dataset("umls"), "plus", lambda own: override(own, ["final.rules=50"]))
    """
    default = default_config(variant)
    return change(within(changed(default, {"budget": change(default).budget.model_dump()}), dataset))


def within(config: Config, dataset: Facts) -> Config:
    """The settings with what grows with a graph bounded by `config.budget`.

    A number for each relation is at most the whole divided by the relations with facts, inverses included.
    """
    budget, relations = config.budget, max(2 * len(np.unique(dataset.train[:, 1])), 1)
    values = config.model_dump()
    for key, whole, least in (
        ("mine.facts_per_relation", budget.facts, 20),
        ("mine.queries_per_relation", budget.counted, 20),
        ("mine.candidates", budget.bodies, 50),
        ("mine.keep", budget.rules, 20),
        ("em.rules", budget.proposed, 20),
        ("em.queries_per_relation", budget.counted, 20),
        ("final.rules", budget.rules, 20),
        ("final.figures_queries", budget.counted, 20),
        ("predictor.queries_per_relation", budget.queries, 50),
        ("compact.queries_per_relation", budget.counted, 50),
    ):
        group, name = key.split(".")
        if whole is not None and values[group][name] is not None:
            values[group][name] = max(least, min(values[group][name], whole // relations))
    if budget.examples is not None:
        queries = relations * values["predictor"]["queries_per_relation"]
        most = max(100, budget.examples // queries)
        values["predictor"]["candidates_per_query"] = min(most, values["predictor"]["candidates_per_query"])
    if budget.walks is not None:
        values["max_length"] = affordable_length(dataset, budget.walks)
    return make_config(values)


def affordable_length(dataset: Facts, walks: int) -> int:
    """How long bodies may be, SHORTEST to LONGEST: with at most so many walks from a typical entity.

    Nor with more walks than there are entities: they lead everywhere, and tell answers from others no more.
    """
    ends, entities = dataset.train[:, [0, 2]].T, dataset.vocab.num_entities
    number, most = np.ones(entities), min(walks, entities)
    for length in range(1, LONGEST + 1):
        both = zip(ends, ends[::-1], strict=True)
        number = np.sum([np.bincount(a, number[b], minlength=entities) for a, b in both], axis=0)
        typical = float(np.median(number[number > 0])) if number.any() else 0.0
        if length > SHORTEST and typical > most:
            return length - 1
    return LONGEST


def default_config(variant: Variant = "rnnlogic") -> Config:
    """The default settings of a variant: settings/default.yaml, with what settings/VARIANT.yaml changes.

    A variant that is like another starts from the settings of that one.
    """
    config = make_config(packaged("default"), "settings/default.yaml")
    for name in lineage(variant):
        config = changed(config, packaged(name), f"settings/{name}.yaml")
    return changed(config, {"variant": variant})


def lineage(variant: Variant) -> Iterator[Variant]:
    """The variants whose changes of the settings apply, the variant itself last."""
    like = entry(variant).like
    if like is not None:
        yield from lineage(like)
    yield variant
