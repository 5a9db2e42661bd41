"""`rnnlogic mine`: rules by path search alone, without a learner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.base.budget import Budget, Work
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.options import (
    AsJson,
    BanOption,
    DataArgument,
    IdsOption,
    OnlyOption,
    Reading,
    Running,
    ThreadsOption,
    given,
    grouped,
    load_named,
    print_cut,
    print_notes,
)
from rnnlogic.cli.output import echo, print_json, print_note, print_table

if TYPE_CHECKING:
    from rnnlogic.config import Config

SHOWN = 10  # best rules to print
MINING = 0.95  # of a budget; the rest is for the file
FIGURES = ["count", "support", "confidence"]


@dataclass(frozen=True)
class Search:
    """What is looked for, and where: None leaves a setting as it is."""

    max_length: Annotated[
        int | None, typer.Option(help="Longest body. Default: the setting max_length.", min=1, max=8)
    ] = None
    most: Annotated[
        int | None, typer.Option(help="Rules to keep per relation. Default: the setting mine.keep.", min=1)
    ] = None
    smoothing: Annotated[
        float | None,
        typer.Option(
            help="Rank by support / (support + wrong + smoothing). Default: the setting mine.smoothing.",
            min=0,
        ),
    ] = None
    facts: Annotated[
        int | None, typer.Option(help="Facts sampled per relation (mine.facts_per_relation).", min=1)
    ] = None
    fanout: Annotated[
        int | None, typer.Option(help="Edges followed from an entity (mine.fanout).", min=1)
    ] = None
    candidates: Annotated[
        int | None, typer.Option(help="Bodies per relation that are measured (mine.candidates).", min=1)
    ] = None
    ban: BanOption = None
    only: OnlyOption = None
    seed: Annotated[int | None, typer.Option(help="Seed for sampling on large graphs.", min=0)] = None
    threads: ThreadsOption = None

    def config(self) -> Config:
        """The settings of a fit with the options that were given."""
        from rnnlogic.config import Config, override

        mining = {
            "keep": self.most,
            "smoothing": self.smoothing,
            "facts_per_relation": self.facts,
            "fanout": self.fanout,
            "candidates": self.candidates,
        }
        direct = {f"mine.{key}": value for key, value in mining.items()}
        return override(Config(), given(direct | {"max_length": self.max_length, "seed": self.seed}))


@grouped
def mine(
    name: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Rule file to write.")],
    search: Search,
    reading: Reading,
    running: Running,
    ids: IdsOption = False,
    as_json: AsJson = False,
) -> None:
    """Find rules by path search alone. Paths that join the two ends of training facts become rules.

    Count: sampled facts whose two ends the body joins. Support: training queries that the rule answers while
    their own fact is hidden. Confidence: support / (support + wrong), where wrong counts results that are not
    known answers. FILE holds one rule per line, with support and confidence in a comment; labels are in
    comment lines of their own.
    """
    from rnnlogic.base.clusters import on_cluster
    from rnnlogic.features.base import cuts_in_words
    from rnnlogic.mining.mine import mine_rules
    from rnnlogic.rules.formats import write_table
    from rnnlogic.rules.patterns import Banned
    from rnnlogic.rules.rule import format_rule
    from rnnlogic.rules.table import RuleTable

    budget = Budget.of_minutes(running.max_minutes, print_cut)
    dataset = load_named(name, reading, ids=ids)
    print_notes(dataset, err=True)
    vocab, config = dataset.vocab, search.config()
    banned = Banned.from_text(search.ban or [], vocab, "--ban", search.only or [])
    with on_cluster(running.cluster), StageProgress() as progress:
        work = Work(search.threads, partial(progress, "mine"), budget.share(MINING))
        rules, statistics, joined = mine_rules(
            dataset.graph("train"), config.mine, config.max_length, banned, config.seed, work
        )
    if cut := cuts_in_words(statistics.cuts):
        print_note(cut)
    figures = {"support": statistics.support.tolist(), "confidence": statistics.confidence.tolist()}
    table = RuleTable(rules, figures)
    write_table(output, table, dataset.vocab, "text")
    rows = [
        {
            "count": count,
            **known,
            "rule": format_rule(rule, vocab),
            "label": format_rule(rule, vocab, labels=True),
        }
        for count, (rule, known) in zip(joined.tolist(), table.rows(), strict=True)
    ]
    if as_json:
        print_json({"file": str(output), "rules": rows})
        return
    best = sorted(rows, key=lambda row: -row["support"] * row["confidence"])[:SHOWN]
    print_table([*FIGURES, "rule"], [[*(row[name] for name in FIGURES), row["label"]] for row in best])
    echo(f"{len(rows):,} rules written to {output}")
