"""Experiment files: a dataset, named settings, and the published numbers with their source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict

from rnnlogic.base import types
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import Config, changed, load_preset
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.embeddings.settings import RotatESettings, make_settings, settings_for

FOLDER = Path(__file__).parent / "experiments"
PUBLISHED = FOLDER / "published.yaml"  # numbers of methods that are no experiment of ours
PYKEEN = ("transe", "distmult", "complex", "complex-n3", "conve", "tucker", "rotate-pykeen")
CHOICE = ("chosen.json", "tried.json")  # beside their seeds: the settings of all, and what was tried
OTHERS = (  # models that the paper compares with and that can be run here, or that score a rule file
    *PYKEEN,
    *("pathrank", "neural-lp", "drum", "anyburl", "anyburl-noisy-or"),
)
ROTATE = "rotate"  # the setting that is an embedding alone
Progress = types.Progress
SPLITS_FROM = "https://github.com/DeepGraphLearning/RNNLogic (folder data)"


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
        if point and (key not in ("dim", "facts") or not value.isdigit() or int(value) < 1):
            raise RNNLogicError(f"{text}: what follows @ is dim=NUMBER or facts=PERCENT")
        return cls(name, **{key: int(value)}) if point else cls(name)

    def point(self) -> str:
        """What follows the name."""
        return f"@dim={self.dim}" if self.dim is not None else f"@facts={self.facts}" * (self.facts < 100)


class Smaller(BaseModel):
    """What is different at the small size."""

    model_config = ConfigDict(extra="forbid")

    settings: dict[str, dict[str, Any]] = {}
    rules: dict[str, str] = {}


class Experiment(BaseModel):
    """One YAML file of the folder experiments."""

    model_config = ConfigDict(extra="forbid")

    dataset: str
    source: str
    published: dict[str, dict[str, dict[str, float]]]  # setting or variant -> "both" or "tail" -> metrics
    settings: dict[str, dict[str, Any]]  # name -> changes to the packaged settings of dataset and variant
    seeds: int = 1  # how many are run if nobody says otherwise
    baselines: list[str] = []  # models of others that are run here
    checkpoints: dict[str, str] = {}  # settings that use the authors' RotatE: its folder below the data
    rules: dict[str, str] = {}  # settings that take the rules of another setting's run, same seed
    notes: dict[str, str] = {}  # what the report says of settings whose name says too little
    small: Smaller | None = None  # None: there is no small size

    def sized(self, is_small: bool) -> Experiment:
        """This experiment, or its small size: fewer seeds, and cheaper settings where the file says so."""
        if not is_small:
            return self
        if self.small is None:
            raise RNNLogicError(
                f"{self.dataset}: has no small size; leave out --small, or take kinship or umls"
            )
        settings = {
            name: merged(own, self.small.settings.get(name, {})) for name, own in self.settings.items()
        }
        return self.model_copy(
            update={"settings": settings, "seeds": 1, "rules": self.rules | self.small.rules}
        )

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

    def rules_from(self, text: str) -> str | None:
        """The setting whose rules a setting takes; None if it learns its own."""
        setting = Setting.parse(text)
        return "ours" if setting.dim and setting.name != ROTATE else self.rules.get(setting.name)

    def embedding_from(self, text: str) -> str | None:
        """The setting whose embedding a setting takes; None if it needs none, or takes the authors'."""
        setting = Setting.parse(text)
        is_ours = setting.name in self.settings and setting.name != ROTATE and text not in self.checkpoints
        variant = self.settings[setting.name].get("variant", "") if is_ours else ""
        return ROTATE + setting.point() if "emb" in variant else None

    def model(self, name: str) -> str:
        """Under which name the numbers that a setting compares with are published."""
        return name if name in self.published else self.settings[name].get("variant", "rnnlogic")


def merged(own: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Settings with changes, group by group."""
    groups = {key: merged(own[key], value) for key, value in other.items() if isinstance(own.get(key), dict)}
    return own | other | groups


@dataclass(frozen=True)
class Bench:
    """Where data come from and runs go to, and at which size."""

    data: Path  # a folder for each dataset
    out: Path
    is_small: bool = False
    anyburl: Path | None = None  # a rule file, for the models that score one

    def experiment(self, dataset: str) -> Experiment:
        """The experiment of a dataset, at our size."""
        return load_experiment(dataset).sized(self.is_small)

    def folder(self, dataset: str, text: str, seed: int) -> Path:
        """Where a run is kept."""
        return self.out / dataset / text / f"seed-{seed}"

    def require(self, dataset: str) -> None:
        """Refuse to go on without the data."""
        if not (self.data / dataset).is_dir():
            raise RNNLogicError(
                f"{self.data / dataset}: there is no such folder; the experiments need the authors' splits,"
                f" a folder for each dataset, from {SPLITS_FROM}"
            )

    def load(self, dataset: str, text: str = "") -> Dataset:
        """A dataset with the training facts that a setting asks for; all of them without one."""
        self.require(dataset)
        return with_share(load_dataset(self.data / dataset), Setting.parse(text).facts / 100)


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
