"""Trials in watched processes: one that hangs or dies is counted, and the others go on without it."""

import contextlib
import faulthandler
import mmap
import os
import pickle
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tests.torture.outcome import Hang, Tally

SILENT = 120.0  # seconds without the end of a trial: it hangs
BEAT = 0.5  # seconds between two notes of what was found so far
LOOK = 0.05  # seconds between two looks at the processes
MOST_LOST = 100  # trials that end their process, before we give up
_NOW = struct.Struct("qq")  # attack and trial at work

Trial = Callable[[Tally, str], None]  # told its seed


@dataclass
class Attack:
    """Trials of one kind: when they end, and how many are enough."""

    name: str
    trial: Trial
    until: float  # a value of time.monotonic()
    enough: float
    tally: Tally = field(init=False)
    trials: int = 0

    def __post_init__(self) -> None:
        self.tally = Tally(self.name)

    @property
    def is_over(self) -> bool:
        """Whether it has had its time; one trial is made in any case."""
        is_late = time.monotonic() >= self.until and self.trials > 0
        return is_late or self.tally.tried >= self.enough


class Worker:
    """A process that makes trials; it is forked again, for the trials after, when one ends or stops it."""

    def __init__(self, attacks: list[Attack], seed: str, place: Path, silent: float = SILENT) -> None:
        self.attacks, self.seed, self.silent = attacks, seed, silent
        self._found, self._stacks = place.with_suffix(".found"), place.with_suffix(".stacks")
        self._at = mmap.mmap(-1, _NOW.size)  # shared with the child, and still there when it has died
        self._lost = 0
        self._start()

    def is_done(self) -> bool:
        """Look after the process; whether it has made all of its trials."""
        ended, status = os.waitpid(self._child, os.WNOHANG)
        if ended and status == 0:
            self._child = 0
            self._read()
            return True
        if ended:
            self._lose("traceback", f"died with status {status}")
        elif self._at[:] != self._seen:
            self._seen, self._since = self._at[:], time.monotonic()
        elif time.monotonic() - self._since > self.silent:
            os.kill(self._child, signal.SIGUSR1)  # writes down where it is, even inside a kernel
            time.sleep(LOOK)
            self.kill()
            self._lose("hang", f"no end after {self.silent:g} s")
        return False

    def kill(self) -> None:
        """End the process and all that it has started."""
        if self._child:
            os.killpg(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            self._child = 0

    def _lose(self, kind: str, what: str) -> None:
        """Count the trial at work, and go on with the next."""
        which, trial = _NOW.unpack(self._at[:])
        self._read()
        stacks = self._stacks.read_text(errors="replace") if self._stacks.is_file() else ""
        attack = self.attacks[which]
        attack.trials = trial + 1
        attack.tally.add(kind, f"trial {trial} of seed {self.seed!r}: {what}\n{stacks[:2000]}")
        self._child, self._lost = 0, self._lost + 1
        if self._lost == MOST_LOST:
            raise SystemExit(f"{MOST_LOST} trials ended their process, the last one so:\n{stacks[:2000]}")
        self._start()

    def _read(self) -> None:
        """What the process has noted: nearly all that it found, if it did not come to its end."""
        if self._found.is_file():
            for attack, (tally, trials) in zip(
                self.attacks, pickle.loads(self._found.read_bytes()), strict=True
            ):
                attack.tally, attack.trials = tally, trials

    def _start(self) -> None:
        self._seen, self._since = self._at[:], time.monotonic()
        self._child = os.fork()
        if not self._child:
            self._work()
        with contextlib.suppress(OSError):  # it may have ended
            os.setpgid(self._child, self._child)  # in both, as nobody knows which of them comes first

    def _work(self) -> NoReturn:
        code = 1
        try:
            os.setpgid(0, 0)
            with self._stacks.open("w") as stacks:
                faulthandler.disable()  # or enabling would not take back what a library took over
                faulthandler.enable(stacks)
                faulthandler.register(signal.SIGUSR1, stacks)
                self._make_trials()
            code = 0
        except BaseException:
            self._stacks.write_text(traceback.format_exc())
        finally:
            os._exit(code)

    def _make_trials(self) -> None:
        noted = time.monotonic()
        for which, attack in enumerate(self.attacks):
            while not attack.is_over:
                self._at[:] = _NOW.pack(which, attack.trials)
                try:
                    attack.trial(attack.tally, f"{self.seed} {attack.name} {attack.trials}")
                except Hang as hang:
                    attack.tally.add("hang", str(hang))
                attack.trials += 1
                if time.monotonic() - noted > BEAT:
                    self._note()
                    noted = time.monotonic()
            told = f"{attack.name}: {dict(attack.tally.counts)}", *attack.tally.examples[:3]
            print(*told, sep="\n  ", file=sys.stderr, flush=True)
        self._note()

    def _note(self) -> None:
        partial = self._found.with_suffix(".part")
        partial.write_bytes(pickle.dumps([(attack.tally, attack.trials) for attack in self.attacks]))
        partial.replace(self._found)


def watch(workers: Sequence[Worker]) -> list[list[Tally]]:
    """What all workers found, once they have made their trials."""
    waiting = list(workers)
    try:
        while waiting := [worker for worker in waiting if not worker.is_done()]:
            time.sleep(LOOK)
    finally:
        for worker in waiting:
            worker.kill()
    return [[attack.tally for attack in worker.attacks] for worker in workers]
