"""The settings of the paper's tables: found on its four benchmarks, and used for nothing else."""

from __future__ import annotations

from pathlib import Path

from rnnlogic.base.errors import UnknownNameError
from rnnlogic.base.settings import checked, read_values
from rnnlogic.config import Config, Variant, changed, lineage, make_config
from rnnlogic.embeddings.settings import MODELS, TrainingSettings

FOLDER = Path(__file__).parent / "settings"


def preset_names() -> list[str]:
    """The benchmarks that have settings."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def load_preset(name: str, variant: Variant = "rnnlogic") -> Config:
    """The settings of a benchmark: settings/NAME.yaml, with what settings/VARIANT/NAME.yaml changes.

    A variant that is like another starts from the settings of that one.
    """
    config = make_config(read_values(_file(name)), f"paper/settings/{name}.yaml")
    for folder in lineage(variant):
        if (FOLDER / folder / f"{name}.yaml").is_file():
            config = changed(config, read_values(_file(name, folder)), f"paper/settings/{folder}/{name}.yaml")
    return changed(config, {"variant": variant})


def embedding_preset(name: str, model: str = "rotate") -> TrainingSettings:
    """The settings of an embedding on a benchmark."""
    if model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    return checked(MODELS[model], read_values(_file(name, model)), f"paper/settings/{model}/{name}.yaml")


def _file(name: str, folder: str = "") -> Path:
    if name not in preset_names():
        raise UnknownNameError("preset", name, preset_names())
    return FOLDER / folder / f"{name}.yaml"
