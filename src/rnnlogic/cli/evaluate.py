"""`rnnlogic evaluate`: rank the answers of a split; prints a table or JSON."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import AsJson, EvidenceChoice, EvidenceOption, GraphOption, RunFolder
from rnnlogic.cli.output import echo, print_json, print_table
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.evaluation.report import Report


class SplitChoice(StrEnum):
    """The facts to predict."""

    valid = "valid"
    test = "test"


class SidesChoice(StrEnum):
    """Which end of a fact to predict."""

    both = "both"
    tail = "tail"
    head = "head"


def evaluate(
    run: RunFolder,
    split: Annotated[SplitChoice, typer.Option(help="Facts to predict.")] = SplitChoice.test,
    evidence: EvidenceOption = EvidenceChoice.train,
    sides: Annotated[SidesChoice, typer.Option(help="Predict tails, heads, or both.")] = SidesChoice.both,
    graph: GraphOption = None,
    negatives: Annotated[
        int | None,
        typer.Option(
            help="Rank each answer among this many sampled entities, as usual for new graphs.", min=1
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of that sample.", min=0)] = 0,
    relations: Annotated[bool, typer.Option("--relations", help="Also print metrics by relation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rank the answers of a split; the report is kept in the run folder too.

    With --graph the rules are applied to another graph, which may have other entities: its training facts are
    the evidence, its test facts are predicted. Relations are matched by name.
    """
    from rnnlogic.runs.files import RunError
    from rnnlogic.runs.folder import Run

    model = load_model(run, graph)
    with StageProgress() as progress:
        stage = f"evaluate {split.value}"
        report = model.evaluate(
            split.value,
            evidence.value,
            sides.value,
            partial(progress, stage),
            negatives,
            seed,
        )
    transfer = {} if model.transfer is None else {"transfer": model.transfer.as_dict()}
    name = _report_name(split, evidence, sides, graph and model.dataset.name, negatives)
    if as_json:
        print_json(report.as_dict(relations) | transfer)
    else:
        print_report(report)
    if relations and not as_json:
        echo()
        _print_relations(report)
    try:
        Run.open(run).save_report(name, report.as_dict() | transfer)
    except RunError as problem:
        echo(f"note: the report could not be kept: {problem}", err=True)


def print_report(report: Report) -> None:
    """Print the metrics by side and by tie rule."""
    echo(
        f"{report.dataset}, {report.split} facts, evidence {report.evidence}: "
        f"{report.queries:,} queries in {report.seconds:.1f} s"
    )
    echo(f"each {report.protocol}")
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


def _report_name(
    split: SplitChoice, evidence: EvidenceChoice, sides: SidesChoice, graph: str | None, negatives: int | None
) -> str:
    """The split and whatever differs from the defaults, such as `test-train+valid-tail`."""
    usual = (EvidenceChoice.train, SidesChoice.both)
    parts = [split.value, *(part.value for part in (evidence, sides) if part not in usual)]
    parts += [f"on-{graph}"] if graph else []
    parts += [f"{negatives}-negatives"] if negatives else []
    return "-".join(parts)
