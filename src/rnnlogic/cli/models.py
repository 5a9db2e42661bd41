"""The model that a command works with: loaded from a run, on its own graph or another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rnnlogic.cli.output import echo

if TYPE_CHECKING:
    from rnnlogic.model import RNNLogic


def load_model(run: Path, graph: str | None) -> RNNLogic:
    """The model of a run folder, moved to another graph if one is named; prints what does not fit."""
    from rnnlogic.model import RNNLogic

    model = RNNLogic.load(run)
    if graph is None:
        return model
    moved = model.on(graph)
    notes = [] if moved.transfer is None else moved.transfer.lines()
    for line in [*moved.dataset.report.lines(), *notes]:
        echo(f"note: {line}", err=True)
    return moved
