"""The command line: argument parsing and printing, nothing else. Every group of commands has its own file."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli import (
    answers,
    compare,
    complete,
    data,
    demo,
    embed,
    evaluate,
    fit,
    labels,
    mine,
    reproduce,
    rules,
)

app = typer.Typer(
    help="Reasoning on knowledge graphs with logic rules that people can read.",
    epilog="Example: rnnlogic fit umls -o runs/umls",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: options on one line each, readable at 80 columns
)
app.add_typer(data.app, name="data")
app.command(
    "fit", short_help="Learn rules from a knowledge graph.", epilog="Example: rnnlogic fit umls -o runs/umls"
)(fit.fit)
app.command(
    "evaluate",
    short_help="Rank the answers of a split.",
    epilog="Example: rnnlogic evaluate runs/umls --split valid",
)(evaluate.evaluate)
app.command(
    "compare",
    short_help="Tell whether one run is really better than another.",
    epilog="Example: rnnlogic compare runs/umls runs/umls-emb",
)(compare.compare)
app.command(
    "predict",
    short_help="Predict missing facts, with probabilities.",
    epilog="Example: rnnlogic predict runs/umls --head antibiotic --relation treats",
)(answers.predict)
app.command(
    "explain",
    short_help="Explain an answer on one screen.",
    epilog="Example: rnnlogic explain runs/umls --head antibiotic --relation treats --tail sign_or_symptom",
)(answers.explain)
app.command(
    "complete",
    short_help="Write the most probable missing facts to a file.",
    epilog="Example: rnnlogic complete runs/umls --max 100 -o new_facts.tsv",
)(complete.complete)
app.add_typer(rules.app, name="rules", short_help="Show the rules of a run, or export them.")
app.command(
    "labels",
    short_help="Give a run names to show instead of ids.",
    epilog="Example: rnnlogic labels runs/wikidata labels.tsv",
)(labels.labels)
app.command(
    "mine",
    short_help="Find rules by path search alone.",
    epilog="Example: rnnlogic mine umls -o rules.txt --top 20",
)(mine.mine)
app.command(
    "embed",
    short_help="Train embeddings of a knowledge graph.",
    epilog="Example: rnnlogic embed umls -o embeddings/umls",
)(embed.embed)
app.command(
    "reproduce",
    short_help="Run the paper's experiments and its baselines.",
    epilog="Example: rnnlogic reproduce table3 --small --data DIR",
)(reproduce.reproduce)
app.command("reproduce-one", hidden=True)(reproduce.reproduce_one)
app.command(
    "demo", short_help="Learn and explain on the embedded UMLS graph.", epilog="Example: rnnlogic demo"
)(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rnnlogic {version('rnnlogic')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line: a user's mistake prints one line, without a traceback, and exits with code 2.

    Typer itself handles Ctrl-C (exit code 130) and a reader that closes our output early.
    """
    try:
        app()
    except RNNLogicError as problem:
        typer.echo(f"error: {problem}", err=True)
        sys.exit(2)
