"""Where bytes come from: a file, a member of a zip archive, or standard input, perhaps compressed.

All three have a `name`, open for reading bytes, and show themselves in error messages; readers need no more.

A byte order mark, or zero bytes in every other place, show UTF-16. What is not UTF-8 anywhere beyond ASCII is
taken for Windows-1252 (cp1252), and said so. A file that is UTF-8 in one place and not in another is damaged.

What a file may ask of the memory is limited, by name; each limit can be raised:
`RNNLOGIC_LIMIT_LINE_BYTES=100000000 rnnlogic ...` raises the limit `line_bytes`.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import gzip
import importlib
import io
import json
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

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


# The longer mark first: UTF-32's begins like UTF-16's
MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
UTF8_MARK = codecs.BOM_UTF8
WINDOWS = "cp1252"
SAMPLE = 1 << 12  # bytes looked at for zero bytes
ZEROS = 0.1  # least share of zero bytes in UTF-16: half of them in Latin letters, some in all other scripts


def parse_encoding(encoding: str | None) -> str | None:
    """A name of a text encoding that Python knows."""
    if encoding is None:
        return None
    try:
        codec = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, UnicodeError, ValueError, TypeError):
        raise DataError(
            f"encoding {encoding[:40]!r} is not known; give one such as utf-8, cp1252, latin-1 or utf-16"
        ) from None
    return codec.name


def wide_encoding(beginning: bytes) -> str | None:
    """UTF-16 or UTF-32 by how a file begins; None for encodings in which ASCII stays what it is."""
    for mark, name in MARKS:
        if beginning.startswith(mark):
            return name
    sample = beginning[: SAMPLE - SAMPLE % 2]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if even + odd < ZEROS * len(sample) or (even and odd):
        return None
    return "utf-16-be" if even else "utf-16-le" if odd else None


def is_windows(data: bytes) -> bool:
    """Whether bytes that are not UTF-8 can be cp1252: no letter of UTF-8 among them, no control character."""
    text = data.decode("utf-8", "surrogateescape")
    if any(ord(c) > 127 and not 0xDC80 <= ord(c) <= 0xDCFF for c in set(text)) or b"\x00" in data:
        return False
    try:
        data.decode(WINDOWS)
    except UnicodeDecodeError:
        return False
    return True


def sample_of(data: bytes) -> str:
    """A word of cp1252 text that shows its letters, for a note."""
    word = next((word for word in data.split() if not word.isascii()), b"")
    return word.decode(WINDOWS)[:40].strip(",;|\"'")


STANDARD_INPUT = "-"
PACKED = (".gz", ".zst")  # compressed files; the suffix before says what is inside
MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
IN_MEMORY = 1 << 26  # bytes of standard input; what is longer waits in a temporary file
DAMAGE = (EOFError, OSError, zlib.error, zipfile.BadZipFile)  # what reading a damaged file may raise
BEGINNING = 1 << 16  # bytes of a file in which its first lines lie, its header and its prefixes


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
            shutil.copyfileobj(stream, copy)
        return StandardInput(beginning[:BEGINNING], Path(copy.name))

    def __str__(self) -> str:
        return "standard input"

    @cached_property
    def name(self) -> str:
        """A file name with the suffix that fits the first line, and with the one of what compressed it."""
        packed = next((suffix for magic, suffix in MAGIC.items() if self.data.startswith(magic)), "")
        try:
            with _unpacked(self.open(), packed, self.size, str(self)) as file:
                beginning = file.read(BEGINNING)
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


def failing(place: Place) -> Callable[[str, int], DataError]:
    """Makes errors of a place, each with its line."""
    return lambda problem, line: DataError(problem, shown(place), line)


@contextlib.contextmanager
def placed(place: Place, line: int | None = None) -> Iterator[None]:
    """Inside `with`, errors that do not say where something is wrong get this place and line."""
    try:
        yield
    except DataError as problem:
        raise problem if problem.path else DataError(str(problem), shown(place), line) from None


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


LARGE = 1 << 28  # bytes on the disk; less is read within seconds
# Peak memory of a fact while ids are sorted, split and checked: 361 MB at 3 million, 201 MB at one million
BYTES_PER_FACT = 100
STEPS = 10  # lines told while a file is read


def watched(
    pieces: Iterator[bytes], opened: Opened, name: str, tell: Callable[[str], None] | None
) -> Iterator[bytes]:
    """Pieces of a file; of a large one `tell` gets an estimate, then a line every tenth."""
    if tell is None or opened.size < LARGE:
        yield from pieces
        return
    lines, step = 0, 0
    for number, piece in enumerate(pieces):
        here = piece.count(b"\n")
        lines += here
        share = opened.position() / opened.size
        if number == 0 and share > 0:
            tell(_estimate(name, opened.size, lines / share))
        elif share * STEPS >= step + 1:
            step = int(share * STEPS)
            tell(f"{name}: {share:.0%} read, {lines:,} lines")
        yield piece


def _estimate(name: str, size: int, lines: float) -> str:
    """About how many lines there are and how much memory they take, to two digits."""
    about = float(f"{lines:.2g}")
    memory = about * BYTES_PER_FACT / 1e9
    rows = f"{size / 1e9:.1f} GB, about {about:,.0f} lines"
    return f"{name}: {rows}; reading will take about {memory:.2g} GB of memory"
