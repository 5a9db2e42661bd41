"""The model that a command works with: loaded from a run, on its own graph or another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rnnlogic.model import RNNLogic


def load_model(run: Path, graph: str | None) -> RNNLogic:
    """The model of a run folder, moved to another graph if one is named; prints what does not fit."""
    from rnnlogic.model import RNNLogic

    model = RNNLogic.load(run)
    if model.preliminary:
        typer.echo(f"note: {unfinished(model, run)}", err=True)
    if graph is None:
        return model
    moved = model.on(graph)
    moved.preliminary = model.preliminary
    notes = [] if moved.transfer is None else moved.transfer.lines()
    for line in [*moved.dataset.report.lines(), *notes]:
        typer.echo(f"note: {line}", err=True)
    return moved


def unfinished(model: RNNLogic, run: Path) -> str:
    """What a model of an unfinished fit is."""
    rules = len(model.learned.rules)
    return f"the fit in {run} is not finished: this is a preliminary model with {rules:,} rules"


def preliminary_mark(model: RNNLogic) -> dict[str, Any]:
    """What JSON says of a model whose fit is not finished; nothing if it is."""
    return {"preliminary": True} if model.preliminary else {}
