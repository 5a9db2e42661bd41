"""Experiment files: a dataset, named settings, and the published numbers with their source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict

from paper.presets import embedding_preset, load_preset
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.settings import checked, merged
from rnnlogic.base.text import whole_number
from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import Dataset, Evidence, load_dataset
from rnnlogic.embeddings.settings import TrainingSettings
from rnnlogic.evaluation.evaluate import Split

FOLDER = Path(__file__).parent / "experiments"
PUBLISHED = FOLDER / "published.yaml"  # the paper's numbers for the methods it compares with
PYKEEN = ("transe", "distmult", "complex", "complex-n3", "conve", "tucker", "rotate-pykeen")
CHOICE = ("chosen.json", "tried.json")  # beside the seeds: the settings that all of them use, and all tried
OTHERS = (
    *PYKEEN,
    "pathrank",
    "neural-lp",
    "drum",
    "first-code",
    "anyburl",
    "anyburl-noisy-or",
)  # the baselines
ROTATE = "rotate"  # the embedding that a setting takes unless the file names others
FULL: dict[str, Any] = {  # as in the paper, unless a setting says otherwise
    "path_kind": "walks",
    "compact": {"enabled": False},
    "evidence": {"negative_evidence": "off", "constants": False, "prior": False, "surest": False},
}
MORE_EVIDENCE = ("rnnlogic", "rnnlogic-emb")  # variants that are evaluated on train+valid too
EVALUATIONS: tuple[tuple[Split, Evidence], ...] = (  # in the order in which they are made
    ("valid", "train"),
    ("test", "train"),
    ("test", "train+valid"),
)


class Alone(NamedTuple):
    """A setting that is an embedding alone."""

    model: str  # a key of embeddings.settings.MODELS
    published: str  # the method of published.yaml to compare with


EMBEDDINGS = {ROTATE: Alone("rotate", "rotate"), "complex-own": Alone("complex", "complex-n3")}
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
        if point and (key not in ("dim", "facts") or not whole_number(value)):
            raise RNNLogicError(f"{text}: write dim=NUMBER or facts=PERCENT after the @")
        return cls(name, **{key: int(value)}) if point else cls(name)

    def point(self) -> str:
        """The part after the name; empty for a plain setting."""
        return f"@dim={self.dim}" if self.dim is not None else f"@facts={self.facts}" * (self.facts < 100)


class Smaller(BaseModel):
    """What the small size changes."""

    model_config = ConfigDict(extra="forbid")

    settings: dict[str, dict[str, Any]] = {}
    rules: dict[str, str] = {}


class Experiment(BaseModel):
    """One YAML file of the folder `experiments`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    source: str
    published: dict[str, dict[str, dict[str, float]]]  # setting or variant -> "both" or "tail" -> metrics
    settings: dict[str, dict[str, Any]]  # name -> changes to the packaged settings of dataset and variant
    seeds: int = 1  # how many to run by default
    baselines: list[str] = []  # baselines of the dataset's table
    checkpoints: dict[str, str] = {}  # settings that use the authors' RotatE: its folder below the data
    embeddings: dict[str, list[str]] = {}  # settings with other embeddings than our own RotatE
    rules: dict[str, str] = {}  # settings that take the rules of another setting's run, same seed
    notes: dict[str, str] = {}  # how the report describes settings that need more than a name
    small: Smaller | None = None  # None: there is no small size

    def sized(self, is_small: bool) -> Experiment:
        """This experiment, or its small size: one seed, and cheaper settings where the file has them."""
        if not is_small:
            return self
        if self.small is None:
            raise RNNLogicError(
                f"{self.dataset}: there is no small size; leave out --small, or choose kinship or umls"
            )
        settings = {
            name: merged(own, self.small.settings.get(name, {})) for name, own in self.settings.items()
        }
        return self.model_copy(
            update={"settings": settings, "seeds": 1, "rules": self.rules | self.small.rules}
        )

    def config(self, text: str, seed: int) -> Config:
        """The benchmark's settings with a setting's changes and a seed."""
        name = Setting.parse(text).name
        changes = merged(FULL, self.settings[name]) | {"seed": seed}
        preset = load_preset(self.dataset, changes.get("variant", "rnnlogic"))
        return changed(preset, changes, f"{self.dataset}.yaml: {name}")

    def training(self, text: str, seed: int) -> TrainingSettings:
        """The benchmark's settings of an embedding with this file's changes; more epochs for fewer facts."""
        setting = Setting.parse(text)
        preset = embedding_preset(self.dataset, EMBEDDINGS[setting.name].model)
        values = preset.model_dump() | self.settings[setting.name] | {"seed": seed}
        values |= {"dim": setting.dim or values["dim"], "epochs": values["epochs"] * 100 / setting.facts}
        return checked(type(preset), values, f"{self.dataset}.yaml: {setting.name}")

    def rules_from(self, text: str) -> str | None:
        """The setting whose rules this one takes; None if it learns its own."""
        setting = Setting.parse(text)
        return "ours" if setting.dim and setting.name not in EMBEDDINGS else self.rules.get(setting.name)

    def embeddings_from(self, text: str) -> list[str]:
        """The settings whose embeddings this one takes; empty if it needs none or takes the authors'."""
        if not self.is_rnnlogic(text) or text in self.checkpoints or not self.config(text, 0).has_embedding:
            return []
        setting = Setting.parse(text)
        return [name + setting.point() for name in self.embeddings.get(setting.name, [ROTATE])]

    def evaluations(self, text: str) -> tuple[tuple[Split, Evidence], ...]:
        """What is evaluated of a setting or baseline, in this order; only our rules use more evidence."""
        uses_more = self.is_rnnlogic(text) and self.config(text, 0).variant in MORE_EVIDENCE
        return EVALUATIONS if uses_more else EVALUATIONS[:2]

    def is_rnnlogic(self, text: str) -> bool:
        """Whether a setting learns rules or weights; embeddings alone and the baselines do not."""
        return Setting.parse(text).name in self.settings.keys() - EMBEDDINGS.keys()

    def model(self, name: str) -> str:
        """The name under which the numbers to compare a setting with are published."""
        return name if name in self.published else self.settings[name].get("variant", "rnnlogic")


