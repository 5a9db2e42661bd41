"""`rnnlogic mine`: rules by path search alone, without a learner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rnnlogic.cli.options import AsJson, BanOption
from rnnlogic.cli.output import print_json, print_table
from rnnlogic.cli.progress import StageProgress

SHOWN = 10  # best rules that are printed


def mine(
    name: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset name, folder or file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Rule file to write.")],
    max_length: Annotated[int, typer.Option(help="Longest body.", min=1, max=8)] = 3,
    top: Annotated[int, typer.Option(help="Best rules kept per relation.", min=1)] = 100,
    smoothing: Annotated[
        float, typer.Option(help="Quality is support / (support + wrong + smoothing).", min=0)
    ] = 20.0,
    ban: BanOption = None,
    seed: Annotated[int, typer.Option(help="Seed of the samples taken from large graphs.", min=0)] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads (default: all cores).", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Find rules by the paths that join the ends of training facts, best first for each relation.

    Count: sampled facts whose ends the body joins. Support: training queries that the rule answers, their own
    fact hidden. Confidence: support / (support + wrong).
    """
    from rnnlogic.base.executor import default_threads
    from rnnlogic.config import Config, override
    from rnnlogic.data.dataset import load_dataset
    from rnnlogic.learning.learn import mine_rules
    from rnnlogic.rules.formats import write_rules

    dataset = load_dataset(name)
    changes = [f"seed={seed}", f"max_length={max_length}", f"mine.keep={top}", f"mine.smoothing={smoothing}"]
    config = override(Config(banned=tuple(ban or ())), changes)
    with StageProgress() as progress:
        rules, statistics, joined = mine_rules(
            dataset,
            config,
            threads or default_threads(),
            lambda done, total: progress("mine", done, total, ""),
        )
    write_rules(output, rules, dataset.vocab)
    rows = _rows(rules, statistics.support, statistics.confidence, joined, dataset)
    if as_json:
        print_json({"file": str(output), "rules": rows})
        return
    best = sorted(rows, key=lambda row: -row["support"] * row["confidence"])[:SHOWN]
    print_table(list(rows[0]) if rows else [], [list(row.values()) for row in best])
    typer.echo(f"{len(rows):,} rules written to {output}")


def _rows(rules: Any, support: Any, confidence: Any, joined: Any, dataset: Any) -> list[dict[str, Any]]:
    from rnnlogic.rules.rule import format_rule

    columns = zip(rules, joined.tolist(), support.tolist(), confidence.tolist(), strict=True)
    return [
        {"count": n, "support": s, "confidence": c, "rule": format_rule(rule, dataset.vocab)}
        for rule, n, s, c in columns
    ]
