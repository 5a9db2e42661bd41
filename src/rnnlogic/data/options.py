"""What the user says about reading: columns, separator, query, encoding, weights, sources, what to skip."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

from rnnlogic.base.errors import DataError
from rnnlogic.data.places import parse_encoding

OFF = "off"  # in place of relations whose tails are numbers: read them as entities
ROLES = ("head", "relation", "tail")
# What separates columns, as people call it
SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "space"}
SEPARATOR_NAMES = {name: sep for sep, name in SEPARATORS.items()} | {"\\t": "\t", "pipe": "|"}

ColumnChoice = str | Sequence[str | int] | Mapping[str, str | int]


class Reading(TypedDict, total=False):
    """The keywords of `load_dataset` about reading."""

    columns: ColumnChoice | None
    sep: str | None
    query: str | None
    encoding: str | None
    weight: str | int | None
    source: str | int | None
    min_weight: float | None
    without_source: str | Sequence[str] | None
    skip_incomplete: bool
    keep_null_words: bool
    numeric: str | Sequence[str] | None
    attributes: Sequence[str]
    progress: Callable[[str], None] | None


@dataclass(frozen=True)
class ReadOptions:
    """The same, checked."""

    columns: tuple[str, ...] | None = None  # head, relation, tail: names, or numbers from 1
    sep: str | None = None
    query: str | None = None
    encoding: str | None = None
    weight: str | None = None  # a column by name or number, perhaps with a divisor: score/1000
    source: str | None = None
    min_weight: float = 0.0
    without_sources: frozenset[str] = frozenset()
    skip_incomplete: bool = False
    keep_null_words: bool = False
    numeric: tuple[str, ...] | None = None  # relations that give attributes; None: those that plainly do
    attributes: tuple[str, ...] = ()  # of another graph: read alike where these data have them
    progress: Callable[[str], None] | None = None  # takes a line now and then while a large file is read


NO_OPTIONS = ReadOptions()


def read_options(told: Reading) -> ReadOptions:
    """What the user says, checked; a keyword that does not exist is a TypeError, as in any call."""
    unknown = [key for key in told if key not in Reading.__annotations__]
    if unknown:
        raise TypeError(f"load_dataset() got an unexpected keyword argument {unknown[0]!r}")
    least = told.get("min_weight")
    if least is not None and not (math.isfinite(least) and 0 < least <= 1):
        raise DataError(f"the least weight is {least}; it must be above 0 and at most 1")
    without = told.get("without_source") or ()
    weight, source = told.get("weight"), told.get("source")
    if least is not None and weight is None:
        raise DataError("a least weight (--min-weight) needs the column of the weights: --weight COLUMN")
    if without and source is None:
        raise DataError("leaving out a source (--without-source) needs the column: --source COLUMN")
    return ReadOptions(
        columns=parse_columns(told.get("columns")),
        sep=parse_sep(told.get("sep")),
        query=told.get("query"),
        encoding=parse_encoding(told.get("encoding")),
        weight=_column(weight),
        source=_column(source),
        min_weight=least or 0.0,
        without_sources=frozenset([without] if isinstance(without, str) else without),
        skip_incomplete=bool(told.get("skip_incomplete")),
        keep_null_words=bool(told.get("keep_null_words")),
        numeric=parse_numeric(told.get("numeric")),
        attributes=tuple(told.get("attributes") or ()),
        progress=told.get("progress"),
    )


def parse_columns(columns: ColumnChoice | None) -> tuple[str, ...] | None:
    """Three columns given as `a,b,c`, as a sequence, or as `{"head": "a", "relation": "b", "tail": "c"}`."""
    if columns is None:
        return None
    if isinstance(columns, Mapping):
        columns = [columns.get(role, "") for role in ROLES]
    parts = columns.split(",") if isinstance(columns, str) else [str(part) for part in columns]
    names = tuple(part.strip() for part in parts)
    if len(names) != 3 or not all(names):
        given = columns if isinstance(columns, str) else ", ".join(map(str, columns))
        raise DataError(
            f"columns {given!r} must be three names or numbers, for head, relation and tail: "
            "head,relation,tail or 1,3,2"
        )
    if len(set(names)) != 3:
        raise DataError(f"columns {','.join(names)!r}: head, relation and tail need different columns")
    return names


def parse_numeric(relations: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Relations that give attributes; `off`: none."""
    names = (relations,) if isinstance(relations, str) else tuple(relations or ())
    return () if names == (OFF,) else names or None


def parse_sep(sep: str | None) -> str | None:
    """A separator as users write it: the character itself, or `tab`, `space`, `comma`, `semicolon`, `bar`."""
    if sep is None:
        return None
    sep = SEPARATOR_NAMES.get(sep.lower(), sep)
    if not sep or "\n" in sep or '"' in sep:
        known = ", ".join(SEPARATORS.values())
        raise DataError(f"separator {sep!r} cannot separate columns; give a character, or one of {known}")
    return sep


def _column(column: str | int | None) -> str | None:
    """A single column by name or number."""
    if column is None:
        return None
    name = str(cast(object, column)).strip()
    if not name:
        raise DataError("a column for weights or sources needs a name or a number")
    return name
