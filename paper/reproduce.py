"""Run the work of some targets, several experiments at a time, each in its own process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from paper.experiment import Bench
from paper.pool import Show, Task, run_tasks
from paper.work import Work, with_needed
from rnnlogic.base.executor import THREADS_VARIABLE, default_threads

LOGS = "logs"  # below the folder of the runs
CLONE = Path(__file__).resolve().parents[1]  # not installed: processes are told where it is


def tasks_of(works: Sequence[Work], bench: Bench, jobs: int) -> list[Task]:
    """A task for each piece of work; those that run at the same time share the cores."""
    threads = str(max(1, default_threads() // jobs))
    environment = {THREADS_VARIABLE: threads, "OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CLONE), os.environ.get("PYTHONPATH")]))
    return [
        Task(
            work.name,
            [sys.executable, "-m", "paper.one", work.name, *arguments(bench)],
            bench.out / LOGS / f"{work.name.replace('/', '.')}.log",
            lambda work=work: work.is_done(bench),  # type: ignore[misc]
            tuple(needed.name for needed in work.needs(bench)),
            environment,
        )
        for work in works
    ]


def arguments(bench: Bench) -> list[str]:
    """The bench as command line arguments."""
    given = ["--data", str(bench.data), "--out", str(bench.out)]
    given += ["--small"] * bench.is_small
    return given + (["--anyburl", str(bench.anyburl)] if bench.anyburl else [])


def reproduce(
    asked: Sequence[Work], bench: Bench, jobs: int, again: bool = False, show: Show = lambda _: None
) -> list[Task]:
    """Do the work that is asked for and all that it needs, unless it is done; the tasks say how it went.

    With `again`, work that is asked for is done even if it is finished.
    """
    works = with_needed(asked, bench)
    for dataset in dict.fromkeys(work.dataset for work in works):
        bench.require(dataset)
    for work in asked if again else ():
        work.forget(bench)
    tasks = tasks_of(works, bench, jobs)
    run_tasks(tasks, jobs, show)
    return tasks


def page_path(bench: Bench, wanted: Path | None) -> Path:
    """Where the report goes: by default below the run folders."""
    return wanted or bench.out / "report" / "results.md"
