"""Run many commands side by side, each as a process with its own log; a failure does not stop the others."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from rnnlogic.base.lock import inherited_lock

POLL = 0.2  # seconds between two looks at the processes
PATIENCE = 20.0  # seconds for a process to exit after Ctrl-C


class State(StrEnum):
    """The state of a task."""

    waiting = "waiting"
    running = "running"
    done = "done"
    failed = "failed"
    skipped = "skipped"


@dataclass
class Task:
    """A command that writes files; it starts when the tasks that it needs are done."""

    name: str
    command: list[str]
    log: Path
    is_done: Callable[[], bool]  # looks for the files, so that finished work is not repeated
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # added to our own
    state: State = State.waiting
    seconds: float = 0.0
    reason: str = ""  # why it failed or was skipped

    def last_line(self) -> str:
        """The last line of its log."""
        if not self.log.is_file():
            return ""
        lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


Show = Callable[[Sequence[Task]], None]


@dataclass
class _Running:
    task: Task
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)


def run_tasks(tasks: Sequence[Task], jobs: int, show: Show = lambda _: None) -> None:
    """Run all tasks in order, at most `jobs` at a time; the tasks keep their states and times.

    Ctrl-C is passed on to the processes, which get time to save their work, and is then raised.
    """
    by_name = {task.name: task for task in tasks}
    for task in tasks:
        if task.is_done():
            task.state = State.done
    running: list[_Running] = []
    show(tasks)
    try:
        while running or any(task.state is State.waiting for task in tasks):
            running = [entry for entry in running if not _ended(entry)]
            for task in tasks:
                _start_or_skip(task, by_name, running, jobs)
            show(tasks)
            time.sleep(POLL if running or any(task.state is State.waiting for task in tasks) else 0)
    finally:
        _stop(running)


def _start_or_skip(task: Task, by_name: dict[str, Task], running: list[_Running], jobs: int) -> None:
    if task.state is not State.waiting:
        return
    needed = [by_name[name] for name in task.needs]
    broken = [other.name for other in needed if other.state in (State.failed, State.skipped)]
    if broken:
        task.state, task.reason = State.skipped, f"needs {broken[0]}"
    elif len(running) < jobs and all(other.state is State.done for other in needed):
        try:
            running += _start(task)
        except OSError as problem:
            task.state, task.reason = State.failed, str(problem)


def _start(task: Task) -> list[_Running]:
    """Start the process, unless one of an earlier session is still at this work: then wait for that one."""
    lock = inherited_lock(task.log.with_suffix(".lock"))
    if lock is None:
        return []
    try:
        if task.is_done():  # by that one, in the meantime
            task.state = State.done
            return []
        with task.log.open("wb") as log:
            # In its own session the process gets Ctrl-C from us only, and only once.
            process = subprocess.Popen(
                task.command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | dict(task.environment),
                start_new_session=True,
                pass_fds=[lock],
            )
    finally:
        os.close(lock)
    task.state = State.running
    return [_Running(task, process)]


def _ended(entry: _Running) -> bool:
    task, code = entry.task, entry.process.poll()
    task.seconds = time.monotonic() - entry.started
    if code is None:
        return False
    if code == 0 and task.is_done():
        task.state = State.done
    else:
        task.state, task.reason = State.failed, f"exit code {code}, see {task.log}: {task.last_line()}"
    return True


def _stop(running: Sequence[_Running]) -> None:
    for entry in running:
        if entry.process.poll() is None:
            entry.process.send_signal(signal.SIGINT)
    for entry in running:
        try:
            entry.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            entry.process.kill()
            entry.process.wait()
