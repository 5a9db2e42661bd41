"""Where bytes come from: a file, a member of a zip archive, or standard input.

All three have a `name`, open for reading bytes, and show themselves in error messages; readers need no more.
"""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

from rnnlogic.base.errors import DataError
from rnnlogic.base.limits import limited

STANDARD_INPUT = "-"
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class StandardInput:
    """All bytes of standard input, read once; the first line decides what kind of file it would be."""

    data: bytes

    @staticmethod
    def read() -> StandardInput:
        """Take everything that is piped in; a terminal is refused, since it would wait forever."""
        if sys.stdin.isatty():
            raise DataError("standard input is a terminal; pipe a file in, or give its name instead of -")
        data = sys.stdin.buffer.read()
        try:
            if not data.startswith(GZIP_MAGIC):
                return StandardInput(data)
            unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=io.BytesIO(data)))
            return StandardInput(limited(unpacked, len(data), "standard input").read())
        except (EOFError, OSError, zlib.error) as problem:
            raise DataError(f"the gzip data are damaged ({problem})", "standard input") from None

    def __str__(self) -> str:
        return "standard input"

    @cached_property
    def name(self) -> str:
        """A file name with the suffix that fits the first line."""
        first = next((line.strip() for line in self.data.splitlines() if line.strip()), b"")
        if first.lower().startswith((b"@prefix", b"@base", b"prefix ", b"base <")):
            return "facts.ttl"
        if first.startswith((b"<", b"_:")) and first.endswith(b"."):
            return "facts.nt"
        if first.startswith((b"{", b"[")):
            return "facts.jsonl"
        return "facts.tsv" if b"\t" in first else "facts.csv" if b"," in first else "facts.txt"

    def open(self, mode: str = "rb") -> BinaryIO:
        """The bytes as a file."""
        del mode
        return io.BytesIO(self.data)


Place = Path | zipfile.Path | StandardInput


def shown(place: Place) -> str | Path:
    """The place as error messages and reports name it."""
    return place if isinstance(place, Path) else str(place)


def suffix_of(place: Place) -> str:
    """The lower-case file suffix, looking through `.gz`."""
    return Path(place.name.lower().removesuffix(".gz")).suffix


def stem_of(place: Place) -> str:
    """The file name without `.gz` and suffix."""
    name = place.name[:-3] if place.name.lower().endswith(".gz") else place.name
    return Path(name).stem


def open_bytes(place: Place) -> BinaryIO:
    """Open a plain or compressed file for reading bytes; a small one that grows huge is refused."""
    file = _member(place) if isinstance(place, zipfile.Path) else place.open("rb")
    if not place.name.lower().endswith(".gz"):
        return file
    size = place.stat().st_size if isinstance(place, Path) else packed_size(place)
    return limited(cast(BinaryIO, gzip.GzipFile(fileobj=file)), size, str(place))


def _member(place: zipfile.Path) -> BinaryIO:
    try:
        file = cast(BinaryIO, place.open("rb"))
        return limited(file, place.root.getinfo(place.at).compress_size, str(place))
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, ValueError) as problem:
        raise DataError(f"cannot be read from the zip file ({problem})", shown(place)) from None


def packed_size(place: zipfile.Path | StandardInput) -> int:
    """Bytes that a place takes up itself."""
    return len(place.data) if isinstance(place, StandardInput) else place.root.getinfo(place.at).file_size


def zip_root(path: Path) -> zipfile.Path:
    """The top of a zip archive, below folders that hold nothing but one folder."""
    try:
        archive = zipfile.ZipFile(path)
        odd = next((n for n in archive.namelist() if not n or n.startswith("/") or "//" in n), None)
        if odd is not None:  # we, or zipfile.Path (CVE-2024-8088), would look for its folder forever
            raise DataError(f"the zip file holds a name that is no path: {odd[:80]!r}", path)
        root = zipfile.Path(archive)
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as problem:
        raise DataError(f"the zip file cannot be read ({problem})", path) from None
    while len(inside := visible(root)) == 1 and inside[0].is_dir():
        root = cast(zipfile.Path, inside[0])
    return root


def visible(folder: Path | zipfile.Path) -> list[Path] | list[zipfile.Path]:
    """What lies in a folder, by name; hidden files and macOS's resource forks left out."""
    inside = (place for place in folder.iterdir() if not place.name.startswith((".", "__MACOSX")))
    return sorted(inside, key=lambda place: place.name)  # type: ignore[return-value]
