"""`rnnlogic card`: one page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.errors import DataError, RNNLogicError
from rnnlogic.base.files import write_atomically
from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import RunFolder
from rnnlogic.cli.output import echo

KINDS = (".md", ".html")


def card(
    run: RunFolder,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .md or .html file; else Markdown is printed."),
    ] = None,
) -> None:
    """Sum up a run on one page.

    It shows data, settings, scores, how far probabilities are right, and the best rules.

    Scores are those that `fit` and `evaluate` have kept; nothing is computed anew.
    """
    from rnnlogic.render.card import run_card

    if output is not None and output.suffix.lower() not in KINDS:
        raise RNNLogicError(f"{output}: a card is a {' or '.join(KINDS)} file")
    made = run_card(load_model(run), run)
    if output is None:
        echo(made.markdown().removesuffix("\n"))
        return
    text = made.page() if output.suffix.lower() == ".html" else made.markdown()
    try:
        write_atomically(output, text)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", str(output)) from None
    echo(f"card written to {output}")
