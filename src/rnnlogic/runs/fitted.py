"""A finished fit, read from its run folder: all that is needed to answer questions. Free of torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import Arrays
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.learning.result import Learned
from rnnlogic.predictors.base import Predictor
from rnnlogic.runs.embedding import embedding_of
from rnnlogic.runs.files import unreadable
from rnnlogic.runs.finished import WEIGHTS
from rnnlogic.runs.first import unfinished_model
from rnnlogic.runs.folder import Run
from rnnlogic.runs.given import rules_within


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
    dataset, config = run.dataset(), run.config()
    unfinished = None if run.finished else unfinished_model(run)
    learned = run.learned(embedding_of(run)) if unfinished is None else unfinished.learned
    try:
        rules_within(learned.rules, dataset.vocab)
    except RuleError as error:
        raise unreadable(run.folder / WEIGHTS, error) from None
    if unfinished is not None:
        return Fitted(dataset, config, learned, None, unfinished.stage)
    return Fitted(dataset, config, learned, run.calibration(), None, run.left_out())
