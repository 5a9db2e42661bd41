"""Work that is killed, or whose disk fails, in processes that are forked when everything is warm.

Afterwards the same command, undisturbed, must come to the same end.
"""

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

from tests.torture.damage import is_whole
from tests.torture.outcome import Done, Hang, Tally, command
from tests.torture.runs import FACTS, Subject, copy_of, fit_words, out_of, said_by, shown, words_of

LONGEST = 60.0  # seconds for one command, after which it hangs
MOST_KILLS = 8  # of one piece of work
MOUNTED = "mounted"  # a disk of its own, in the folder of the trials
FAULTS = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT)
WORKS = ("fit", "fit", "fit", "embed", "evaluate", "complete", "export", "labels", "mine", "card")
EMBED = ("--dim", "4", "--set", "epochs=30", "--set", "evaluations=3", "--seed", "1", "--threads", "1")


class Work(NamedTuple):
    """A command that writes, and the folder in which it does so."""

    name: str
    subject: Subject
    folder: Path

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def out(self) -> Path:
        return out_of(self.name, self.folder) if self.name != "card" else self.folder / "card.md"

    def prepare(self) -> None:
        """An empty folder, or one with a finished run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if self.name not in ("fit", "embed", "mine"):
            copy_of(self.subject, self.run)

    def words(self) -> list[str]:
        """The command line."""
        place = self.subject.folder.parent
        if self.name == "fit":
            return fit_words(place, self.run, self.subject.variant)
        if self.name == "embed":
            return ["embed", str(place / FACTS), "-o", str(self.run), *EMBED]
        if self.name == "labels":
            return ["labels", str(self.run), str(_labels(place))]
        if self.name == "mine":
            return ["mine", str(place / FACTS), "-o", str(self.out), "--most", "5"]
        if self.name == "card":
            return ["card", str(self.run), "-o", str(self.out)]
        return words_of(self.name, self.run, self.out)

    def result(self, done: Done) -> object:
        """What it should come to, whatever happened on the way."""
        if self.name == "fit":
            model, lines = self.run / "model.safetensors", self.run / "metrics.jsonl"
            said = said_by("predict", self.run, self.folder)[1]
            return model.read_bytes(), said, len(lines.read_text().splitlines()), is_whole(self.run)
        if self.name == "embed":
            files = sorted(path for path in self.run.rglob("embedding*") if path.is_file())
            return [path.read_bytes() for path in files if path.suffix != ".json"], is_whole(self.run)
        if self.name == "labels":
            return (self.run / "vocabulary.json").read_bytes(), is_whole(self.run)
        if self.name in ("mine", "card"):
            return self.out.read_bytes(), self.name == "mine" or is_whole(self.run)
        return shown(self.name, done, self.out), is_whole(self.run)


def _labels(place: Path) -> Path:
    path = place / "labels.tsv"
    if not path.is_file():
        path.write_text("grandpa0\tThe first\nparent\tis parent of\n")
    return path


class Known(NamedTuple):
    """What work comes to when nothing happens."""

    seconds: float
    operations: int
    result: object


_known: dict[tuple[str, str], Known] = {}


def _known_of(work: Work) -> Known:
    """Found out when it is asked for first."""
    key = work.name, work.subject.variant
    if key not in _known:
        work.prepare()
        with counted() as seen:
            started = time.monotonic()
            done = command(*work.words())
        assert done.code == 0, done.err
        _known[key] = Known(time.monotonic() - started, seen[0], work.result(done))
    return _known[key]


def _some_work(random: Random, folder: Path, subjects: list[Subject]) -> Work:
    return Work(random.choice(WORKS), random.choice(subjects), folder)


def kills(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Kill work at random moments and at random file operations; then finish it undisturbed."""
    work = _some_work(random, scratch / "killed", subjects)
    known = _known_of(work)
    work.prepare()
    points = []
    for _ in range(random.randint(1, MOST_KILLS)):
        if random.random() < 0.5:
            moment = random.uniform(0.0, known.seconds)
            is_dead = _forked(work, scratch, kill_after=moment) is None
        else:
            moment = random.randrange(max(known.operations, 1))
            is_dead = _forked(work, scratch, lambda at=moment: _faulty(_die, at)) is None
        points += [f"{moment:.3g}"] * is_dead
        if not is_dead:
            break
    example = f"{work.name} {work.subject.variant}, killed at {', '.join(points)}"
    _finish(tally, work, known, example, max(len(points), 1))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def disks(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """The disk is full, read-only, broken or slow, or the folder is deleted under way; then work goes on."""
    ways: list[Callable[..., None]] = [_broken, _broken, _limited_size, _deleted, _slow, _read_only]
    ways += [_small_disk] * can_mount(scratch)
    random.choice(ways)(tally, random, scratch, subjects)


def _broken(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """From some file operation on, every one fails."""
    work = _some_work(random, scratch / "broken", subjects)
    known, number = _known_of(work), random.choice(FAULTS)
    at = random.randrange(max(known.operations, 1))

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    example = f"{work.name} {work.subject.variant}: {os.strerror(number)} from operation {at} on"
    _disturbed(tally, work, known, example, scratch, lambda: _faulty(fail, at))


def _limited_size(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """No file may become longer than some size."""
    work = _some_work(random, scratch / "limited", subjects)
    most = int(10 ** random.uniform(1, 5.5))

    @contextlib.contextmanager
    def limited() -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    example = f"{work.name} {work.subject.variant}: files of at most {most} bytes"
    _disturbed(tally, work, _known_of(work), example, scratch, limited)


def _slow(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Every file operation takes its time, and a kill may come meanwhile."""
    work = _some_work(random, scratch / "slow", subjects)
    known, pause = _known_of(work), random.uniform(0.0, 0.02)
    example = f"{work.name} {work.subject.variant}: {pause:.3f} s an operation"
    moment = random.uniform(0.0, known.seconds + pause * known.operations)
    work.prepare()
    _forked(work, scratch, lambda: _faulty(lambda: time.sleep(pause), 0), kill_after=moment)
    _finish(tally, work, known, example)


def _deleted(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Somebody deletes the folder at work."""
    work = _some_work(random, scratch / "deleted", subjects)
    known = _known_of(work)
    at = random.randrange(max(known.operations, 1))
    example = f"{work.name} {work.subject.variant}: deleted at operation {at}"

    def delete() -> None:
        for path in work.folder.iterdir():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    work.prepare()
    done = _forked(work, scratch, lambda: _faulty(delete, at, once=True))
    if done is not None and not done.is_clear:
        tally.add("traceback", f"{example}: {done.err[-300:]}")
        return
    work.prepare()
    _finish(tally, work, known, example)


def _read_only(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Nothing may be written: a mount if we are root, else by permissions."""
    if not can_mount(scratch):
        work = _some_work(random, scratch / "locked", subjects)
        known = _known_of(work)
        work.prepare()
        folders = [work.folder, *(path for path in work.folder.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        try:
            done = _forked(work, scratch)
        finally:
            for folder in folders:
                folder.chmod(0o755)
        _judge(tally, work, known, f"{work.name} {work.subject.variant}: read-only", done)
        return
    with mounted(scratch / MOUNTED, "16m") as place:
        work = _some_work(random, place / "work", subjects)
        known = _known_of(work)
        work.prepare()
        _mount("-o", "remount,ro", str(place))
        done = _forked(work, scratch)
        _mount("-o", "remount,rw", str(place))
        _judge(tally, work, known, f"{work.name} {work.subject.variant}: read-only", done)


def _small_disk(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """A disk on which there is not enough room."""
    with mounted(scratch / MOUNTED, "16m") as place:
        work = _some_work(random, place / "work", subjects)
        known = _known_of(work)
        work.prepare()
        used = sum(path.stat().st_blocks * 512 for path in place.rglob("*"))
        size = used + random.randrange(1 << random.randint(12, 18))
        _mount("-o", f"remount,size={size}", str(place))
        done = _forked(work, scratch)
        _mount("-o", "remount,size=16m", str(place))
        _judge(tally, work, known, f"{work.name} {work.subject.variant}: {size - used} bytes free", done)


def _disturbed(tally: Tally, work: Work, known: Known, example: str, scratch: Path, fault) -> None:
    work.prepare()
    _judge(tally, work, known, example, _forked(work, scratch, fault))


def _judge(tally: Tally, work: Work, known: Known, example: str, done: Done | None) -> None:
    """It said what was wrong, or did its work; then it is done again."""
    if done is None or not done.is_clear:
        tally.add("traceback", f"{example}: {'died' if done is None else done.err[-300:]}")
    elif done.code == 0 and work.result(done) != known.result and work.name not in ("fit", "embed"):
        tally.add("silent wrong", f"{example}: exit code 0")
    else:
        _finish(tally, work, known, example)


def _finish(tally: Tally, work: Work, known: Known, example: str, times: int = 1) -> None:
    """Do the work undisturbed: it must come to what it always comes to."""
    done = command(*work.words())
    if done.code != 0:
        tally.add("lost", f"{example}: {done.err[-300:]}", times)
    else:
        tally.add("clear" if work.result(done) == known.result else "silent wrong", example, times)


def race(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Two processes begin the same fit: one waits, gives up with a message, or finds it done."""
    work = Work("fit", random.choice(subjects), scratch / "raced")
    known = _known_of(work)
    work.prepare()
    first = _fork(work, scratch / "first.json")
    time.sleep(random.uniform(0.0, known.seconds))
    second = _forked(work, scratch)
    os.waitpid(first, 0)
    for done in (second, _report(scratch / "first.json")):
        if done is None or not done.is_clear:
            tally.add("traceback", f"race: {done and done.err[-300:]}")
            return
    _finish(tally, work, known, f"race {work.subject.variant}")


@contextlib.contextmanager
def counted() -> Iterator[list[int]]:
    """How many file operations there are inside `with`."""
    seen = [0]

    def count() -> None:
        seen[0] += 1

    with _faulty(count, 0):
        yield seen


@contextlib.contextmanager
def _faulty(fault: Callable[[], None], after: int, once: bool = False) -> Iterator[None]:
    """From the so-manieth change of a file on, something goes wrong."""
    left = [after]
    replace, open_, fsync, mkdir = Path.replace, Path.open, os.fsync, Path.mkdir

    def count() -> None:
        left[0] -= 1
        if left[0] == -1 or (left[0] < 0 and not once):
            fault()

    def replacing(self, target):
        count()
        return replace(self, target)

    def opening(self, mode="r", *rest, **more):
        if set(mode) & set("wxa+"):
            count()
        return open_(self, mode, *rest, **more)

    def syncing(handle):
        count()
        return fsync(handle)

    def making(self, *rest, **more):
        count()
        return mkdir(self, *rest, **more)

    with (
        patch.object(Path, "replace", replacing),
        patch.object(Path, "open", opening),
        patch.object(Path, "mkdir", making),
        patch("os.fsync", syncing),
    ):
        yield


def _forked(
    work: Work, scratch: Path, fault: Callable = contextlib.nullcontext, kill_after: float | None = None
) -> Done | None:
    """Do the work in another process, which may be killed; None if it was."""
    report = scratch / "forked.json"
    child = _fork(work, report, fault)
    until = time.monotonic() + (LONGEST if kill_after is None else kill_after)
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return _report(report)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if kill_after is None:
        raise Hang(f"{work.name} {work.subject.variant}: no end after {LONGEST:g} s")
    return None


def _fork(work: Work, report: Path, fault: Callable = contextlib.nullcontext) -> int:
    report.unlink(missing_ok=True)
    child = os.fork()
    if child:
        return child
    try:
        with fault():
            done = command(*work.words())
        report.write_text(json.dumps(done))
    finally:
        os._exit(0)


def _report(report: Path) -> Done | None:
    return Done(*json.loads(report.read_text())) if report.is_file() else None


def _mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def mounted(place: Path, size: str) -> Iterator[Path]:
    """A small disk in memory."""
    place.mkdir(exist_ok=True)
    unmount(place)
    assert _mount("-t", "tmpfs", "-o", f"size={size}", "torture", str(place))
    try:
        yield place
    finally:
        unmount(place)


def unmount(place: Path) -> None:
    """Take a disk away; a trial that was killed may have left one."""
    while place.is_mount() and subprocess.run(["umount", "--lazy", str(place)], check=False).returncode == 0:
        pass


_mountable: list[bool] = []


def can_mount(scratch: Path) -> bool:
    """Whether we may mount a disk in memory."""
    if not _mountable:
        place = scratch / MOUNTED
        place.mkdir(exist_ok=True)
        may = os.getuid() == 0 and shutil.which("mount") is not None
        _mountable.append(may and _mount("-t", "tmpfs", "-o", "size=1m", "torture", str(place)))
        if _mountable[0]:
            unmount(place)
    return _mountable[0]
