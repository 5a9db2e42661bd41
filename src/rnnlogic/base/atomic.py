"""Writing files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

Content = str | bytes | Callable[[BinaryIO], object]


def write_atomically(path: str | Path, content: Content) -> None:
    """Write text (as UTF-8), bytes, or whatever a function writes to the open file; replace an older file.

    The content goes to a temporary file beside the target, which is renamed once everything is on disk, so
    neither a failure nor a kill leaves half a file. Links are followed. Pipes and devices cannot be replaced,
    so they are written directly.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            _write(file, content)
        return
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            _write(file, content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _write(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)
