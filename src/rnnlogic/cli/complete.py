"""`rnnlogic complete`: the most probable missing facts, into a file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.base.budget import Budget
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.fit import stoppable
from rnnlogic.cli.models import load_model, preliminary_mark
from rnnlogic.cli.options import (
    AsJson,
    Basis,
    Changes,
    EvidenceChoice,
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
    most: Annotated[int, typer.Option("--max", help="Maximum number of facts.", min=1)] = 1000
    types: TypesOption = None


@grouped
def complete(
    run: RunFolder,
    wanted: Wanted,
    basis: Basis,
    changes: Changes,
    proposals: Proposals,
    running: Running,
    as_json: AsJson = False,
) -> None:
    """Write the most probable missing facts to a file. Each of them comes with a reason.

    The probability is the chance that the fact is true, the same that predict and explain show. Every fact
    comes with the rule that speaks most for it and one path of that rule. The file holds the names of the
    data; labels come in columns of their own.

    Facts that break a constraint are left out and counted: for example a second answer where each head has
    one, or a head of a type that the relation never has. `rnnlogic data constraints` lists what is found.
    """
    from rnnlogic.base.clusters import on_cluster
    from rnnlogic.calibrate.missing import parsed_missing
    from rnnlogic.complete.files import check_output, write_facts

    budget, lacks = Budget.of_minutes(running.max_minutes, print_cut), parsed_missing(proposals.missing)
    output, evidence = wanted.output, basis.evidence
    check_output(output)
    model, started = load_model(run, basis, changes), time.monotonic()
    with stoppable(f"{output} was not written"), on_cluster(running.cluster), StageProgress() as progress:
        facts = model.complete(
            wanted.relation,
            wanted.min_probability,
            wanted.most,
            evidence.value,
            progress,
            wanted.types,
            budget,
            proposals.allow_violations,
            lacks,
        )
        written = write_facts(output, facts, model.dataset.vocab.has_labels, proposals.excel_safe)
        level = model.level(evidence.value, missing=lacks)
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


def _summary(output: Path, facts: list[NewFact], evidence: EvidenceChoice, seconds: float) -> dict[str, Any]:
    return {
        "file": str(output),
        "facts": len(facts),
        "expected_true": sum(fact.probability for fact in facts),
        "evidence": evidence.value,
        "seconds": seconds,
    }


def _print(
    output: Path, facts: list[NewFact], evidence: EvidenceChoice, seconds: float, level: Level
) -> None:
    from rnnlogic.calibrate.level import shown

    if facts:
        rows = [
            [shown(fact.probability), *(fact.shown(name) for name in ("head", "relation", "tail"))]
            for fact in facts[:SHOWN]
        ]
        print_table(["probability", "head", "relation", "tail"], rows)
    first = f", the first {SHOWN} above" if len(facts) > SHOWN else ""
    echo(f"{len(facts):,} facts written to {output}{first}; known facts: {evidence.value}, {seconds:.0f} s")
    echo()
    print_text(level.sentence())
    table = level.table()
    if table:
        print_table(list(table[0]), [list(row.values()) for row in table])
