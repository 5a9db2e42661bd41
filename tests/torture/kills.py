"""Real kills: a forked process gets SIGKILL at a random moment; the work goes on to the same end."""

import os
import shutil
import signal
import time
from pathlib import Path
from random import Random

from rnnlogic.base.errors import RNNLogicError
from tests.torture.outcome import Tally
from tests.torture.runs import Subject, fit, said_by

LONGEST = 120.0  # seconds for one trial


def kills(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Kill a fit, or a verb that writes into a run, up to three times; then finish it undisturbed."""
    subject = random.choice(subjects)
    run = scratch / "killed"
    shutil.rmtree(run, ignore_errors=True)
    example = subject.variant
    for _ in range(random.randint(1, 3)):
        if not _survives(lambda: _work(run, subject, scratch), random.uniform(0.0, 3.0)):
            example += " killed"
    problem = _child(lambda: fit(run, subject.variant, subject.folder.parent / "emb"))
    if problem is not None:
        tally.add("lost", f"{example}: exit {problem}")
        return
    same = (run / "model.safetensors").read_bytes() == (subject.folder / "model.safetensors").read_bytes()
    said = said_by("predict", run, scratch)[1] == subject.said["predict"]
    lines = (run / "metrics.jsonl").read_text().splitlines()
    once = len(lines) == len((subject.folder / "metrics.jsonl").read_text().splitlines())
    tally.add("clear" if same and said and once else "silent wrong", f"{example}: {same} {said} {once}")


def _work(run: Path, subject: Subject, scratch: Path) -> None:
    fit(run, subject.variant, subject.folder.parent / "emb")
    said_by("evaluate", run, scratch)


def _survives(work, seconds: float) -> bool:
    """Whether the work is done before the kill comes."""
    child = _fork(work)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, _ = os.waitpid(child, os.WNOHANG)
        if done:
            return True
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _child(work) -> int | None:
    """Do work in another process; None if it went well, else how it ended."""
    child, until = _fork(work), time.monotonic() + LONGEST
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code == 0 else code
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM


def _fork(work) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except RNNLogicError as problem:
        print(problem, flush=True)
        code = 2
    finally:
        os._exit(code)
