"""Arguments that have another name now."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")


def renamed(**names: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """A function that takes arguments by their old names, too, with a warning."""

    def decorate(function: Callable[P, Result]) -> Callable[P, Result]:
        @wraps(function)
        def with_old_names(*args: P.args, **given: P.kwargs) -> Result:
            told: dict[str, Any] = {}
            for name, value in given.items():
                if name in names:
                    warnings.warn(f"{name}= is now {names[name]}=", FutureWarning, stacklevel=2)
                told[names.get(name, name)] = value
            return function(*args, **told)

        return with_old_names

    return decorate
