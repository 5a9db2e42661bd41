"""Writing files that appear whole or not at all.

A kill leaves the temporary file. Its name has the number of the process, and the process holds a lock on it
while it writes; so whoever writes beside it later can tell that nobody needs it any more, and removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: nothing is removed there
    fcntl = None  # type: ignore[assignment]

Content = str | bytes | Callable[[BinaryIO], object]
PARTIAL = re.compile(r"\..*\.(\d{1,10})-[0-9a-f]{8}\.partial", re.DOTALL)  # with the number of its process
_tidied: set[Path] = set()  # folders that this process has looked through


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
    _tidy(target.parent)
    partial = target.with_name(f".{target.name[:200]}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            _is_claimed(file.fileno())
            _write(file, content)
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":
                file.close()  # Windows renames no open file
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


def _tidy(folder: Path) -> None:
    """Remove temporary files in a folder whose processes are gone; once is enough."""
    if os.name == "nt" or folder in _tidied:
        return
    _tidied.add(folder)
    with contextlib.suppress(OSError):  # whoever writes there next says what is wrong
        for entry in os.scandir(folder):
            found = PARTIAL.fullmatch(entry.name)
            if found and entry.is_file(follow_symlinks=False) and not _runs(int(found[1])):
                _remove_abandoned(entry.path)


def _remove_abandoned(path: str) -> None:
    """Remove a file unless it is held: on other machines and in containers numbers mean other processes."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            if _is_claimed(handle):
                os.unlink(path)  # noqa: PTH108
        finally:
            os.close(handle)


def _is_claimed(handle: int) -> bool:
    """Claim an open file for this process until it is closed; False if another one has it, or nobody can."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (OSError, AttributeError):
        return False
    return True


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it is somebody else's
    return True


def _write(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)
