"""`rnnlogic embed`: train embeddings into a folder; a stopped training resumes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.base.budget import Budget
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.fit import stoppable
from rnnlogic.cli.options import (
    AsJson,
    DataArgument,
    MaxMinutes,
    Reading,
    SetOption,
    ThreadsOption,
    given,
    grouped,
    load_named,
    print_cut,
    print_notes,
)
from rnnlogic.cli.output import echo, print_json, print_pairs, print_table, print_text

if TYPE_CHECKING:
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.embeddings.base import Embedding
    from rnnlogic.embeddings.settings import TrainingSettings

SHOWN = ("dataset", "model", "dim", "margin", "steps", "minutes")  # of about.json


TOLD_APART = ("planned_steps", "ran_out_of_time")  # by a sentence, if time ran out


@dataclass(frozen=True)
class Training:
    """How embeddings are trained."""

    model: Annotated[str, typer.Option(metavar="NAME", help="rotate or complex; see docs.")] = "rotate"
    dim: Annotated[int | None, typer.Option(help="Complex dimensions.", min=1)] = None
    changes: SetOption = None
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.", min=0)] = None
    threads: ThreadsOption = None
    device: Annotated[str, typer.Option(help="For ComplEx: a torch device such as cuda.")] = "cpu"
    max_minutes: MaxMinutes = None
    restart: Annotated[
        bool, typer.Option("--restart", help="Discard the contents of EMB and start over.")
    ] = False


@grouped
def embed(
    name: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="EMB", help="Folder to write.")],
    training: Training,
    reading: Reading,
    test: Annotated[bool, typer.Option("--test", help="Also evaluate the test set.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train embeddings: RotatE or ComplEx.

    Run the same command again to resume a training that was stopped.
    """
    from rnnlogic.embeddings.files import is_finished

    budget = Budget.of_minutes(training.max_minutes, print_cut)
    dataset = load_named(name, reading)
    print_notes(dataset, err=True)
    settings = _settings(training)
    was_finished = is_finished(output) and not training.restart
    with stoppable("run the same command again to resume"), StageProgress() as progress:
        embedding = _fit(dataset, settings, output, progress, training, budget.minutes)
        reports = _evaluate(embedding, dataset, ["valid", "test"] if test else ["valid"], progress, budget)
    summary = _summary(output)
    if as_json:
        print_json(summary | reports | {"was_finished": was_finished})
    else:
        _print_summary(summary, reports, was_finished)


def _settings(training: Training) -> TrainingSettings:
    from rnnlogic.embeddings.settings import default_settings, override

    direct = {"dim": training.dim, "seed": training.seed}
    return override(default_settings(training.model), [*(training.changes or []), *given(direct)])


def _fit(
    dataset: Dataset,
    settings: TrainingSettings,
    folder: Path,
    progress: StageProgress,
    training: Training,
    max_minutes: float | None,
) -> Embedding:
    from rnnlogic.embeddings.fit import CHECKPOINT, fit

    threads, restart = training.threads, training.restart
    if (folder / CHECKPOINT).is_file() and not restart:
        echo(f"resuming the training in {folder}", err=True)
    return fit(dataset, settings, folder, progress, threads, max_minutes, restart, training.device)


def _evaluate(
    embedding: Embedding, dataset: Dataset, splits: list[Any], progress: StageProgress, budget: Budget
) -> dict[str, dict[str, float] | None]:
    """Metrics of each split in both directions; None for a split without facts."""
    from rnnlogic.evaluation.evaluate import evaluate

    reports: dict[str, dict[str, float] | None] = {}
    for i, split in enumerate(splits):
        stage, reports[split] = f"evaluate {split}", None
        if len(dataset.facts(split)):
            report = evaluate(
                embedding,
                dataset,
                split,
                progress=partial(progress, stage),
                budget=budget.share(1 / (len(splits) - i)),
            )
            reports[split] = report.as_dict()["both"]["expected"]
    return reports


def _summary(folder: Path) -> dict[str, Any]:
    from rnnlogic.embeddings.files import checksum, read_about

    about = read_about(folder)
    return {
        "embedding": str(folder),
        **{key: about[key] for key in SHOWN if key in about},
        "sha256": checksum(folder),
        "planned_steps": about.get("planned_steps", about["steps"]),
        "ran_out_of_time": about.get("ran_out_of_time", False),
    }


def _print_summary(
    summary: dict[str, Any], reports: dict[str, dict[str, float] | None], was_finished: bool
) -> None:
    if was_finished:
        echo(f"{summary['embedding']} is already finished; nothing was changed (--restart trains again)")
    print_pairs([(name, value) for name, value in summary.items() if name not in TOLD_APART])
    measured = {split: metrics for split, metrics in reports.items() if metrics is not None}
    if measured:
        echo()
        names = list(next(iter(measured.values())))
        print_table(["split", *names], [[split, *metrics.values()] for split, metrics in measured.items()])
    if summary["ran_out_of_time"]:
        echo()
        print_text(
            f"Time ran out: training stopped after {summary['steps']:,} of {summary['planned_steps']:,}"
            " steps, and the best embedding so far was kept. Train again with --restart and a larger"
            " --max-minutes for more."
        )
