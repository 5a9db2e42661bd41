"""Where bytes come from: a file, a member of a zip archive, or standard input, perhaps compressed.

All three have a `name`, open for reading bytes, and show themselves in error messages; readers need no more.
"""

from __future__ import annotations

import atexit
import contextlib
import gzip
import importlib
import io
import json
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from rnnlogic.base.errors import DataError
from rnnlogic.base.limits import limited
from rnnlogic.data.encodings import wide_encoding

STANDARD_INPUT = "-"
PACKED = (".gz", ".zst")  # compressed files; the suffix before says what is inside
MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
IN_MEMORY = 1 << 26  # bytes of standard input; what is longer waits in a temporary file
COPIED = 1 << 20  # bytes at a time
DAMAGE = (EOFError, OSError, zlib.error, zipfile.BadZipFile)  # what reading a damaged file may raise
FIRST_LINES = 1 << 16  # bytes that decide what kind of file standard input would be


@dataclass(frozen=True)
class StandardInput:
    """All bytes of standard input, read once; the first line decides what kind of file it would be."""

    data: bytes  # all, or the beginning if the rest is in the file
    file: Path | None = None

    @staticmethod
    def read() -> StandardInput:
        """Take everything that is piped in; a terminal is refused, since it would wait forever."""
        if sys.stdin.isatty():
            raise DataError("standard input is a terminal; pipe a file in, or give its name instead of -")
        return StandardInput.of(sys.stdin.buffer)

    @staticmethod
    def of(stream: BinaryIO) -> StandardInput:
        """Everything in a stream; what is long goes to a temporary file that ends with the program."""
        beginning = stream.read(IN_MEMORY)
        if len(beginning) < IN_MEMORY:
            return StandardInput(beginning)
        with tempfile.NamedTemporaryFile(prefix="rnnlogic-", delete=False) as copy:
            atexit.register(Path(copy.name).unlink, missing_ok=True)
            copy.write(beginning)
            shutil.copyfileobj(stream, copy, COPIED)
        return StandardInput(beginning[:FIRST_LINES], Path(copy.name))

    def __str__(self) -> str:
        return "standard input"

    @cached_property
    def name(self) -> str:
        """A file name with the suffix that fits the first line, and with the one of what compressed it."""
        packed = next((suffix for magic, suffix in MAGIC.items() if self.data.startswith(magic)), "")
        try:
            with _unpacked(self.open(), packed, self.size, str(self)) as file:
                beginning = file.read(FIRST_LINES)
        except DAMAGE as problem:
            raise DataError(f"the {packed[1:]} data are damaged ({problem})", str(self)) from None
        wide = wide_encoding(beginning)
        text = beginning if wide is None else beginning.decode(wide, "ignore").encode()
        return _name_by(text) + packed

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self.data) if self.file is None else self.file.stat().st_size

    def open(self, mode: str = "rb") -> BinaryIO:
        """The bytes as a file."""
        del mode
        return io.BytesIO(self.data) if self.file is None else self.file.open("rb")


def _name_by(text: bytes) -> str:
    """A file name with the suffix that fits the first line."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), b"")
    if first.lower().startswith((b"@prefix", b"@base", b"prefix ", b"base <")):
        return "facts.ttl"
    if b"<graphml" in text:
        return "facts.graphml"
    if first.startswith((b"<", b"_:")) and first.endswith(b"."):
        return "facts.nt"
    if first.startswith((b"{", b"[")):
        return "facts.jsonl" if _is_json(first) else "facts.json"
    return "facts.tsv" if b"\t" in first else "facts.csv" if b"," in first else "facts.txt"


def _is_json(line: bytes) -> bool:
    """Whether a line is JSON by itself, as in JSON Lines, and no network on one line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return not (isinstance(value, dict) and any(isinstance(part, list) for part in value.values())) and not (
        isinstance(value, list) and any(isinstance(part, dict | list) for part in value)
    )


Place = Path | zipfile.Path | StandardInput


def shown(place: Place) -> str | Path:
    """The place as error messages and reports name it."""
    return place if isinstance(place, Path) else str(place)


def suffix_of(place: Place) -> str:
    """The lower-case file suffix, looking through `.gz` and `.zst`."""
    return Path(_without_packing(place.name)).suffix.lower()


def stem_of(place: Place) -> str:
    """The file name without suffix, and without `.gz` and `.zst`."""
    return Path(_without_packing(place.name)).stem


def _without_packing(name: str) -> str:
    return name[: -len(packing)] if (packing := packing_of(name)) else name


def packing_of(name: str) -> str:
    """`.gz` or `.zst` if a file name ends so, else nothing."""
    return next((packed for packed in PACKED if name.lower().endswith(packed)), "")


class Opened(NamedTuple):
    """A file that is being read, and how far one is in what lies on the disk."""

    file: BinaryIO
    position: Callable[[], int]
    size: int


def open_bytes(place: Place) -> BinaryIO:
    """Open a plain or compressed file for reading bytes; a small one that grows huge is refused."""
    return open_counted(place).file


def open_counted(place: Place) -> Opened:
    """The same; tells how far one is, too."""
    file = _member(place) if isinstance(place, zipfile.Path) else place.open("rb")
    size = place.stat().st_size if isinstance(place, Path) else packed_size(place)
    return Opened(_unpacked(file, packing_of(place.name), size, str(place)), file.tell, size)


def _unpacked(file: BinaryIO, packed: str, size: int, place: str) -> BinaryIO:
    if not packed:
        return file
    if packed == ".gz":
        return limited(cast(BinaryIO, gzip.GzipFile(fileobj=file)), size, place)
    zstd = _zstd(place)
    return limited(zstd.ZstdFile(file), size, place, (zstd.ZstdError,))


def _zstd(place: str) -> Any:
    """The module of the standard library, or the one that gives it to Pythons before 3.14."""
    for module in ("compression.zstd", "backports.zstd"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(module)
    raise DataError(".zst files need backports.zstd: pip install backports.zstd", place)


def _member(place: zipfile.Path) -> BinaryIO:
    try:
        file = cast(BinaryIO, place.open("rb"))
        return limited(file, place.root.getinfo(place.at).compress_size, str(place))
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, ValueError) as problem:
        raise DataError(f"cannot be read from the zip file ({problem})", shown(place)) from None


def packed_size(place: zipfile.Path | StandardInput) -> int:
    """Bytes that a place takes up itself."""
    return place.size if isinstance(place, StandardInput) else place.root.getinfo(place.at).file_size


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
