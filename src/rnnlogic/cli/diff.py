"""`rnnlogic diff`: what changed from one run to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.errors import DataError
from rnnlogic.base.files import write_atomically
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.options import AsJson, Basis, EvidenceChoice, EvidenceOption, IdsOption
from rnnlogic.cli.output import echo, print_json, print_table, print_text

SHOWN = 10  # rows of each kind on the screen


def diff(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="Run folder, the earlier one.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Run folder, the later one.")],
    proposals: Annotated[
        int, typer.Option("--max", help="Number of proposals to compare; 0: only rules.", min=0)
    ] = 100,
    evidence: EvidenceOption = EvidenceChoice.everything,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write all of it as a page.")
    ] = None,
    ids: IdsOption = False,
    as_json: AsJson = False,
) -> None:
    """Say what changed from RUN_A to RUN_B."""
    from rnnlogic.cli.models import load_model
    from rnnlogic.complete.difference import difference

    models = [load_model(run, Basis(ids=ids)) for run in (run_a, run_b)]
    with StageProgress() as progress:
        rules = [model.rules(progress=progress) for model in models]
        facts = [
            list(model.complete(most=proposals, evidence=evidence.value, progress=progress))
            if proposals
            else []
            for model in models
        ]
    found = difference((rules[0], rules[1]), (facts[0], facts[1]))
    if page is not None:
        try:
            write_atomically(page, found.card(str(run_a), str(run_b)).page())
        except OSError as error:
            raise DataError(f"cannot be written ({error.strerror or error})", page) from None
        echo(f"page written to {page}", err=True)
    if as_json:
        print_json({"a": str(run_a), "b": str(run_b), **found.as_dict()})
        return
    for section in found.card(str(run_a), str(run_b), SHOWN).sections:
        echo(section.title, bold=True)
        if section.table is not None:
            print_table(list(section.table.headers), [list(row) for row in section.table.rows])
        for text in section.text:
            print_text(text)
        echo()
