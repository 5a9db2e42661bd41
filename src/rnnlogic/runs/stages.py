"""The finished stages of a fit, one file each, with the time that they took.

A fit that was stopped resumes from them. Their times add up over all sessions; time that a kill lost does not
count.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration
from rnnlogic.base.types import Arrays
from rnnlogic.runs.arrays import read_arrays, read_metadata, write_arrays

STAGES = "stages"
SUFFIX = ".safetensors"
SECONDS = "seconds"


class Stages:
    """The stages in a run folder."""

    def __init__(self, run: Path) -> None:
        self._folder = run / STAGES
        self._began = time.monotonic()  # of the stage at work

    def load(self, name: str, declaration: Declaration | None = None) -> Arrays | None:
        """Arrays of a finished stage; None if it is not finished, so that it begins now.

        The learner checks its own stages; others declare what they expect.
        """
        path = self._path(name)
        self._began = time.monotonic()
        return read_arrays(path, declaration) if path.is_file() else None

    def save(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> float:
        """Keep the result of a stage; returns the seconds that it took."""
        seconds = time.monotonic() - self._began
        write_arrays(self._path(name), arrays, {SECONDS: f"{seconds:.3f}"})
        self._began = time.monotonic()
        return seconds

    def seconds(self) -> float:
        """Time that all finished stages took, and the one at work so far."""
        finished = (read_metadata(path) for path in self._folder.glob(f"*{SUFFIX}"))
        return time.monotonic() - self._began + sum(float(about.get(SECONDS, 0)) for about in finished)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{SUFFIX}"
