"""Experiment files: a dataset, named settings, and the published numbers with their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from rnnlogic.config import Config, changed
from rnnlogic.presets import load_preset

FOLDER = Path(__file__).parent


class Experiment(BaseModel):
    """One YAML file of this folder."""

    model_config = ConfigDict(extra="forbid")

    dataset: str
    source: str
    published: dict[str, dict[str, float]]  # "both", "tail" or the name of settings -> metrics
    settings: dict[str, dict[str, Any]]  # name -> changes to the packaged settings of the dataset

    def config(self, name: str, seed: int) -> Config:
        """The packaged settings with the changes of one name, and a seed."""
        changes = self.settings[name] | {"seed": seed}
        return changed(load_preset(self.dataset), changes, f"{self.dataset}.yaml: {name}")


def load_experiment(name: str) -> Experiment:
    """The experiment of a dataset."""
    return Experiment.model_validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def experiment_names() -> list[str]:
    """Datasets that have an experiment file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
