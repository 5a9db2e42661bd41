"""Files that appear whole or not at all, and folders whose files are known by their checksums.

A kill leaves the temporary file. Its name has the number of the process, and the process holds a lock on it
while it writes; so whoever writes beside it later can tell that nobody needs it any more, and removes it.

manifest.jsonl has a line for every file that was written, oldest first: name, bytes, SHA-256. The line comes
before the file gets its name, so after a kill a file is whole if it fits its last line or the one before. Of
files that only grow (logs) the first bytes are known. A folder without a manifest has no checksums; files in
it are read all the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.lock import briefly_locked, claimed

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
            claimed(file.fileno())
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
            if claimed(handle):
                os.unlink(path)  # noqa: PTH108
        finally:
            os.close(handle)


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


MANIFEST = "manifest.jsonl"
DEPTH = 3  # a file lies in the folder of its manifest, in a folder there, or in one inside that
PIECE = 1 << 20  # bytes read at a time
_checking = True


class SealedError(RNNLogicError):
    """A file that cannot be read, written or trusted; the message says why and what to do."""

    def __init__(self, path: str | Path, problem: str) -> None:
        self.path = Path(path)
        super().__init__(f"{path}: {problem}")


class DamagedError(SealedError):
    """A file whose contents are not what was written."""


class Known(NamedTuple):
    """A file as it was written; of one that grows, its first bytes."""

    bytes: int
    sha256: str
    grows: bool = False


@contextmanager
def verification(wanted: bool) -> Iterator[None]:
    """Whether checksums are looked at inside `with`."""
    global _checking
    before, _checking = _checking, wanted
    try:
        yield
    finally:
        _checking = before


def begin_manifest(folder: Path) -> None:
    """From now on the files of this folder are known by their checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).touch()


def refuse_links(folder: Path) -> None:
    """Refuse a folder that holds links, or things that are no files: they may lead anywhere."""
    waiting = [folder]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                what = "a link" if entry.is_symlink() else "no file"
                raise SealedError(
                    entry.path,
                    f"is {what}, which a folder of this kind may not hold: it could lead anywhere; put the"
                    " file itself in its place, or remove it",
                )


def read_sealed(path: Path) -> bytearray:
    """The bytes of a file, which are what was written there."""
    _refuse_link(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = bytearray(size)
        if file.readinto(data) != size:
            raise DamagedError(path, "changed while it was read; try again")
    if _checking:
        found = Known(size, hashlib.sha256(data).hexdigest())
        _require(path, found)
    return data


def require_whole(path: Path) -> None:
    """Refuse a file that is not what was written; for readers that open it themselves."""
    _refuse_link(path)
    if _checking:
        _require(path, digest(path))


def write_sealed(path: Path, content: Content) -> None:
    """Write a file, whole or not at all; missing folders are made."""
    _refuse_link(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = folder_of(path)
    if folder is None:
        write_atomically(path, content, follow=False)
        return
    name = path.relative_to(folder).as_posix()
    write_atomically(path, content, lambda partial: _announce(folder, name, digest(partial)), follow=False)


def seal(path: Path, grows: bool = False) -> None:
    """Note the checksum of a file as it is now: one that was copied here, or one that grows later."""
    folder = folder_of(path)
    if folder is not None and path.is_file():
        _record(folder, path.relative_to(folder).as_posix(), digest(path), grows)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file; a kill may have left half a line at its end, which is dropped first."""
    _refuse_link(path)
    with path.open("ab+") as file, briefly_locked(file):
        end = file.seek(0, os.SEEK_END)
        if (whole := _end_of_lines(file, end)) < end:
            file.truncate(whole)
        file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        file.flush()
        os.fsync(file.fileno())


def folder_of(path: Path) -> Path | None:
    """The folder whose manifest knows a file; None if there is none."""
    return next((folder for folder in list(path.parents)[:DEPTH] if (folder / MANIFEST).is_file()), None)


def known_files(folder: Path) -> dict[str, list[Known]]:
    """Every file that the manifest knows, as it was written, oldest first."""
    _refuse_link(folder / MANIFEST)
    found: dict[str, list[Known]] = {}
    *lines, _half = (folder / MANIFEST).read_bytes().split(b"\n")
    for line in lines:
        try:
            entry = json.loads(line)
            if type(entry["bytes"]) is not int:  # 7e564 is infinite, and no number of bytes
                continue
            known = Known(entry["bytes"], str(entry["sha256"]), bool(entry.get("grows", False)))
            found.setdefault(str(entry["file"]), []).append(known)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # the file of a damaged line is not known any more, or by an older line
    return found


def missing_files(folder: Path) -> list[str]:
    """Files that were written and are gone; after a kill one may never have got its name."""
    if not _checking or not (folder / MANIFEST).is_file():
        return []
    return [name for name in known_files(folder) if not (folder / name).is_file()]


def is_whole(path: Path, found: Known, known: list[Known]) -> bool:
    """Whether a file is what was written last, or just before in case the last writing was killed."""
    last = known[-1]
    if last.grows and found.bytes > last.bytes:
        found = digest(path, last.bytes)
    return any(found[:2] == one[:2] for one in known[-2:])


def digest(path: Path, most: int | None = None) -> Known:
    """Size and SHA-256 of a file, or of its first bytes."""
    hashed, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE if most is None else min(PIECE, most - size)):
            hashed.update(piece)
            size += len(piece)
    return Known(size, hashed.hexdigest())


def damaged(path: Path, problem: str) -> DamagedError:
    """The error for a file that is not as it was written."""
    return DamagedError(path, f"is damaged ({problem}); put back a whole copy, or make it anew")


def _require(path: Path, found: Known) -> None:
    folder = folder_of(path)
    if folder is None or path.name == MANIFEST:
        return
    known = known_files(folder).get(path.relative_to(folder).as_posix())
    if known is None:
        raise damaged(path, f"{MANIFEST} does not know it")
    if not is_whole(path, found, known):
        raise damaged(path, f"its SHA-256 is not the one in {MANIFEST}")


def _announce(folder: Path, name: str, new: Known) -> None:
    """Note what a file will be, and once more what it is if a kill kept the last note from coming true.

    Else the file that is there would fit neither of the last two notes after a second kill.
    """
    path, known = folder / name, known_files(folder).get(name, [])
    if len(known) > 1 and path.is_file():
        present = digest(path)
        if present[:2] != known[-1][:2] and is_whole(path, present, known):
            _record(folder, name, present)
    _record(folder, name, new)


def _record(folder: Path, name: str, known: Known, grows: bool = False) -> None:
    line = {"file": name, "bytes": known.bytes, "sha256": known.sha256} | ({"grows": True} if grows else {})
    append_line(folder / MANIFEST, json.dumps(line, ensure_ascii=False))


def _end_of_lines(file: BinaryIO, end: int) -> int:
    """Where the last whole line of a file ends."""
    while end > 0:
        start = max(0, end - PIECE)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _refuse_link(path: Path) -> None:
    """Neither the file nor the folders that it lies in below the manifest's may be links."""
    for place in (path, *(parent for parent in list(path.parents)[: DEPTH - 1] if folder_of(parent))):
        try:
            mode = place.lstat().st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise SealedError(place, "is a link or no file; nothing is read or written through it")
