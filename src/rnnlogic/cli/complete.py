"""`rnnlogic complete`: the most probable missing facts, into a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.base.budget import Budget
from rnnlogic.cli.fit import stoppable
from rnnlogic.cli.models import load_model, preliminary_mark
from rnnlogic.cli.options import (
    AsJson,
    ClusterOption,
    EvidenceChoice,
    EvidenceOption,
    ExcelSafe,
    GraphOption,
    IdsOption,
    LabelsOption,
    MaxMinutes,
    RunFolder,
    TypesOption,
    print_cut,
)
from rnnlogic.cli.output import echo, print_json, print_table, print_text
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.calibrate.level import Level
    from rnnlogic.complete.complete import NewFact
    from rnnlogic.complete.possible import PossibleFacts
    from rnnlogic.data.vocab import Vocab

OFF = "off"  # no types
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
    labels: LabelsOption = None,
    ids: IdsOption = False,
    types: TypesOption = None,
    max_minutes: MaxMinutes = None,
    cluster: ClusterOption = None,
    as_json: AsJson = False,
) -> None:
    """Write the most probable missing facts to a file. Each of them comes with a reason.

    The probability is the chance that the fact is true, the same that predict and explain show. Every fact
    comes with the rule that speaks most for it and one path of that rule. The file holds the names of the
    data; labels come in columns of their own.

    Where the graph says what kind of thing an entity is, facts are left out whose head or tail is of a type
    that the relation never has there in the training facts.
    """
    from rnnlogic.base.clusters import on_cluster
    from rnnlogic.complete.files import check_output, write_facts
    from rnnlogic.complete.possible import possible_facts

    budget = Budget.of_minutes(max_minutes, print_cut)
    check_output(output)
    model, started = load_model(run, graph, labels, ids), time.monotonic()
    possible = possible_facts(model.dataset, types, evidence.value)
    with stoppable(f"{output} was not written"), on_cluster(cluster), StageProgress() as progress:
        facts = model.complete(
            relation, min_probability, most, evidence.value, progress, possible or OFF, budget
        )
        written = write_facts(output, facts, model.dataset.vocab.has_labels, excel_safe)
        level = model.level(evidence.value)
    seconds, vocab = time.monotonic() - started, model.dataset.vocab
    if as_json:
        summary = _summary(output, written, evidence, seconds) | preliminary_mark(model)
        print_json(summary | {"types": _types(possible, vocab), "calibration": level.as_dict()})
        return
    _print(output, written, evidence, seconds, level)
    _print_left_out(possible, vocab)


def _print_left_out(possible: PossibleFacts | None, vocab: Vocab) -> None:
    if possible is not None and possible.left_out:
        echo()
        print_text(
            f"{possible.left_out:,} facts that rules propose were left out: their head or tail is of a type"
            " that the relation never has there in training (types by"
            f" {vocab.relation_label(possible.types.relation)}; --types off keeps them)."
        )


def _types(possible: PossibleFacts | None, vocab: Vocab) -> dict[str, Any] | None:
    """For JSON: the relation that gives types, and how many facts they left out; None without types."""
    if possible is None:
        return None
    return {"relation": vocab.relation_name(possible.types.relation), "left_out": possible.left_out}


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
    echo(f"{len(facts):,} facts written to {output}{first}; evidence {evidence.value}, {seconds:.0f} s")
    echo()
    print_text(level.sentence())
    table = level.reliability.table()
    if table:
        print_table(list(table[0]), [list(row.values()) for row in table])
