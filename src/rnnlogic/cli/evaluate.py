"""`rnnlogic evaluate`: rank the answers of a split; prints a table or JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rnnlogic.base.budget import Budget
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.models import load_model, preliminary_mark
from rnnlogic.cli.options import (
    AllowOption,
    AsJson,
    Basis,
    Evidence,
    RunFolder,
    Running,
    grouped,
)
from rnnlogic.cli.output import echo, print_json, print_note, print_table

if TYPE_CHECKING:
    from rnnlogic.data.vocab import Vocab
    from rnnlogic.evaluation.report import Report


Split = Literal["valid", "test"]
BY_TRAIN = Basis(evidence="train")


@dataclass(frozen=True)
class Ranking:
    """What is ranked among what."""

    split: Annotated[Split, typer.Option(help="Facts to predict.")] = "test"
    sides: Annotated[Literal["both", "tail", "head"], typer.Option(help="Predict tails, heads, or both.")] = (
        "both"
    )
    negatives: Annotated[
        int | None,
        typer.Option(
            help="Rank each answer among this many sampled entities, as usual for new graphs.", min=1
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of that sample.", min=0)] = 0


@grouped
def evaluate(
    run: RunFolder,
    ranking: Ranking,
    running: Running,
    basis: Basis = BY_TRAIN,
    relations: Annotated[bool, typer.Option("--relations", help="Also print metrics by relation.")] = False,
    allow_violations: AllowOption = False,
    as_json: AsJson = False,
) -> None:
    """Rank the answers of a split. The report of a finished fit is kept in the run folder too.

    With --graph the rules are applied to another graph, which may have other entities: its training facts are
    known, its test facts are predicted. Relations are matched by name.
    """
    from rnnlogic.base.clusters import on_cluster
    from rnnlogic.runs.files import RunError
    from rnnlogic.runs.folder import Run

    budget, split = Budget.of_minutes(running.max_minutes), ranking.split
    model = load_model(run, basis)
    with on_cluster(running.cluster), StageProgress() as progress:
        report = model.evaluate(
            split,
            basis.evidence,
            ranking.sides,
            partial(progress, f"evaluate {split}"),
            ranking.negatives,
            ranking.seed,
            budget.minutes,
            allow_violations,
        )
    transfer = {} if model.transfer is None else {"transfer": model.transfer.as_dict()}
    name = _report_name(ranking, basis.evidence, basis.graph and model.dataset.name)
    name += "-violations" if allow_violations else ""
    if as_json:
        more = transfer | preliminary_mark(model) | (_labels(model.dataset.vocab) if relations else {})
        print_json(report.as_dict(relations) | more)
    else:
        print_report(report)
    if relations and not as_json:
        echo()
        _print_relations(report, model.dataset.vocab)
    if model.preliminary:
        return
    try:
        name += "-sample" if report.is_sample else ""
        Run.open(run).save_report(name, report.as_dict() | transfer)
    except RunError as problem:
        print_note(f"the report could not be kept: {problem}")


def _labels(vocab: Vocab) -> dict[str, Any]:
    labels = vocab.labels_of([], range(vocab.num_relations))
    return {"labels": labels} if any(labels.values()) else {}


def print_report(report: Report) -> None:
    """Print the metrics by side and by tie rule."""
    echo(
        f"{report.dataset}, {report.split} facts, known facts {report.evidence}: "
        f"{report.queries:,} queries in {report.seconds:.1f} s"
    )
    echo(f"each {report.protocol}")
    if report.budget:
        echo(report.budget)
    rows = report.table()
    print_table(list(rows[0]), [[_rounded(value) for value in row.values()] for row in rows])


def _print_relations(report: Report, vocab: Vocab) -> None:
    side = report.sides[0]
    relations = sorted(report.by_relation().items(), key=lambda item: -item[1]["queries"])
    names = [vocab.relation_label(vocab.relations.index(name)) for name, _ in relations]
    rows = [
        [name, values["queries"], *(_rounded(value) for value in values[side].values())]
        for name, (_, values) in zip(names, relations, strict=True)
    ]
    print_table(["relation", "queries", *relations[0][1][side]], rows, f"By relation, {side}")


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def _report_name(ranking: Ranking, evidence: Evidence, graph: str | None) -> str:
    """The split and whatever differs from the defaults, such as `test-train+valid-tail`."""
    usual, negatives = ("train", "both"), ranking.negatives
    parts: list[str] = [ranking.split, *(one for one in (evidence, ranking.sides) if one not in usual)]
    parts += [f"on-{graph}"] if graph else []
    parts += [f"{negatives}-negatives"] if negatives else []
    return "-".join(parts)
