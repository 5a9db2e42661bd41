"""`rnnlogic complete` and `falls`: the most probable missing facts, and what loses its support."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.base.budget import Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.fit import stoppable
from rnnlogic.cli.models import facts_of_file, load_model, preliminary_mark
from rnnlogic.cli.options import (
    AsJson,
    Basis,
    ChangedBasis,
    Evidence,
    EvidenceOption,
    IdsOption,
    Proposals,
    RunFolder,
    Running,
    TypesOption,
    grouped,
    print_cut,
)
from rnnlogic.cli.output import echo, print_json, print_table, print_text

if TYPE_CHECKING:
    from rnnlogic.calibrate.level import Level
    from rnnlogic.complete.complete import NewFact

SHOWN = 5  # facts that are printed


@dataclass(frozen=True)
class Wanted:
    """Which facts are written, and where."""

    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="A .tsv, .csv, .jsonl, .nt or .parquet file."),
    ]
    relation: Annotated[str | None, typer.Option(help="Only facts of this relation.")] = None
    min_probability: Annotated[float, typer.Option(help="Minimum probability.", min=0, max=1)] = 0.0
    most: Annotated[int, typer.Option(help="Maximum number of facts.", min=1)] = 1000
    types: TypesOption = None


@grouped
def complete(
    run: RunFolder,
    wanted: Wanted,
    basis: ChangedBasis,
    proposals: Proposals,
    running: Running,
    as_json: AsJson = False,
) -> None:
    """Write the most probable missing facts to a file. Each of them comes with a reason.

    The probability is the chance that the fact is true, the same that predict and explain show. Every fact
    comes with the rule that `explain` names first and one path of it. The file holds the names of the data;
    labels come in columns of their own.

    Facts that break a constraint are left out and counted: for example a second answer where each head has
    one, or a head of a type that the relation never has. `rnnlogic data constraints` lists what is found.
    """
    from rnnlogic.base.clusters import on_cluster
    from rnnlogic.calibrate.missing import parsed_missing
    from rnnlogic.complete.files import check_output, write_facts
    from rnnlogic.explain.asking import Question

    budget, output, evidence = (
        Budget.of_minutes(running.max_minutes, print_cut),
        wanted.output,
        basis.evidence,
    )
    check_output(output)
    question = Question(
        relation=wanted.relation,
        most=wanted.most,
        facts=evidence,
        min_probability=wanted.min_probability,
        allow_violations=proposals.allow_violations,
        missing=parsed_missing(proposals.missing),
        types=wanted.types,
    )
    model, started = load_model(run, basis), time.monotonic()
    with stoppable(f"{output} was not written"), on_cluster(running.cluster), StageProgress() as progress:
        facts = model.proposals(question, progress, budget)
        written = write_facts(output, facts, model.dataset.vocab.has_labels, proposals.excel_safe)
        level = model.level(question.facts, missing=question.missing)
    seconds = time.monotonic() - started
    if as_json:
        summary = _summary(output, written, evidence, seconds) | preliminary_mark(model)
        print_json(summary | {"left_out": dict(facts.left_out), "calibration": level.as_dict()})
        return
    _print(output, written, evidence, seconds, level)
    _print_left_out(facts.left_out)


def _print_left_out(left_out: Mapping[str, int]) -> None:
    number = sum(left_out.values())
    if number:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in left_out.items())
        echo()
        print_text(
            f"{number:,} facts that rules propose break constraints and were left out ({kinds});"
            " --allow-violations keeps them."
        )


def _summary(output: Path, facts: list[NewFact], evidence: Evidence, seconds: float) -> dict[str, Any]:
    return {
        "file": str(output),
        "facts": len(facts),
        "expected_true": sum(fact.probability for fact in facts),
        "evidence": evidence,
        "seconds": seconds,
    }


def _print(output: Path, facts: list[NewFact], evidence: Evidence, seconds: float, level: Level) -> None:
    from rnnlogic.calibrate.level import shown

    if facts:
        rows = [
            [shown(fact.probability), *(fact.shown(name) for name in ("head", "relation", "tail"))]
            for fact in facts[:SHOWN]
        ]
        print_table(["probability", "head", "relation", "tail"], rows)
    first = f", the first {SHOWN} above" if len(facts) > SHOWN else ""
    echo(f"{len(facts):,} facts written to {output}{first}; known facts: {evidence}, {seconds:.0f} s")
    echo()
    print_text(level.sentence())
    table = level.table()
    if table:
        print_table(list(table[0]), [list(row.values()) for row in table])


@dataclass(frozen=True)
class Gone:
    """The facts that go."""

    without: Annotated[
        Path | None, typer.Option("--without", metavar="FILE", help="Facts that go: head, relation, tail.")
    ] = None
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Facts that go: all that only this source has.")
    ] = None


@grouped
def falls(
    run: RunFolder,
    going: Gone,
    threshold: Annotated[
        float | None,
        typer.Option(help="Only what falls below this probability. Default: what loses .05.", min=0, max=1),
    ] = None,
    most: Annotated[int, typer.Option(help="Number of proposals to look at.", min=1)] = 1000,
    evidence: EvidenceOption = "all",
    ids: IdsOption = False,
    as_json: AsJson = False,
) -> None:
    """List facts that lose their support if others go.

    These are accepted facts and proposals, each with the reason that it loses. Nothing is written, and
    nothing is learned again.
    """
    from rnnlogic.calibrate.level import shown

    without, source = going.without, going.source
    if without is None and source is None:
        raise RNNLogicError("give the facts that go: --without FILE, --source NAME, or both")
    model = load_model(run, Basis(ids=ids))
    gone = [] if without is None else facts_of_file(without)
    gone += [] if source is None else model.dataset.facts_from(source)
    if not gone:
        raise RNNLogicError(f"{without or source}: there are no facts")
    with StageProgress() as progress:
        found = model.falls(gone, threshold, most, evidence, progress)
    if as_json:
        print_json([one.as_dict() for one in found])
        return
    if not found:
        echo("nothing falls")
        return
    rows = [
        [
            "accepted" if one.is_accepted else "proposed",
            one.head,
            one.relation,
            one.tail,
            shown(one.before),
            shown(one.after),
            one.reason or "",
            one.instead or "no rule",
        ]
        for one in found
    ]
    print_table(["what", "head", "relation", "tail", "before", "after", "reason before", "after"], rows)
