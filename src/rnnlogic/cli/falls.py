"""`rnnlogic falls`: what loses its support if facts go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.models import facts_of_file, load_model
from rnnlogic.cli.options import AsJson, Basis, EvidenceChoice, EvidenceOption, IdsOption, RunFolder
from rnnlogic.cli.output import echo, print_json, print_table


def falls(
    run: RunFolder,
    without: Annotated[
        Path, typer.Option("--without", metavar="FILE", help="Facts that go: head, relation, tail.")
    ],
    threshold: Annotated[
        float | None,
        typer.Option(help="Only what falls below this probability. Default: what loses .05.", min=0, max=1),
    ] = None,
    most: Annotated[int, typer.Option("--max", help="Number of proposals to look at.", min=1)] = 1000,
    evidence: EvidenceOption = EvidenceChoice.everything,
    ids: IdsOption = False,
    as_json: AsJson = False,
) -> None:
    """List facts that lose their support if others go.

    These are accepted facts and proposals, each with the reason that it loses. Nothing is written, and
    nothing is learned again.
    """
    from rnnlogic.calibrate.level import shown

    model = load_model(run, Basis(ids=ids))
    gone = facts_of_file(without)
    if not gone:
        raise RNNLogicError(f"{without}: there are no facts")
    with StageProgress() as progress:
        found = model.falls(gone, threshold, most, evidence.value, progress)
    if as_json:
        print_json([one.as_dict() for one in found])
        return
    if not found:
        echo("nothing falls")
        return
    rows = [
        [
            "accepted" if one.is_accepted else "proposed",
            one.head,
            one.relation,
            one.tail,
            shown(one.before),
            shown(one.after),
            one.reason or "",
            one.instead or "no rule",
        ]
        for one in found
    ]
    print_table(["what", "head", "relation", "tail", "before", "after", "reason before", "after"], rows)
