"""Arrays of a run folder, as safetensors files: reading them runs no code, and takes only declared ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from rnnlogic.base.arrays import Declaration, Sizes, WrongArraysError, parse_arrays
from rnnlogic.base.types import Arrays
from rnnlogic.runs.files import read_file, unreadable, write_file


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays, and a few texts about them."""
    # safetensors writes the memory as it lies, whatever the strides: arrays must be contiguous.
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_file(path, save(contiguous, None if metadata is None else dict(metadata)))


def read_arrays(path: Path, declaration: Declaration | None = None, sizes: Sizes | None = None) -> Arrays:
    """All arrays of a file, as declared; sizes are E, R and whatever else the declaration needs."""
    try:
        return parse_arrays(read_file(path), declaration, sizes).arrays
    except WrongArraysError as error:
        raise unreadable(path, error) from None


def read_metadata(path: Path) -> dict[str, str]:
    """The texts that were written with the arrays."""
    try:
        return parse_arrays(read_file(path)).metadata
    except WrongArraysError as error:
        raise unreadable(path, error) from None
