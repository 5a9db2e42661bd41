"""In which characters a text file is written: told apart by its bytes, read as UTF-8 by everything else.

A byte order mark, or zero bytes in every other place, show UTF-16. What is not UTF-8 anywhere beyond ASCII is
taken for Windows-1252 (cp1252), and said so. A file that is UTF-8 in one place and not in another is damaged.
"""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, cast

from rnnlogic.base.errors import DataError

# The longer mark first: UTF-32's begins like UTF-16's
MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
UTF8_MARK = codecs.BOM_UTF8
WINDOWS = "cp1252"
SAMPLE = 1 << 12  # bytes looked at for zero bytes
ZEROS = 0.1  # least share of zero bytes in UTF-16: half of them in Latin letters, some in all other scripts
PIECE = 1 << 20


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


def as_utf8(file: BinaryIO, encoding: str) -> BinaryIO:
    """A file in another encoding, as one in UTF-8."""
    return cast(BinaryIO, io.BufferedReader(_Recoded(file, encoding), PIECE))


class NotEncodedError(ValueError):
    """Bytes that do not fit an encoding."""


class _Recoded(io.RawIOBase):
    """Decodes pieces of a file and encodes them as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file, self._encoding = file, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest, self._place, self._ended = b"", 0, False

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: object) -> int:
        """Read some bytes."""
        space = memoryview(buffer)  # type: ignore[arg-type]
        while self._place == len(self._rest) and not self._ended:
            piece = self._file.read(PIECE)
            self._ended = not piece
            try:
                self._rest, self._place = self._decoder.decode(piece, self._ended).encode(), 0
            except UnicodeError as problem:
                raise NotEncodedError(f"not valid {self._encoding} ({_reason(problem)})") from None
        taken = self._rest[self._place : self._place + len(space)]
        space[: len(taken)] = taken
        self._place += len(taken)
        return len(taken)

    def close(self) -> None:
        """Close the file below, too."""
        self._file.close()
        super().close()


def _reason(problem: UnicodeError) -> str:
    return str(getattr(problem, "reason", problem))
