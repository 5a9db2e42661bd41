"""Experiment files: a dataset, named settings, and the published numbers with their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from rnnlogic.config import Config, make_config
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
        changed = _merged(load_preset(self.dataset).model_dump(), self.settings[name])
        return make_config(changed | {"seed": seed}, f"{self.dataset}.yaml: {name}")


def load_experiment(name: str) -> Experiment:
    """The experiment of a dataset."""
    return Experiment.model_validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def experiment_names() -> list[str]:
    """Datasets that have an experiment file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def _merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    nested = {key: _merged(values.get(key, {}), new) for key, new in changes.items() if isinstance(new, dict)}
    return values | changes | nested
