"""Errors that are a user's to mend: shown as one message without a traceback, exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class RNNLogicError(Exception):
    """Something the user can put right; the message says what, where and how."""


class DataError(RNNLogicError):
    """A file or object cannot be read as a knowledge graph."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message)


class RuleError(RNNLogicError):
    """A rule cannot be read; says at which position and what was expected."""


class UnknownNameError(RNNLogicError):
    """A name that is not in the vocabulary, with the nearest spellings."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(repr(n) for n in near)}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")
