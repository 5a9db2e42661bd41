"""`rnnlogic labels`: names and sentences to show for a run that is there already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli.options import AsJson, RunFolder, TemplatesOption
from rnnlogic.cli.output import echo, print_json, print_note


def labels(
    run: RunFolder,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Lines of name<TAB>label for entities and relations."),
    ] = None,
    templates: TemplatesOption = None,
    as_json: AsJson = False,
) -> None:
    """Give a run labels to show, or templates to say facts by.

    Labels are names that stand for ids; templates say how a relation is put into words. They go before those
    that the run has, and nothing is learned again. Questions may use labels, and every command shows them;
    --ids shows the names of the data.
    """
    from rnnlogic.runs.fitted import label_run, template_run

    if file is None and templates is None:
        raise RNNLogicError("give a file of labels, or --templates")
    said = None if templates is None else template_run(run, templates)
    found = None if file is None else label_run(run, file)
    for note in (said and said.note, found and found.note):
        if note:
            print_note(note)
    entities, relations = (found.entities, found.relations) if found else (0, 0)
    number = said.relations if said else 0
    if as_json:
        numbers = {"entities": entities, "relations": relations, "templates": number}
        print_json({"run": str(run), **numbers})
        return
    if found:
        echo(f"{run}: {entities:,} entities and {relations:,} relations labelled")
    if said:
        echo(f"{run}: templates for {number:,} relations")
