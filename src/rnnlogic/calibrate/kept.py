"""The calibration of a run, made once and kept there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import cast

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.lock import exclusive
from rnnlogic.base.types import Progress
from rnnlogic.calibrate.calibration import (
    Calibration,
    calibrate,
    calibrate_in_time,
    calibrated,
    pack_calibration,
    unpack_calibration,
)
from rnnlogic.calibrate.level import Level
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
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


class Levels:
    """How probable facts are, by what is known: kept by a run, or measured when first asked for."""

    def __init__(self, dataset: Dataset, scorer: AnswerScorer, seed: int) -> None:
        self._of = dataset, scorer
        self._seed = seed
        self._given: dict[tuple[Evidence, float], Level] = {}  # by known facts and how many are missing
        self.calibration: Calibration | None = None
        self.folder: Path | None = None  # of the run that keeps what is measured

    def of(
        self, evidence: Evidence, progress: Progress, budget: Budget = UNLIMITED, missing: float | None = None
    ) -> Level:
        """The level for some known facts; for a given number of missing ones it stays in memory only."""
        if evidence not in EVIDENCE_SPLITS:
            raise UnknownNameError("evidence", evidence, EVIDENCE_SPLITS)
        how = *self._of, progress, self._seed
        if missing is not None:
            if (evidence, missing) not in self._given:
                found = calibrate(*how, [evidence], missing=missing)
                self._given[evidence, missing] = found.levels[evidence]
            return self._given[evidence, missing]
        known = {} if self.calibration is None else self.calibration.levels
        if evidence not in known:
            self.calibration = Calibration(known | calibrated(*how, evidence, budget).levels)
            if not budget.is_limited:
                keep_calibration(self.folder, self.calibration, self._of[0])
            known = self.calibration.levels
        return known[evidence]

    def every(self, progress: Progress) -> Calibration:
        """The levels for every kind of known facts."""
        for evidence in EVIDENCE_SPLITS:
            self.of(cast("Evidence", evidence), progress)
        return self.calibration or Calibration({})


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
