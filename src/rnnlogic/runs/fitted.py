"""The model of a run: the finished one, the first one, and the labels that it shows. Free of torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rnnlogic.base.budget import Budget
from rnnlogic.base.executor import default_threads
from rnnlogic.base.files import missing_files
from rnnlogic.base.lock import exclusive
from rnnlogic.base.types import Arrays, Progress
from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.labels import Labels, Relabelled, Templated, Templates, relabelled, templated
from rnnlogic.fit.given import Edits
from rnnlogic.fit.preliminary import MINUTES, preliminary
from rnnlogic.fit.result import Learned, Store, pack_learned, unpack_learned
from rnnlogic.fit.stages import PRELIMINARY, CheckedStore, stage_called
from rnnlogic.predictors.base import Predictor
from rnnlogic.runs.dataset import write_vocabulary
from rnnlogic.runs.embedding import embedding_of
from rnnlogic.runs.files import RunError, write_file
from rnnlogic.runs.finished import MODEL, RULES, read_weighted_rules, rules_text
from rnnlogic.runs.folder import NEEDED, Run

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
    if not config.generate or kept.load(PRELIMINARY) is not None or not len(dataset.train):
        return
    quick = Budget.of_minutes(min(MINUTES, stage_called(PRELIMINARY).share * budget.left / 60))
    first = preliminary(dataset, config, edits, config.threads or default_threads(), progress, quick)
    if first is not None:
        kept.save(PRELIMINARY, pack_learned(first))


def unfinished_model(run: Run) -> Unfinished | None:
    """The full model before it is made compact, else the first one; None if there is neither."""
    config = run.config()
    kept = CheckedStore(run, config, run.dataset().vocab)
    full = kept.load(FULL)
    if full is not None:
        return Unfinished(unpack_learned(full, config, embedding_of(run)), FULL)
    first = kept.load(PRELIMINARY)
    if first is None:
        return None
    return Unfinished(unpack_learned(first, changed(config, {"variant": "rnnlogic"}), None), PRELIMINARY)


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


def label_run(folder: str | Path, labels: Labels) -> Relabelled:
    """Keep labels in a run folder; they go before those that it has, and change no result."""
    Run.open(folder)  # before the lock, which makes a folder that is missing
    with exclusive(folder):
        run = Run.open(folder)
        dataset = run.dataset()
        found = relabelled(dataset.vocab, labels)
        dataset = dataset.with_vocab(found.vocab)
        write_vocabulary(run.folder, dataset)
        if run.finished:
            rules = read_weighted_rules(run.folder, run.config(), dataset.vocab)
            write_file(run.folder / RULES, rules_text(rules, dataset))
    return found


def template_run(folder: str | Path, templates: Templates) -> Templated:
    """Keep templates in a run folder; they go before those that it has, and change no result."""
    Run.open(folder)
    with exclusive(folder):
        run = Run.open(folder)
        dataset = run.dataset()
        found = templated(dataset.vocab, templates)
        write_vocabulary(run.folder, dataset.with_vocab(found.vocab))
        return found
