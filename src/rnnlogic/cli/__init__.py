"""The command line: argument parsing and printing, nothing else. Every group of commands has its own file."""

from __future__ import annotations

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
    folder,
    mine,
    rules,
    serve,
    tune,
)
from rnnlogic.cli.output import echo
from rnnlogic.cli.review import review
from rnnlogic.cli.safety import SafeGroup, open_streams, polite

ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}  # options of a command that is gone
app = typer.Typer(
    help="Reasoning on knowledge graphs with logic rules that people can read.",
    epilog="Example: rnnlogic fit umls -o runs/umls",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    cls=SafeGroup,
    rich_markup_mode=None,  # plain help, which fits narrow terminals
)
app.add_typer(data.app, name="data")
app.command("fit", epilog="Example: rnnlogic fit umls -o runs/umls")(fit.fit)
app.command("evaluate", epilog="Example: rnnlogic evaluate runs/umls --split valid")(evaluate.evaluate)
app.command("compare", epilog="Example: rnnlogic compare runs/umls runs/umls-emb")(compare.compare)
app.command("diff", epilog="Example: rnnlogic diff runs/umls runs/umls-reviewed")(compare.diff)
app.command("predict", epilog="Example: rnnlogic predict runs/umls --head antibiotic --relation treats")(
    answers.predict
)
app.command(
    "explain",
    epilog="Example: rnnlogic explain runs/umls --head antibiotic --relation treats --tail sign_or_symptom",
)(answers.explain)
app.command("complete", epilog="Example: rnnlogic complete runs/umls --most 100 -o new_facts.tsv")(
    complete.complete
)
app.command("falls", epilog="Example: rnnlogic falls runs/umls --without gone.tsv --threshold 0.5")(
    complete.falls
)
app.command(
    "review",
    epilog="Example: rnnlogic review runs/umls --reject antibiotic treats virus --by Ada",
)(review)
app.add_typer(rules.app, name="rules")
app.command("labels", epilog="Example: rnnlogic labels runs/wikidata labels.tsv")(folder.labels)
app.command("card", epilog="Example: rnnlogic card runs/umls -o card.html")(folder.card)
app.command("mcp", epilog="Example: rnnlogic mcp runs/umls")(serve.mcp)
app.command("mine", epilog="Example: rnnlogic mine umls -o rules.txt --most 20")(mine.mine)
app.command("embed", epilog="Example: rnnlogic embed umls -o embeddings/umls")(embed.embed)
app.command("serve", epilog="Example: rnnlogic serve runs/umls")(serve.serve)
app.command("tune", epilog="Example: rnnlogic tune umls -o tuned/umls --minutes 30")(tune.tune)
app.command("check", epilog="Example: rnnlogic check runs/umls")(folder.check)
app.command("demo", epilog="Example: rnnlogic demo")(demo.demo)


@app.command("reproduce", hidden=True, context_settings=ANYTHING)
def _reproduce() -> None:
    """Say where the command went."""
    raise RNNLogicError("the paper's tables come from a clone of the repository: run `python -m paper` in it")


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"rnnlogic {version('rnnlogic')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    no_verify: Annotated[
        bool,
        typer.Option("--no-verify", help="Do not compare files of runs with their checksums."),
    ] = False,
) -> None:
    from rnnlogic.base.files import verification

    del show_version  # its callback has done it
    context.with_resource(verification(not no_verify))


def main() -> None:
    """Run the command line: a user's mistake prints one line, without a traceback, and exits with code 2.

    Typer itself handles Ctrl-C (exit code 130) and a reader that closes our output early.
    """
    open_streams()
    with polite():
        app()
