"""`rnnlogic compare`: two runs on the same facts, with confidence intervals and results per relation."""

from __future__ import annotations

from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.cli.evaluate import SplitChoice
from rnnlogic.cli.options import AsJson, EvidenceChoice, EvidenceOption
from rnnlogic.cli.output import echo, print_json, print_table
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.evaluation.compare import Comparison

METRIC_HEADERS = ("metric", "A", "B", "A - B", "from", "to", "p")
RELATION_HEADERS = ("relation", "queries", "MRR A", "MRR B", "A - B", "A wins", "B wins")


def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of a run, embedding or baseline.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder to compare it with.")],
    split: Annotated[SplitChoice, typer.Option(help="Facts to rank.")] = SplitChoice.test,
    evidence: EvidenceOption = EvidenceChoice.train,
    samples: Annotated[int, typer.Option(help="Number of bootstrap samples.", min=1)] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Is RUN_A really better than RUN_B, or by chance? A paired bootstrap over facts."""
    from rnnlogic.runs.compare import compare_runs

    with StageProgress() as progress:
        result = compare_runs(
            run_a,
            run_b,
            split.value,
            evidence.value,
            samples,
            seed,
            partial(progress, f"evaluate {split.value}"),
        )
    if as_json:
        print_json({"a": str(run_a), "b": str(run_b), **result.as_dict()})
    else:
        _print_comparison(result, run_a, run_b)


def _print_comparison(result: Comparison, run_a: Path, run_b: Path) -> None:
    echo(f"A: {run_a}\nB: {run_b}")
    echo(
        f"{result.dataset}, {result.split} facts, evidence {result.evidence}: {result.queries:,} queries,"
        f" {result.facts:,} facts, {result.samples:,} bootstrap samples, 95 % intervals"
    )
    print_table(METRIC_HEADERS, [_rounded(astuple(row)) for row in result.metrics])
    echo(f"queries: A wins {result.wins:,}, ties {result.ties:,}, B wins {result.losses:,}\n")
    print_table(RELATION_HEADERS, [_rounded(astuple(row)) for row in result.relations])


def _rounded(values: tuple[Any, ...]) -> list[Any]:
    return [round(value, 4) + 0.0 if isinstance(value, float) else value for value in values]  # no -0
