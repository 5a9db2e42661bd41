"""Writing files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

Content = str | bytes | Callable[[BinaryIO], object]


def write_atomically(
    path: str | Path,
    content: Content,
    before: Callable[[Path], object] | None = None,
    follow: bool = True,
) -> None:
    """Write text (as UTF-8), bytes, or whatever a function writes to the open file; replace an older file.

    The content goes to a temporary file beside the target, which is renamed once everything is on disk, so
    neither a failure nor a kill leaves half a file, and a power cut leaves the old one or the new one.
    `before` is called with the temporary file just before it gets its name. Links are followed if wanted.
    Pipes and devices cannot be replaced, so they are written directly.
    """
    path = Path(path)
    if follow and path.exists() and not path.is_file():
        with path.open("wb") as file:
            _write(file, content)
        return
    target = path.resolve() if follow else path
    partial = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            _write(file, content)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            before(partial)
        partial.replace(target)
        sync_folder(target.parent)
    finally:
        with contextlib.suppress(OSError):  # a folder that was deleted under way: the first error counts
            partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk; systems and network folders that cannot do that are left alone."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)
