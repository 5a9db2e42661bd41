"""`rnnlogic falls`: what loses its support if facts go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.models import facts_of_file, load_model
from rnnlogic.cli.options import AsJson, Basis, EvidenceChoice, EvidenceOption, IdsOption, RunFolder, grouped
from rnnlogic.cli.output import echo, print_json, print_table


@dataclass(frozen=True)
class Gone:
    """The facts that go."""

    without: Annotated[
        Path | None, typer.Option("--without", metavar="FILE", help="Facts that go: head, relation, tail.")
    ] = None
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Facts that go: all that only this source has.")
    ] = None


@grouped
def falls(
    run: RunFolder,
    going: Gone,
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

    without, source = going.without, going.source
    if without is None and source is None:
        raise RNNLogicError("give the facts that go: --without FILE, --source NAME, or both")
    model = load_model(run, Basis(ids=ids))
    gone = [] if without is None else facts_of_file(without)
    gone += [] if source is None else model.dataset.facts_from(source)
    if not gone:
        raise RNNLogicError(f"{without or source}: there are no facts")
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
