"""Arrays of a run folder, as safetensors files: reading them runs no code, and takes only declared ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rnnlogic.base import arrays as files
from rnnlogic.base.arrays import Declaration, Sizes, WrongArraysError, parse_arrays
from rnnlogic.base.types import Arrays
from rnnlogic.runs.files import read_file, unreadable, write_file


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays, and a few texts about them."""
    write_file(path, lambda file: files.write_arrays(file, arrays, metadata))


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
