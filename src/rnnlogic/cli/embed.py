"""`rnnlogic embed`: train RotatE embeddings into a folder; a stopped training resumes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.cli.fit import stoppable
from rnnlogic.cli.options import (
    AsJson,
    ColumnsOption,
    LabelsOption,
    QueryOption,
    SepOption,
    load_named,
    print_notes,
)
from rnnlogic.cli.output import echo, print_json, print_pairs, print_table
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.embeddings.rotate import RotatE
    from rnnlogic.embeddings.settings import RotatESettings
    from rnnlogic.embeddings.train import MakeStepper


def embed(
    name: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset name, folder or file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="EMB", help="Folder to write.")],
    dim: Annotated[int | None, typer.Option(help="Complex dimensions.", min=1)] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; repeatable.")
    ] = None,
    columns: ColumnsOption = None,
    sep: SepOption = None,
    labels: LabelsOption = None,
    query: QueryOption = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.", min=0)] = None,
    threads: Annotated[int | None, typer.Option(help="Threads (default: all cores).", min=1)] = None,
    max_minutes: Annotated[
        float | None,
        typer.Option(help="Stop training after so many minutes and keep the best embedding so far.", min=0),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or a torch device such as cuda.")] = "cpu",
    test: Annotated[bool, typer.Option("--test", help="Also evaluate the test set.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Discard the contents of EMB and start over.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train RotatE embeddings of a knowledge graph.

    Run the same command again to resume a training that was stopped.
    """
    from rnnlogic.embeddings.files import is_finished

    dataset = load_named(name, columns, sep, labels, query)
    print_notes(dataset, err=True)
    settings = _settings(dataset, dim, changes or [], seed)
    was_finished = is_finished(output) and not restart
    with stoppable("run the same command again to resume"), StageProgress() as progress:
        embedding = _fit(dataset, settings, output, progress, threads, max_minutes, restart, device)
        reports = _evaluate(embedding, dataset, ["valid", "test"] if test else ["valid"], progress)
    summary = _summary(output)
    if as_json:
        print_json(summary | reports | {"was_finished": was_finished})
    else:
        _print_summary(summary, reports, was_finished)


def _settings(dataset: Dataset, dim: int | None, changes: list[str], seed: int | None) -> RotatESettings:
    from rnnlogic.embeddings.settings import override, settings_for

    direct = {"dim": dim, "seed": seed}
    wanted = [*changes, *(f"{key}={value}" for key, value in direct.items() if value is not None)]
    return override(settings_for(dataset), wanted)


def _fit(
    dataset: Dataset,
    settings: RotatESettings,
    folder: Path,
    progress: StageProgress,
    threads: int | None,
    max_minutes: float | None,
    restart: bool,
    device: str,
) -> RotatE:
    from rnnlogic.embeddings.checkpoints import CHECKPOINT
    from rnnlogic.embeddings.fit import fit

    if (folder / CHECKPOINT).is_file() and not restart:
        echo(f"resuming the training in {folder}", err=True)
    return fit(dataset, settings, folder, progress, threads, max_minutes, restart, _stepper_on(device))


def _stepper_on(device: str) -> MakeStepper | None:
    """None on the CPU, which has kernels of its own."""
    if device == "cpu":
        return None
    from rnnlogic.embeddings.rotate_torch import TorchStepper

    return lambda parameters, sampler: TorchStepper(parameters, sampler, device)


def _evaluate(
    embedding: RotatE, dataset: Dataset, splits: list[Any], progress: StageProgress
) -> dict[str, dict[str, float] | None]:
    """Metrics of each split in both directions; None for a split without facts."""
    from rnnlogic.evaluation.evaluate import evaluate

    reports: dict[str, dict[str, float] | None] = {}
    for split in splits:
        stage, reports[split] = f"evaluate {split}", None
        if len(dataset.facts(split)):
            report = evaluate(
                embedding,
                dataset,
                split,
                progress=partial(progress, stage),
            )
            reports[split] = report.as_dict()["both"]["expected"]
    return reports


def _summary(folder: Path) -> dict[str, Any]:
    from rnnlogic.embeddings.files import checksum, read_about

    about = read_about(folder)
    return {
        "embedding": str(folder),
        **{key: about[key] for key in ("dataset", "model", "dim", "margin", "steps", "minutes")},
        "sha256": checksum(folder),
    }


def _print_summary(
    summary: dict[str, Any], reports: dict[str, dict[str, float] | None], was_finished: bool
) -> None:
    if was_finished:
        echo(f"{summary['embedding']} is already finished; nothing was changed (--restart trains again)")
    print_pairs(list(summary.items()))
    measured = {split: metrics for split, metrics in reports.items() if metrics is not None}
    if measured:
        echo()
        names = list(next(iter(measured.values())))
        print_table(["split", *names], [[split, *metrics.values()] for split, metrics in measured.items()])
