"""Packaged settings: for datasets that are known by name, and by size for all others."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from rnnlogic.base.errors import UnknownNameError
from rnnlogic.config import Config, Variant, changed, read_config, read_values
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.named import KNOWN

SIZES = {"small": 20_000, "medium": 200_000}  # most training facts of each; any more are "large"


def preset_for(dataset: Dataset, variant: Variant = "rnnlogic") -> Config:
    """The packaged settings for a dataset, by its name if that is known, else by its size."""
    return load_preset(preset_name(dataset), variant)


def preset_name(dataset: Dataset) -> str:
    """The name of the settings that `preset_for` gives."""
    name = dataset.name.lower()
    if name in KNOWN and name in preset_names():
        return name
    fitting = (size for size, most in SIZES.items() if len(dataset.train) <= most)
    return next(fitting, "large")


def preset_names() -> list[str]:
    """Names of all packaged settings."""
    folder = files("rnnlogic") / "settings"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.is_file())


def load_preset(name: str, variant: Variant = "rnnlogic") -> Config:
    """Packaged settings by name: those of rnnlogic, with what settings/VARIANT/NAME.yaml changes."""
    if name not in preset_names():
        raise UnknownNameError("preset", name, preset_names())
    with as_file(files("rnnlogic") / "settings") as folder:
        config = read_config(Path(folder) / f"{name}.yaml")
        changes = Path(folder) / variant / f"{name}.yaml"
        values = read_values(changes) if changes.is_file() else {}
    return changed(config, {**values, "variant": variant}, str(changes))
