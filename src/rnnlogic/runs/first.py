"""The first model of a run: made before the long stages, and used until the fit is finished."""

from __future__ import annotations

from typing import NamedTuple

from rnnlogic.base.budget import Budget
from rnnlogic.base.executor import default_threads
from rnnlogic.base.types import Progress
from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import Dataset
from rnnlogic.fit.given import Edits
from rnnlogic.fit.preliminary import MINUTES, preliminary
from rnnlogic.fit.result import Learned, Store, pack_learned, unpack_learned
from rnnlogic.fit.stages import PRELIMINARY as STAGE
from rnnlogic.fit.stages import CheckedStore, stage_called
from rnnlogic.runs.embedding import embedding_of
from rnnlogic.runs.folder import Run

FULL = "full"  # the stage of the full model, which is there before a compact one is made of it


class Unfinished(NamedTuple):
    """The best model so far of a run that is not finished."""

    learned: Learned
    stage: str


def keep_first_model(
    store: Store, dataset: Dataset, config: Config, edits: Edits, progress: Progress, budget: Budget
) -> None:
    """Make the first model, unless it is there already or no rules are generated."""
    kept = CheckedStore(store, config, dataset.vocab)
    if not config.generate or kept.load(STAGE) is not None or not len(dataset.train):
        return
    quick = Budget.of_minutes(min(MINUTES, stage_called(STAGE).share * budget.left / 60))
    first = preliminary(dataset, config, edits, config.threads or default_threads(), progress, quick)
    if first is not None:
        kept.save(STAGE, pack_learned(first))


def unfinished_model(run: Run) -> Unfinished | None:
    """The full model before it is made compact, else the first one; None if there is neither."""
    config = run.config()
    kept = CheckedStore(run, config, run.dataset().vocab)
    full = kept.load(FULL)
    if full is not None:
        return Unfinished(unpack_learned(full, config, embedding_of(run)), FULL)
    first = kept.load(STAGE)
    if first is None:
        return None
    return Unfinished(unpack_learned(first, changed(config, {"variant": "rnnlogic"}), None), STAGE)
