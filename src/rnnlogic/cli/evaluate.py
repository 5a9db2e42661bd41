"""`rnnlogic evaluate`: rank the answers of a split, as table or JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.cli.options import AsJson, EvidenceChoice, EvidenceOption, RunFolder
from rnnlogic.cli.output import print_json, print_table
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.evaluation.report import Report


class SplitChoice(StrEnum):
    """Facts that are asked for."""

    valid = "valid"
    test = "test"


class SidesChoice(StrEnum):
    """Which end of a fact is asked for."""

    both = "both"
    tail = "tail"
    head = "head"


def evaluate(
    run: RunFolder,
    split: Annotated[SplitChoice, typer.Option(help="Facts that are asked for.")] = SplitChoice.test,
    evidence: EvidenceOption = EvidenceChoice.train,
    sides: Annotated[SidesChoice, typer.Option(help="Ask for tails, for heads, or both.")] = SidesChoice.both,
    relations: Annotated[bool, typer.Option("--relations", help="Also by relation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rank the answers of a split; the report is kept in the run folder too."""
    from rnnlogic.learning.runs import Run
    from rnnlogic.model import RNNLogic

    model = RNNLogic.load(run)
    with StageProgress() as progress:
        stage = f"evaluate {split.value}"
        report = model.evaluate(
            split.value, evidence.value, sides.value, lambda *done: progress.evaluation(stage, *done)
        )
    Run.open(run).save_report(_report_name(split, evidence, sides), report.as_dict())
    if as_json:
        print_json(report.as_dict(relations))
        return
    print_report(report)
    if relations:
        typer.echo()
        _print_relations(report)


def print_report(report: Report) -> None:
    """Print the metrics by side and by tie rule."""
    typer.echo(
        f"{report.dataset}, {report.split} facts, evidence {report.evidence}: "
        f"{report.queries:,} queries in {report.seconds:.1f} s"
    )
    rows = report.table()
    print_table(list(rows[0]), [[_rounded(value) for value in row.values()] for row in rows])


def _print_relations(report: Report) -> None:
    side = report.sides[0]
    relations = sorted(report.by_relation().items(), key=lambda item: -item[1]["queries"])
    rows = [
        [name, values["queries"], *(_rounded(value) for value in values[side].values())]
        for name, values in relations
    ]
    print_table(["relation", "queries", *relations[0][1][side]], rows, f"By relation, {side}")


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def _report_name(split: SplitChoice, evidence: EvidenceChoice, sides: SidesChoice) -> str:
    """`test`, with what differs from the usual settings, such as `test-train+valid-tail`."""
    usual = (EvidenceChoice.train, SidesChoice.both)
    return "-".join([split.value, *(part.value for part in (evidence, sides) if part not in usual)])
