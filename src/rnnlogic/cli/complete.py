"""`rnnlogic complete`: the most probable missing facts, into a file."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.cli.fit import stoppable
from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import AsJson, EvidenceChoice, EvidenceOption, ExcelSafe, GraphOption, RunFolder
from rnnlogic.cli.output import echo, print_json, print_table
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.answering.calibration.level import Level
    from rnnlogic.answering.completion.complete import NewFact

SHOWN = 5  # facts that are printed


def complete(
    run: RunFolder,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="A .tsv, .csv, .jsonl, .nt or .parquet file."),
    ],
    relation: Annotated[str | None, typer.Option(help="Only facts of this relation.")] = None,
    min_probability: Annotated[
        float, typer.Option(help="Only facts that are at least so probable.", min=0, max=1)
    ] = 0.0,
    most: Annotated[int, typer.Option("--max", help="At most so many facts.", min=1)] = 1000,
    evidence: EvidenceOption = EvidenceChoice.everything,
    graph: GraphOption = None,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
) -> None:
    """Complete a graph: write the most probable facts that it does not hold, each with a reason.

    The probability is the chance that the fact is true, the same that predict and explain show. Every fact
    comes with the rule that speaks most for it and one path of that rule.
    """
    from rnnlogic.answering.completion.files import check_output, write_facts

    check_output(output)
    model, started = load_model(run, graph), time.monotonic()
    with stoppable(f"{output} was not written"), StageProgress() as progress:
        facts = model.complete(relation, min_probability, most, evidence.value, progress)
        written, level = write_facts(output, facts, excel_safe), model.level(evidence.value)
    seconds = time.monotonic() - started
    if as_json:
        print_json(_summary(output, written, evidence, seconds) | {"calibration": level.as_dict()})
        return
    _print(output, written, evidence, seconds, level)


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
    from rnnlogic.answering.calibration.level import shown

    if facts:
        rows = [[shown(fact.probability), fact.head, fact.relation, fact.tail] for fact in facts[:SHOWN]]
        print_table(["probability", "head", "relation", "tail"], rows)
    first = f", the first {SHOWN} above" if len(facts) > SHOWN else ""
    echo(f"{len(facts):,} facts written to {output}{first}; evidence {evidence.value}, {seconds:.0f} s")
    echo("\n" + "\n".join(textwrap.wrap(level.sentence(), get_terminal_size().columns)))
    table = level.reliability.table()
    if table:
        print_table(list(table[0]), [list(row.values()) for row in table])
