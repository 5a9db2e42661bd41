"""The calibration of a run, made once and kept there."""

from __future__ import annotations

from rnnlogic.base.budget import Budget
from rnnlogic.base.types import Progress
from rnnlogic.calibrate.calibration import (
    Calibration,
    calibrate,
    calibrate_in_time,
    pack_calibration,
    unpack_calibration,
)
from rnnlogic.data.dataset import Dataset
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.runs.folder import Run


def calibration_of(
    run: Run, dataset: Dataset, scorer: AnswerScorer, progress: Progress, seed: int, budget: Budget
) -> Calibration:
    """What an earlier session of the fit kept, or made now."""
    kept = run.calibration()
    found = None if kept is None else unpack_calibration(*kept, dataset.vocab.num_relations)
    if found is None:
        if budget.is_limited:
            found = calibrate_in_time(dataset, scorer, progress, seed, budget)
        else:
            found = calibrate(dataset, scorer, progress, seed)
        run.save_calibration(*pack_calibration(found))
    return found
