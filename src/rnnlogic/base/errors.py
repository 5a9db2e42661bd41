"""Errors that the user can fix: shown as one message without a traceback, exit code 2."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import add, contains, truediv
from pathlib import Path

SUGGESTIONS = 3
SIMILARITY = 0.5  # least difflib ratio of a suggestion
COMPARED = 2000  # names that are compared letter by letter; more are narrowed down by the pieces they share
PIECES = 6  # pieces of the wanted name that are looked for in all names


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
        near = nearest_spellings(name, known)
        hint = f"; did you mean {', '.join(repr(n) for n in near)}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")


def nearest_spellings(name: str, known: Iterable[str]) -> list[str]:
    """The most similar names, best first; quick for a million names too."""
    # Outside these lengths the ratio of difflib cannot reach SIMILARITY.
    shortest, longest = len(name) * SIMILARITY / (2 - SIMILARITY), len(name) * (2 - SIMILARITY) / SIMILARITY
    possible = [other for other in known if shortest <= len(other) <= longest]
    if len(possible) > COMPARED:
        possible = _most_alike(name, possible)
    return difflib.get_close_matches(name, dict.fromkeys(possible), SUGGESTIONS, SIMILARITY)


def _most_alike(name: str, others: Sequence[str]) -> list[str]:
    """The names that share most pieces with `name`, in proportion to their length."""
    shared = [0] * len(others)
    for piece in _telling_pieces(name, others):
        shared = list(map(add, shared, map(contains, others, repeat(piece))))

    alike = list(map(truediv, shared, map(add, map(len, others), repeat(len(name)))))
    return [others[i] for i in heapq.nlargest(COMPARED, range(len(others)), alike.__getitem__)]


def _telling_pieces(name: str, others: Sequence[str]) -> list[str]:
    """Pairs of letters in `name` (letters if it is short), those first that are rare in a sample of names."""
    size = 2 if len(name) > 3 else 1
    pieces = sorted({name[i : i + size] for i in range(len(name) - size + 1)})
    sample = others[:: max(1, len(others) // 1000)]
    return sorted(pieces, key=lambda piece: sum(map(contains, sample, repeat(piece))))[:PIECES]
