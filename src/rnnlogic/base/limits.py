"""Limits on what a file may ask of the memory, by name; each can be raised.

`RNNLOGIC_LIMIT_LINE_BYTES=100000000 rnnlogic ...` raises the limit `line_bytes`.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from typing import BinaryIO, cast

from rnnlogic.base.errors import DataError, RNNLogicError
from rnnlogic.base.text import whole_number

PREFIX = "RNNLOGIC_LIMIT_"
LIMITS = {
    "line_bytes": 1 << 26,  # of one line of a text file, beyond the piece that is read anyway
    "expansion": 200,  # bytes that one byte of a compressed file may become
    "free_bytes": 1 << 28,  # that any compressed file may become
    "entity_bytes": 2048,  # of an entity of an RDF/XML file
}


def limit(name: str) -> int:
    """The value of a limit."""
    text = os.environ.get(PREFIX + name.upper(), "")
    number = whole_number(text) if text else LIMITS[name]
    if number is None:
        raise RNNLogicError(f"${PREFIX}{name.upper()} is {text[:20]!r}; it must be a whole number")
    return number


def beyond(name: str, place: object) -> DataError:
    """The error for what is beyond a limit."""
    value = limit(name)
    return DataError(
        f"is beyond the limit {name} = {value:,}, which keeps small files from filling memory; if the"
        f" file is right, set {PREFIX}{name.upper()}={2 * value} or more",
        str(place),
    )


def limited(file: BinaryIO, packed: int, place: str, damage: tuple[type[Exception], ...] = ()) -> BinaryIO:
    """An unpacked file that may grow by a limit, and no more; `damage`: errors that say it is broken."""
    raw = _Limited(file, max(limit("free_bytes"), limit("expansion") * packed), place)
    raw.damage += damage
    return cast(BinaryIO, io.BufferedReader(raw, 1 << 20))


class _Limited(io.RawIOBase):
    """Counts what is read, and stops at the limit."""

    damage: tuple[type[Exception], ...] = (zlib.error, zipfile.BadZipFile, EOFError)

    def __init__(self, file: BinaryIO, most: int, place: str) -> None:
        self._file, self._left, self._place = file, most, place

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: object) -> int:
        """Read some bytes."""
        try:
            data = self._file.read(len(memoryview(buffer)))  # type: ignore[arg-type]
        except self.damage as problem:  # one kind of damage for all readers
            raise gzip.BadGzipFile(str(problem)) from None
        self._left -= len(data)
        if self._left < 0:
            raise beyond("expansion", self._place)
        memoryview(buffer)[: len(data)] = data  # type: ignore[arg-type]
        return len(data)

    def close(self) -> None:
        """Close the file below, too."""
        self._file.close()
        super().close()
