"""Models that the paper compares with: trained by their means, evaluated by ours. A finished one stays.

A folder holds model.json (settings and minutes), reports/valid.json and test.json, and all ranks beside them,
so that `rnnlogic compare` takes it. Settings of PyKEEN's models are chosen on validation facts from the grid
in studies/baselines/pykeen_models.py, with seed 0 for all seeds, and kept in <model>/chosen.json; what was
tried is in <model>/tried.json, so that a choice that was stopped goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import Scorer, Split, evaluate
from rnnlogic.evaluation.files import save_ranks
from rnnlogic.rules.formats import read_table
from rnnlogic.runs.fingerprints import fingerprint
from rnnlogic.runs.reports import ranks_path
from rnnlogic.studies.baselines.confidence import Aggregation, confidence_scorer
from rnnlogic.studies.baselines.differentiable import DifferentiableSettings, fit_differentiable
from rnnlogic.studies.baselines.pathrank import PathRankSettings, fit_pathrank
from rnnlogic.studies.baselines.pykeen_models import MOST_EPOCHS, RECIPES, Trained, grid_of, train_pykeen
from rnnlogic.studies.reproduce.experiment import CHOICE, Bench, Progress
from rnnlogic.studies.reproduce.files import read_json, write_json

SPLITS: tuple[Split, ...] = ("valid", "test")
SMALL_EPOCHS = {
    "pykeen": 50,
    "differentiable": 3,
}  # at the small size, where one setting is tried, not a grid


@dataclass(frozen=True)
class Job:
    """One seed of one model."""

    dataset: Dataset
    model: str
    seed: int
    folder: Path
    progress: Progress
    is_small: bool = False
    rules: Path | None = None

    def show(self, done: int, total: int, mrr: float) -> None:
        """Tell how far training is."""
        self.progress(self.model, done, total, f"valid MRR {mrr:.3f}")


Made = tuple[Scorer, dict[str, Any]]  # a scorer, and what model.json says of it


def pathrank(job: Job) -> Made:
    """Path features and logistic regression."""
    settings = PathRankSettings(seed=job.seed, threads=default_threads())
    return fit_pathrank(job.dataset, settings), {"settings": settings.model_dump()}


def differentiable(job: Job, model: Literal["neural-lp", "drum"]) -> Made:
    """NeuralLP or DRUM."""
    settings = DifferentiableSettings(model=model, seed=job.seed, threads=default_threads())
    if job.is_small:
        settings = settings.model_copy(update={"epochs": SMALL_EPOCHS["differentiable"]})
    return fit_differentiable(job.dataset, settings, job.show), {"settings": settings.model_dump()}


def pykeen(job: Job) -> Made:
    """An embedding model; at the small size with the first settings of its grid, else with the best."""
    epochs = SMALL_EPOCHS["pykeen"] if job.is_small else MOST_EPOCHS
    settings = grid_of(job.model)[0] if job.is_small else _chosen_settings(job)
    trained = train_pykeen(job.model, job.dataset, settings, job.seed, job.show, epochs)
    return trained.scorer, _told(trained)


def _chosen_settings(job: Job) -> dict[str, Any]:
    """The settings of the grid with the best validation MRR, tried now if they were not before."""
    chosen, tried = (job.folder.parent / name for name in CHOICE)
    if not chosen.is_file():
        grid = grid_of(job.model)
        before = read_json(tried)["tried"] if tried.is_file() else []
        outcomes = [outcome for outcome in before if outcome["settings"] in grid]  # the grid may have changed
        for settings in [one for one in grid if one not in [outcome["settings"] for outcome in outcomes]]:
            outcomes.append(_told(train_pykeen(job.model, job.dataset, settings, 0, job.show)))
            write_json(tried, {"tried": outcomes})
        minutes = sum(outcome["minutes"] for outcome in outcomes)
        best = max(outcomes, key=lambda outcome: outcome["valid_mrr"])
        write_json(chosen, {"minutes_of_choice": round(minutes, 3), **best})
    best_settings: dict[str, Any] = read_json(chosen)["settings"]
    return best_settings


def anyburl(job: Job, aggregation: Aggregation) -> Made:
    """Rules of a file with AnyBURL's figures."""
    if job.rules is None:
        raise RNNLogicError(f"{job.model} needs --anyburl FILE, a rule file that AnyBURL wrote")
    table, report = read_table(job.rules, job.dataset.vocab, "anyburl")
    scorer = confidence_scorer(table, aggregation, threads=default_threads())
    return scorer, {"settings": {"aggregation": aggregation, "rules": len(table)}, "read": str(report)}


MODELS: dict[str, Callable[[Job], Made]] = {
    "pathrank": pathrank,
    "neural-lp": partial(differentiable, model="neural-lp"),
    "drum": partial(differentiable, model="drum"),
    **dict.fromkeys(RECIPES, pykeen),
    "anyburl": partial(anyburl, aggregation="max"),
    "anyburl-noisy-or": partial(anyburl, aggregation="noisy-or"),
}


def run_other(bench: Bench, dataset: str, model: str, seed: int, progress: Progress) -> Path:
    """Train and evaluate one seed of one model."""
    folder = bench.folder(dataset, model, seed)
    return run_job(Job(bench.load(dataset), model, seed, folder, progress, bench.is_small, bench.anyburl))


def run_job(job: Job) -> Path:
    """Train, evaluate, write; nothing if all is there."""
    reports = [job.folder / "reports" / f"{split}.json" for split in SPLITS]
    if all(report.is_file() for report in reports):
        return job.folder
    began = time.monotonic()
    scorer, about = MODELS[job.model](job)
    minutes = round((time.monotonic() - began) / 60, 3)
    write_json(job.folder / "model.json", {"model": job.model, "seed": job.seed, "minutes": minutes, **about})
    for split, path in zip(SPLITS, reports, strict=True):
        report = evaluate(scorer, job.dataset, split)
        save_ranks(ranks_path(job.folder, split), report, fingerprint(job.dataset))
        write_json(path, report.as_dict())
    return job.folder


def _told(trained: Trained) -> dict[str, Any]:
    return {
        "settings": trained.settings,
        "epochs": trained.epochs,
        "valid_mrr": trained.valid_mrr,
        "minutes": round(trained.minutes, 3),
    }
