"""Experiment files: a dataset, named settings, and the published numbers with their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.settings import RotatESettings, make_settings, settings_for
from rnnlogic.presets import load_preset

FOLDER = Path(__file__).parent
RUNS = Path("runs/experiments")
PUBLISHED = FOLDER / "published.yaml"  # numbers of methods that are no experiment of ours
ROTATE = "rotate"  # the setting that is an embedding alone


class Method(BaseModel):
    """A method that the paper compares with."""

    model_config = ConfigDict(extra="forbid")

    name: str
    kind: Literal["embedding", "rules"]
    ours: str | None = None  # the folder of our own runs below runs/experiments/<dataset>


class Published(BaseModel):
    """Numbers of other methods as the paper reports them: published.yaml."""

    model_config = ConfigDict(extra="forbid")

    source: str
    tables: dict[str, str]  # where each dataset stands
    methods: dict[str, Method]
    results: dict[str, dict[Literal["both", "tail"], dict[str, dict[str, float | str]]]]  # dataset, method


class Experiment(BaseModel):
    """One YAML file of this folder."""

    model_config = ConfigDict(extra="forbid")

    dataset: str
    source: str
    published: dict[str, dict[str, dict[str, float]]]  # setting or variant -> "both" or "tail" -> metrics
    settings: dict[str, dict[str, Any]]  # name -> changes to the packaged settings of dataset and variant
    checkpoints: dict[str, str] = {}  # settings that use the authors' RotatE: its folder below the data
    rules: dict[str, str] = {}  # settings that take the rules of another setting's run, same seed

    def config(self, name: str, seed: int) -> Config:
        """The packaged settings with the changes of one name, and a seed."""
        changes = self.settings[name] | {"seed": seed}
        preset = load_preset(self.dataset, changes.get("variant", "rnnlogic"))
        return changed(preset, changes, f"{self.dataset}.yaml: {name}")

    def rotate(self, dataset: Dataset, seed: int) -> RotatESettings:
        """The packaged settings of RotatE with the changes of this file, and a seed."""
        values = settings_for(dataset).model_dump() | self.settings[ROTATE] | {"seed": seed}
        return make_settings(values, f"{self.dataset}.yaml: {ROTATE}")

    def model(self, name: str) -> str:
        """Under which name the numbers that a setting compares with are published."""
        return name if name in self.published else self.settings[name].get("variant", "rnnlogic")

    def folder(self, setting: str, seed: int) -> Path:
        """Where a run is kept."""
        return RUNS / self.dataset / setting / f"seed-{seed}"


def load_experiment(name: str) -> Experiment:
    """The experiment of a dataset."""
    return Experiment.model_validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def load_published() -> Published:
    """What the paper reports for the methods that it compares with."""
    return Published.model_validate(yaml.safe_load(PUBLISHED.read_text(encoding="utf-8")))


def experiment_names() -> list[str]:
    """Datasets that have an experiment file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path != PUBLISHED)
