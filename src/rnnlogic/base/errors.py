"""Errors that the user can fix: shown as one message without a traceback, exit code 2."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

MENTIONED = 3  # names that a message lists


class RNNLogicError(Exception):
    """Something the user can fix; the message says what is wrong, where, and what to do."""


class DataError(RNNLogicError):
    """A file or an object cannot be read as a knowledge graph."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message)


class RuleError(RNNLogicError):
    """A rule cannot be read or used; the message says where and why."""


class UnknownNameError(RNNLogicError):
    """A name that does not exist, with the nearest spellings."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.nearest = nearest_spellings(name, known)
        hint = f"; did you mean {', '.join(repr(n) for n in self.nearest)}?" if self.nearest else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")


def nearest_spellings(name: str, known: Iterable[str]) -> list[str]:
    """The most similar names, best first; fast even for a million names."""
    from rapidfuzz.distance import Indel  # only errors need it
    from rapidfuzz.process import extract

    found = extract(
        name,
        list(known),
        scorer=Indel.normalized_similarity,
        limit=2 * MENTIONED,  # the same spelling may be both a name and a label
        score_cutoff=0.5,  # a suggestion shares at least this part of the letters, in the same order
    )
    return list(dict.fromkeys(near for near, _, _ in found))[:MENTIONED]