@dataclass(frozen=True)
class Bench:
    """Where the data are, where runs go, and the size of the experiments."""

    data: Path  # a folder for each dataset
    out: Path
    is_small: bool = False
    anyburl: Path | None = None  # the rule file of the baselines `anyburl` and `anyburl-noisy-or`

    def experiment(self, dataset: str) -> Experiment:
        """The experiment of a dataset, at this size."""
        return load_experiment(dataset).sized(self.is_small)

    def folder(self, dataset: str, text: str, seed: int) -> Path:
        """The folder of a run."""
        return self.out / dataset / text / f"seed-{seed}"

    def require(self, dataset: str) -> None:
        """Raise an error if the data are missing."""
        if not (self.data / dataset).is_dir():
            raise RNNLogicError(
                f"{self.data / dataset}: there is no such folder; download the authors' splits from"
                f" {SPLITS_FROM} and give the folder that holds them as --data"
            )

    def load(self, dataset: str, text: str = "") -> Dataset:
        """A dataset with the share of training facts that a setting names; by default with all of them."""
        self.require(dataset)
        found = with_share(load_dataset(self.data / dataset), Setting.parse(text).facts / 100)
        return found.counting("walks")  # baselines count what the paper counts


def with_share(dataset: Dataset, share: float) -> Dataset:
    """A dataset with a random share of the training facts; a larger share contains every smaller one."""
    if share == 1:
        return dataset
    order = np.random.default_rng(0).permutation(len(dataset.train))
    chosen = np.sort(order[: round(share * len(order))])
    return replace(dataset, train=dataset.train[chosen])


@cache
def load_experiment(name: str) -> Experiment:
    """The experiment of a dataset."""
    return Experiment.model_validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def experiment_names() -> list[str]:
    """The datasets with an experiment file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path != PUBLISHED)
