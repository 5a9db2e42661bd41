"""The command line: `python -m paper` for tables and figures, `python -m paper.one` for one experiment."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.options import AsJson, ClusterOption
from rnnlogic.cli.output import echo, print_json, print_table
from rnnlogic.cli.safety import open_streams, polite

if TYPE_CHECKING:
    from paper.experiment import Bench
    from paper.pool import Task
    from paper.work import Work

TARGETS_HELP = """Tables and figures (table1 table2 table3 table4 rules facts dimension case ablation), or
rows DATASET/SETTING such as umls/plus-emb or kinship/drum. Default: all tables and figures."""
DataOption = Annotated[
    Path,
    typer.Option(
        "--data",
        envvar="RNNLOGIC_DATA",
        help="Folder with the authors' splits in kinship/, umls/, wn18rr/ and fb15k-237/.",
        exists=True,
        file_okay=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for runs and logs. Default: runs/experiments, or runs/small with --small."
    ),
]
SmallOption = Annotated[
    bool,
    typer.Option("--small", help="Only Kinship and UMLS, with one seed and cheaper settings."),
]
AnyBURLOption = Annotated[
    Path | None,
    typer.Option(
        "--anyburl",
        metavar="FILE",
        help="Rule file that AnyBURL wrote; for DATASET/anyburl and DATASET/anyburl-noisy-or.",
        exists=True,
        dir_okay=False,
    ),
]


def reproduce(
    data: DataOption,
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET", help=TARGETS_HELP)] = None,
    out: OutOption = None,
    small: SmallOption = False,
    seeds: Annotated[
        int | None,
        typer.Option(help="Number of seeds per row. Default: as in the experiment file.", min=1),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Experiments to run at a time. Default: one per core.", min=1)
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Repeat the targets even if finished.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what would be run.")] = False,
    report_only: Annotated[bool, typer.Option("--report-only", help="Only write the report.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="File of the report. Default: report/results.md below --out.", show_default=False),
    ] = None,
    anyburl: AnyBURLOption = None,
    cluster: ClusterOption = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and baselines. Writes a report.

    Finished experiments are not run again and interrupted ones resume. A failed experiment does not stop the
    others; failures are listed at the end.
    """
    from paper.reproduce import page_path
    from paper.reproduce import reproduce as run
    from paper.targets import works_of
    from paper.work import with_needed
    from rnnlogic.base.clusters import CLUSTER_VARIABLE
    from rnnlogic.base.executor import default_threads

    bench = _bench(data, out, small, anyburl)
    asked = works_of(targets or [], bench, seeds)
    if plan:
        _print_plan(with_needed(asked, bench), bench, as_json)
        return
    tasks: list[Task] = []
    if not report_only:
        signal.signal(signal.SIGTERM, _interrupt)
        os.environ.update({} if cluster is None else {CLUSTER_VARIABLE: cluster})  # for its processes
        with _View(as_json) as view:
            tasks = run(asked, bench, jobs or default_threads(), again, view.show)
    path = page_path(bench, report)
    from paper.report import write_page

    write_page(bench, path)
    _print_outcome(tasks, path, as_json)


def reproduce_one(
    work: Annotated[str, typer.Argument(metavar="WORK", help="DATASET/SETTING/SEED[/STUDY]")],
    data: DataOption,
    out: OutOption = None,
    small: SmallOption = False,
    anyburl: AnyBURLOption = None,
) -> None:
    """Run one experiment in this process."""
    from paper.work import Work

    with StageProgress() as progress:
        Work.parse(work).perform(_bench(data, out, small, anyburl), progress)


def _interrupt(*_: object) -> None:
    """Treat `kill` like Ctrl-C, so that the processes are stopped too."""
    raise KeyboardInterrupt


def _bench(data: Path, out: Path | None, small: bool, anyburl: Path | None) -> Bench:
    from paper.experiment import Bench

    return Bench(data, out or Path("runs") / ("small" if small else "experiments"), small, anyburl)


def _print_plan(works: Sequence[Work], bench: Bench, as_json: bool) -> None:
    rows = [(work.name, "done" if work.is_done(bench) else "to do") for work in works]
    if as_json:
        print_json([{"work": name, "state": state} for name, state in rows])
    else:
        print_table(("work", "state"), rows)
        echo(f"{sum(state == 'done' for _, state in rows)} of {len(rows)} done")


def _print_outcome(tasks: Sequence[Task], path: Path, as_json: bool) -> None:
    broken = [task for task in tasks if task.reason]
    if as_json:
        rows = [
            {"work": t.name, "state": t.state.value, "seconds": round(t.seconds, 1), "reason": t.reason}
            for t in tasks
        ]
        print_json({"report": str(path), "work": rows})
    else:
        if broken:
            print_table(("not done", "why"), [(task.name, task.reason) for task in broken])
        echo(f"wrote {path}")
    if broken:
        raise typer.Exit(1)


def main(command: Callable[..., None]) -> None:
    """Run one of the commands above as a program: a user's mistake prints one line and exits with code 2."""
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None)
    app.command()(command)
    open_streams()
    with polite():
        app()


class _View:
    """Progress of all experiments: a line when one starts or ends; on a terminal also those that run."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._states = quiet, dict[str, str]()
        self._began, self._live = time.monotonic(), sys.stderr.isatty() and not quiet

    def __enter__(self) -> _View:
        if self._live:
            from rich.console import Console
            from rich.live import Live

            self._screen = Live(console=Console(stderr=True), refresh_per_second=2, transient=True)
            self._screen.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._screen.stop()

    def show(self, tasks: Sequence[Task]) -> None:
        """Print what changed."""
        if self._quiet:
            return
        if not self._states:
            self._states = {task.name: task.state.value for task in tasks}
            done = sum(state == "done" for state in self._states.values())
            self._say(f"{len(tasks)} experiments, {done} already done")
        for task in tasks:
            if task.state.value != self._states[task.name]:
                self._states[task.name] = task.state.value
                self._say(f"{_summary(tasks)}  {_outcome(task)}")
        if self._live:
            from rich.text import Text

            running = [task for task in tasks if task.state == "running"]
            lines = [f"  {task.name}  {task.seconds:.0f} s  {task.last_line()}" for task in running]
            # Text, because the brackets of the summary are not markup.
            text = Text("\n".join([f"{_summary(tasks)}{self._left(tasks)}", *lines]))
            self._screen.update(text, refresh=True)

    def _say(self, line: str) -> None:
        if self._live:
            self._screen.console.print(line, highlight=False, markup=False)
        else:
            echo(line, err=True)

    def _left(self, tasks: Sequence[Task]) -> str:
        """The time left, if the remaining experiments take as long as the finished ones."""
        ended = [task.seconds for task in tasks if task.state in ("done", "failed") and task.seconds]
        waiting = sum(task.state in ("waiting", "running") for task in tasks)
        if not ended:
            return ""
        rate = (time.monotonic() - self._began) / len(ended)
        return f", about {rate * waiting / 60:.0f} minutes left"


def _summary(tasks: Sequence[Task]) -> str:
    return f"[{sum(task.state in ('done', 'failed', 'skipped') for task in tasks)}/{len(tasks)}]"


def _outcome(task: Task) -> str:
    if task.state == "running":
        return f"{task.name}: started"
    if task.state == "done":
        return f"{task.name}: done, {task.seconds / 60:.1f} minutes"
    return f"{task.name}: {task.state.value}, {task.reason}"
