"""One writer at a time in a folder, without anything to clean up after a kill or a reboot.

The lock of filelock ends with the process that holds it. Some network folders do not pass it on to other
machines; therefore the lock file also names its holder. A holder on this machine that is gone counts for
nothing; one on another machine cannot be looked at, so a person decides. Where a folder's system has no locks
at all, filelock's own file takes their place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from rnnlogic.base.errors import RNNLogicError

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = ".lock"
BUSY = (errno.EAGAIN, errno.EACCES)
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # how systems say that they have none
BOOT = Path("/proc/sys/kernel/random/boot_id")


class LockedError(RNNLogicError):
    """Somebody else is writing; the message says who, and how to take over."""


@contextmanager
def exclusive(folder: str | Path | None) -> Iterator[None]:
    """Be the only writer of a folder inside `with`; without a folder there is nothing to do."""
    if folder is None or (Path(folder).exists() and not Path(folder).is_dir()):
        yield  # whoever writes there says what is wrong with it
        return
    folder = Path(folder)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    lock = _taken_if_writable(folder)
    try:
        yield
    finally:
        if lock is not None:
            with contextlib.suppress(OSError):
                (folder / LOCK).unlink(missing_ok=True)  # while it is ours
            lock.release()
        with contextlib.suppress(OSError):  # unless something was written, leave no trace
            for path in made:
                path.rmdir()


@contextmanager
def briefly_locked(file: BinaryIO) -> Iterator[None]:
    """Wait for others who add to this file, where the system can tell."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.flock(file, fcntl.LOCK_EX)
    yield  # closing the file ends it


def inherited_lock(path: Path) -> int | None:
    """A lock that a child process may inherit and that lasts as long as the child; None if it is held.

    So work is known to be under way even when the process that started it was killed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except AttributeError:
        return handle
    except OSError as error:
        if error.errno in BUSY:
            os.close(handle)
            return None
    return handle


def claimed(handle: int) -> bool:
    """Claim an open file for this process until it is closed; False if another one has it, or nobody can."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (OSError, AttributeError):
        return False
    return True


def _taken_if_writable(folder: Path) -> BaseFileLock | None:
    """The lock; None where nobody can write, so that a finished run is still read there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _taken(folder / LOCK)
    except OSError as error:
        if error.errno in READ_ONLY:
            return None
        problem = "is a link" if error.errno == errno.ELOOP else error.strerror
        raise LockedError(f"{folder / LOCK}: cannot be written ({problem})") from None


def _taken(path: Path) -> BaseFileLock:
    import filelock  # only writers need it

    wait = 0.1  # seconds: enough for a holder that is just removing its file
    lock: BaseFileLock = filelock.FileLock(path, wait, fallback_to_soft=False)
    try:
        try:
            lock.acquire()
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            if not path.stat().st_size:
                path.unlink()  # the attempt has made it, and it would count as held
            lock = filelock.SoftFileLock(path, wait)
            lock.acquire()
            return lock
    except filelock.Timeout:
        raise _locked(path) from None
    if _is_elsewhere(_holder(path)):
        lock.release()
        raise _locked(path)
    path.write_text(f"{os.getpid()}\n{platform.node()}\n{_boot()}\n")
    return lock


def _holder(path: Path) -> list[str]:
    """Process, machine and boot that a lock file names; empty if it names none."""
    with contextlib.suppress(OSError, ValueError):
        process, machine, *more = path.read_text().split("\n")
        return [process, machine.partition("?")[0], *more]  # filelock's own file says more behind a `?`
    return []


def _is_elsewhere(holder: list[str]) -> bool:
    """Whether the holder was on another machine; a lock held on this one would have been noticed."""
    return len(holder) > 2 and holder[1] != platform.node() and (not _boot() or holder[2] != _boot())


def _boot() -> str:
    """What tells this boot of this machine from others; empty where the system has no such thing."""
    return BOOT.read_text().strip() if BOOT.is_file() else ""


def _locked(path: Path) -> LockedError:
    who, holder = "another process", _holder(path)
    if len(holder) > 1:
        with contextlib.suppress(OSError):
            since = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
            who = f"process {holder[0]} on {holder[1]}, since {since:%Y-%m-%d %H:%M:%S%z},"
    return LockedError(
        f"{path.parent}: {who} is writing here; wait for it or stop it. If it is gone, remove {path} and try"
        " again"
    )
