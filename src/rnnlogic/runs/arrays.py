"""Arrays of a run folder, as safetensors files: reading them runs no code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from rnnlogic.base.types import Arrays
from rnnlogic.runs.files import unreadable, write_file


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays, and a few texts about them."""
    # safetensors writes the memory as it lies, whatever the strides: arrays must be contiguous.
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_file(path, save(contiguous, None if metadata is None else dict(metadata)))


def read_arrays(path: Path) -> Arrays:
    """All arrays of a file."""
    try:
        arrays: Arrays = load(path.read_bytes())
    except (OSError, SafetensorError) as error:
        raise unreadable(path, error) from None
    return arrays


def read_metadata(path: Path) -> dict[str, str]:
    """The texts that were written with the arrays; reads no more than the head of the file."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata: dict[str, str] | None = file.metadata()
    except (OSError, SafetensorError) as error:
        raise unreadable(path, error) from None
    return metadata or {}
