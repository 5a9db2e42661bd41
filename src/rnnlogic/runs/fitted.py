"""A finished fit, read from its run folder: all that is needed to answer questions. Free of torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rnnlogic.base.files import missing_files
from rnnlogic.base.types import Arrays
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.fit.result import Learned
from rnnlogic.predictors.base import Predictor
from rnnlogic.runs.embedding import embedding_of
from rnnlogic.runs.files import RunError
from rnnlogic.runs.finished import MODEL
from rnnlogic.runs.first import unfinished_model
from rnnlogic.runs.folder import NEEDED, Run


class Fitted(NamedTuple):
    """What a fit learned, with its data and settings."""

    dataset: Dataset
    config: Config
    learned: Learned
    calibration: tuple[Arrays, dict[str, Any]] | None  # packed; None if the run has none
    preliminary: str | None = None  # the stage that the model is from, if the fit is not finished
    left_out: Mapping[str, str] = {}  # what stages left out for want of time

    @property
    def scorer(self) -> Predictor:
        """The predictor."""
        return self.learned.predictor


def load_fitted(folder: str | Path) -> Fitted:
    """The fit in a run folder, which holds or names all that it needs; if unfinished, its best so far."""
    run = Run.open(folder)
    _require_complete(run)
    dataset, config = run.dataset(), run.config()
    unfinished = None if run.finished else unfinished_model(run)
    if unfinished is not None:
        return Fitted(dataset, config, unfinished.learned, None, unfinished.stage)
    learned = run.learned(embedding_of(run), dataset.vocab)
    return Fitted(dataset, config, learned, run.calibration(), None, run.left_out())


def _require_complete(run: Run) -> None:
    """Refuse a run that has lost a file: without model.json it would pass for one that is not finished."""
    needed = NEEDED if run.finished else (MODEL,)
    lost = next((name for name in missing_files(run.folder) if name in needed), None)
    if lost is not None:
        raise RunError(
            run.folder / lost,
            "is missing; put back a whole copy of the run, or finish it with the same `rnnlogic fit` command",
        )
