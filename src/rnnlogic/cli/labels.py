"""`rnnlogic labels`: names to show for a run that is there already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.cli.options import AsJson, RunFolder
from rnnlogic.cli.output import echo, print_json, print_note


def labels(
    run: RunFolder,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Lines of name<TAB>label for entities and relations.")
    ],
    as_json: AsJson = False,
) -> None:
    """Give a run labels: names to show instead of ids. Nothing is learned anew.

    They go before the labels that the run has. Questions may use them, and every command shows them; --ids
    shows the names of the data.
    """
    from rnnlogic.runs.labels import label_run

    found = label_run(run, file)
    if found.note:
        print_note(found.note)
    if as_json:
        print_json({"run": str(run), "entities": found.entities, "relations": found.relations})
    else:
        echo(f"{run}: {found.entities:,} entities and {found.relations:,} relations labelled")
