"""Rows as data frames of libraries that need not be installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from rnnlogic.base.errors import RNNLogicError


def frame(library: Literal["pandas", "polars"], rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a DataFrame of pandas or polars."""
    try:
        made = import_module(library)
    except ImportError:
        raise RNNLogicError(f"{library} is not installed: pip install {library}") from None
    return made.DataFrame(list(rows))
