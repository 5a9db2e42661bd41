"""Experiment files: a dataset, named settings, and the published numbers with their source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict

from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.embeddings.settings import RotatESettings, make_settings, settings_for
from rnnlogic.presets import load_preset

FOLDER = Path(__file__).parent
RUNS = Path("runs/experiments")
PUBLISHED = FOLDER / "published.yaml"  # numbers of methods that are no experiment of ours
ROTATE = "rotate"  # the setting that is an embedding alone


class Setting(NamedTuple):
    """A setting of an experiment file, or a point of a figure: `rotate@dim=50`, `ours@facts=20`."""

    name: str
    dim: int | None = None  # of the embedding
    facts: int = 100  # percent of the training facts

    @classmethod
    def parse(cls, text: str) -> Setting:
        """Read `name` or `name@key=value`."""
        name, _, point = text.partition("@")
        key, _, value = point.partition("=")
        return cls(name, **{key: int(value)}) if point else cls(name)

    def point(self) -> str:
        """What follows the name."""
        return f"@dim={self.dim}" if self.dim is not None else f"@facts={self.facts}" * (self.facts < 100)


class Experiment(BaseModel):
    """One YAML file of this folder."""

    model_config = ConfigDict(extra="forbid")

    dataset: str
    source: str
    published: dict[str, dict[str, dict[str, float]]]  # setting or variant -> "both" or "tail" -> metrics
    settings: dict[str, dict[str, Any]]  # name -> changes to the packaged settings of dataset and variant
    checkpoints: dict[str, str] = {}  # settings that use the authors' RotatE: its folder below the data
    rules: dict[str, str] = {}  # settings that take the rules of another setting's run, same seed

    def config(self, text: str, seed: int) -> Config:
        """The packaged settings with the changes of one name, and a seed."""
        name = Setting.parse(text).name
        changes = self.settings[name] | {"seed": seed}
        preset = load_preset(self.dataset, changes.get("variant", "rnnlogic"))
        return changed(preset, changes, f"{self.dataset}.yaml: {name}")

    def rotate(self, text: str, dataset: Dataset, seed: int) -> RotatESettings:
        """The packaged settings of RotatE with the changes of this file; fewer facts are seen more often."""
        setting, packaged = Setting.parse(text), settings_for(dataset)
        values = packaged.model_dump() | self.settings[ROTATE] | {"seed": seed}
        values |= {"dim": setting.dim or values["dim"], "epochs": values["epochs"] * 100 / setting.facts}
        return make_settings(values, f"{self.dataset}.yaml: {ROTATE}")

    def rules_of(self, text: str, seed: int) -> Path | None:
        """The run whose rules a setting takes; None if it learns its own."""
        setting = Setting.parse(text)
        taken = "ours" if setting.dim else self.rules.get(setting.name)
        return None if taken is None else self.folder(taken, seed)

    def load(self, text: str, data: Path) -> Dataset:
        """The dataset with the training facts that a setting asks for."""
        return with_share(self.whole(data), Setting.parse(text).facts / 100)

    def whole(self, data: Path) -> Dataset:
        """The dataset with all training facts."""
        return load_dataset(data / self.dataset)

    def model(self, name: str) -> str:
        """Under which name the numbers that a setting compares with are published."""
        return name if name in self.published else self.settings[name].get("variant", "rnnlogic")

    def folder(self, text: str, seed: int) -> Path:
        """Where a run is kept."""
        return RUNS / self.dataset / text / f"seed-{seed}"


def with_share(dataset: Dataset, share: float) -> Dataset:
    """A dataset with a random share of the training facts; every larger share holds the smaller ones."""
    if share == 1:
        return dataset
    order = np.random.default_rng(0).permutation(len(dataset.train))
    chosen = np.sort(order[: round(share * len(order))])
    return replace(dataset, train=dataset.train[chosen])


def load_experiment(name: str) -> Experiment:
    """The experiment of a dataset."""
    return Experiment.model_validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def experiment_names() -> list[str]:
    """Datasets that have an experiment file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path != PUBLISHED)
