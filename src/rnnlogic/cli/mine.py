"""`rnnlogic mine`: rules by path search alone, without a learner."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.cli.options import (
    AsJson,
    BanOption,
    ColumnsOption,
    LabelsOption,
    QueryOption,
    SepOption,
    load_named,
    print_notes,
)
from rnnlogic.cli.output import echo, print_json, print_table
from rnnlogic.cli.progress import StageProgress

if TYPE_CHECKING:
    from rnnlogic.config import Config

SHOWN = 10  # best rules to print
COLUMNS = ["count", "support", "confidence", "rule"]


def mine(
    name: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset name, folder or file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Rule file to write.")],
    max_length: Annotated[
        int | None, typer.Option(help="Longest body. Default: the setting max_length.", min=1, max=8)
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Rules to keep per relation. Default: the setting mine.keep.", min=1)
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(
            help="Rank by support / (support + wrong + smoothing). Default: the setting mine.smoothing.",
            min=0,
        ),
    ] = None,
    ban: BanOption = None,
    columns: ColumnsOption = None,
    sep: SepOption = None,
    labels: LabelsOption = None,
    query: QueryOption = None,
    seed: Annotated[int | None, typer.Option(help="Seed for sampling on large graphs.", min=0)] = None,
    threads: Annotated[int | None, typer.Option(help="Threads (default: all cores).", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Find rules from the paths that join the two ends of training facts, best first for each relation.

    Count: sampled facts whose two ends the body joins. Support: training queries that the rule answers while
    their own fact is hidden. Confidence: support / (support + wrong), where wrong counts results that are not
    known answers. FILE holds one rule per line, with support and confidence in a comment.
    """
    from rnnlogic.mining.mine import mine_rules
    from rnnlogic.rules.formats import write_table
    from rnnlogic.rules.patterns import Banned
    from rnnlogic.rules.rule import format_rule
    from rnnlogic.rules.table import RuleTable

    dataset = load_named(name, columns, sep, labels, query)
    print_notes(dataset, err=True)
    config = _settings(max_length, top, smoothing, seed)
    banned = Banned.from_text(ban or [], dataset.vocab, "--ban")
    with StageProgress() as progress:
        rules, statistics, joined = mine_rules(
            dataset.graph("train"),
            config.mine,
            config.max_length,
            banned,
            config.seed,
            threads,
            partial(progress, "mine"),
        )
    figures = {"support": statistics.support.tolist(), "confidence": statistics.confidence.tolist()}
    table = RuleTable(rules, figures)
    write_table(output, table, dataset.vocab, "text")
    rows = [
        {"count": count, **known, "rule": format_rule(rule, dataset.vocab)}
        for count, (rule, known) in zip(joined.tolist(), table.rows(), strict=True)
    ]
    if as_json:
        print_json({"file": str(output), "rules": rows})
        return
    best = sorted(rows, key=lambda row: -row["support"] * row["confidence"])[:SHOWN]
    print_table(COLUMNS, [[row[name] for name in COLUMNS] for row in best])
    echo(f"{len(rows):,} rules written to {output}")


def _settings(max_length: int | None, top: int | None, smoothing: float | None, seed: int | None) -> Config:
    """The settings of a fit with the options that were given."""
    from rnnlogic.config import Config, changed

    mining = {"keep": top, "smoothing": smoothing}
    general = {"max_length": max_length, "seed": seed}
    changes = {key: value for key, value in general.items() if value is not None}
    return changed(Config(), changes | {"mine": {k: v for k, v in mining.items() if v is not None}})
