"""The calibration of a run, made once and kept there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rnnlogic.base.budget import Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.lock import exclusive
from rnnlogic.base.types import Progress
from rnnlogic.calibrate.calibration import (
    Calibration,
    calibrate_in_time,
    calibrated,
    pack_calibration,
    unpack_calibration,
)
from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.runs.folder import Run


def calibration_of(
    run: Run, dataset: Dataset, scorer: AnswerScorer, progress: Progress, seed: int, budget: Budget
) -> Calibration:
    """What an earlier session of the fit kept, or made now."""
    kept = run.calibration()
    found = None if kept is None else unpack_calibration(*kept, dataset.vocab.num_relations)
    if found is None:
        found = calibrate_in_time(dataset, scorer, progress, seed, budget)
        run.save_calibration(*pack_calibration(found))
    return found


def with_level(
    known: Calibration | None,
    dataset: Dataset,
    scorer: AnswerScorer,
    progress: Progress,
    seed: int,
    evidence: Evidence,
    budget: Budget,
) -> Calibration:
    """What is known so far, and one more kind of evidence, which is measured now."""
    found = calibrated(dataset, scorer, progress, seed, evidence, budget)
    return Calibration(({} if known is None else known.levels) | found.levels)


def keep_calibration(folder: Path | None, found: Calibration, dataset: Dataset) -> None:
    """Add what was measured to what a finished run keeps, so that nobody measures it again.

    A fit whose time was up keeps fewer kinds of evidence, maybe none; one that was told not to calibrate
    keeps no file, and gets none. Where nobody can write, or somebody else does, nothing is kept.
    """
    if folder is None:
        return
    with suppress(RNNLogicError, OSError), exclusive(folder):
        run = Run.open(folder)
        kept = run.calibration() if run.finished else None
        stored = None if kept is None else unpack_calibration(*kept, dataset.vocab.num_relations)
        if stored is not None and not found.levels.keys() <= stored.levels.keys():
            run.save_calibration(*pack_calibration(Calibration(found.levels | stored.levels)))
