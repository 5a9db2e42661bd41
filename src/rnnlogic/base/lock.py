"""One writer at a time in a folder, without anything to clean up after a kill or a reboot.

The system's own lock (flock) ends with the process that holds it. Some network folders do not pass it on to
other machines, or have none; therefore the lock file also names its holder. A holder on this machine that is
gone counts for nothing; one on another machine cannot be looked at, so a person decides.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows: the holder's name in the file is all there is
    fcntl = None  # type: ignore[assignment]

from rnnlogic.base.errors import RNNLogicError

LOCK = ".lock"
BUSY = (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK)
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
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
    handle = _taken_if_writable(folder)
    try:
        yield
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):
                (folder / LOCK).unlink(missing_ok=True)  # while it is ours
            os.close(handle)
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


def _taken_if_writable(folder: Path) -> int | None:
    """The lock; None where nobody can write, so that a finished run is still read there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _taken(folder)
    except OSError as error:
        if error.errno in READ_ONLY:
            return None
        problem = "is a link" if error.errno == errno.ELOOP else error.strerror
        raise LockedError(f"{folder / LOCK}: cannot be written ({problem})") from None


def _taken(folder: Path) -> int:
    path = folder / LOCK
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            _lock(handle, path)
            if _is_same(handle, path):
                os.ftruncate(handle, 0)
                os.write(handle, json.dumps(_ourselves()).encode())
                os.fsync(handle)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its holder has just removed it: the next one is a new file


def _lock(handle: int, path: Path) -> None:
    system = True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except AttributeError:
        system = False
    except OSError as error:
        if error.errno in BUSY:
            raise _locked(path, _holder(handle)) from None
        system = False  # this folder's system has no locks
    holder = _holder(handle)
    if holder and not _is_gone(holder, system):
        raise _locked(path, holder)


def _is_gone(holder: dict[str, Any], system: bool) -> bool:
    """Whether the process that a lock file names has ended; `system` if its lock would have been seen."""
    own = _ourselves()
    if holder.get("boot") == own["boot"] and own["boot"]:
        return system or not _runs(holder)
    if holder.get("host") == own["host"]:  # started before the last reboot, or no boot id here
        return bool(own["boot"]) or system or not _runs(holder)
    return False


def _runs(holder: dict[str, Any]) -> bool:
    """Whether the very process is there; a number may have been given to another one since."""
    pid = holder.get("pid")
    if not isinstance(pid, int) or pid == os.getpid():
        return isinstance(pid, int)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return holder.get("began") in (None, _began(pid))


def _locked(path: Path, holder: dict[str, Any]) -> LockedError:
    who = "another process"
    if holder:
        who = f"process {holder.get('pid')} on {holder.get('host')}, since {holder.get('since')},"
    return LockedError(
        f"{path.parent}: {who} is writing here; wait for it or stop it. If it is gone, remove {path} and try"
        " again"
    )


def _ourselves() -> dict[str, Any]:
    boot = BOOT.read_text().strip() if BOOT.is_file() else ""
    since = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S%z}"
    pid = os.getpid()
    return {"pid": pid, "host": platform.node(), "boot": boot, "since": since, "began": _began(pid)}


def _began(pid: int) -> str | None:
    """When a process began, as the system counts it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return None


def _holder(handle: int) -> dict[str, Any]:
    try:
        found = json.loads(os.pread(handle, 4096, 0) or b"{}")
    except (ValueError, OSError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
