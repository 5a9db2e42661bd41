"""The baselines: trained as their authors do, evaluated as our models are. A finished one is not repeated.

A folder holds model.json (settings and minutes), the reports of the validation and the test set, and all
ranks, which `rnnlogic compare` reads. The settings of a PyKEEN model are chosen on the validation set from
the grid in paper/baselines/pykeen_models.py. Seed 0 chooses for all seeds: <model>/chosen.json has the
choice, <model>/tried.json what was tried so far, so that an interrupted choice resumes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from paper.baselines.confidence import Aggregation, confidence_scorer
from paper.baselines.differentiable import DifferentiableSettings, fit_differentiable
from paper.baselines.first_code import FEWER, FirstCodeSettings, fit_first_code
from paper.baselines.pathrank import PathRankSettings, fit_pathrank
from paper.baselines.pykeen_models import MOST_EPOCHS, RECIPES, Trained, grid_of, train_pykeen
from paper.experiment import CHOICE, EVALUATIONS, Bench
from paper.variants import keep
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads
from rnnlogic.base.types import Progress
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.generator.train import torch_threads
from rnnlogic.rules.formats import read_table
from rnnlogic.runs.files import evaluation_name, has_report, read_object, write_object

SMALL_EPOCHS = {"pykeen": 50, "differentiable": 3}
SMALL_ROUNDS = 2  # of the paper's first code


@dataclass(frozen=True)
class Job:
    """One seed of one baseline."""

    dataset: Dataset
    model: str
    seed: int
    folder: Path
    progress: Progress
    is_small: bool = False
    rules: Path | None = None

    def show(self, done: int, total: int, note: str = "") -> None:
        """Pass on the progress of the training."""
        self.progress(self.model, done, total, note)


Made = tuple[Scorer, dict[str, Any]]  # a scorer, and its entries in model.json


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


def first_code(job: Job) -> Made:
    """The paper's first released code, with as many final rules as its authors took."""
    kept = {"kept": FEWER[job.dataset.name]} if job.dataset.name in FEWER else {}
    settings = FirstCodeSettings(seed=job.seed, threads=default_threads(), **kept)
    if job.is_small:
        settings = settings.model_copy(update={"rounds": SMALL_ROUNDS})
    return fit_first_code(job.dataset, settings, job.show), {"settings": settings.model_dump()}


def pykeen(job: Job) -> Made:
    """An embedding model with the best settings of its grid; at the small size with the first."""
    epochs = SMALL_EPOCHS["pykeen"] if job.is_small else MOST_EPOCHS
    settings = grid_of(job.model)[0] if job.is_small else _chosen_settings(job)
    trained = train_pykeen(job.model, job.dataset, settings, job.seed, job.show, epochs)
    return trained.scorer, _summary(trained)


def _chosen_settings(job: Job) -> dict[str, Any]:
    """The settings of the grid with the best validation MRR; those not tried yet are tried now."""
    chosen, tried = (job.folder.parent / name for name in CHOICE)
    if not chosen.is_file():
        grid = grid_of(job.model)
        before = read_object(tried)["tried"] if tried.is_file() else []
        outcomes = [outcome for outcome in before if outcome["settings"] in grid]  # the grid may have changed
        for settings in [one for one in grid if one not in [outcome["settings"] for outcome in outcomes]]:
            outcomes.append(_summary(train_pykeen(job.model, job.dataset, settings, 0, job.show)))
            write_object(tried, {"tried": outcomes})
        minutes = sum(outcome["minutes"] for outcome in outcomes)
        best = max(outcomes, key=lambda outcome: outcome["valid_mrr"])
        write_object(chosen, {"minutes_of_choice": round(minutes, 3), **best})
    best_settings: dict[str, Any] = read_object(chosen)["settings"]
    return best_settings


def anyburl(job: Job, aggregation: Aggregation) -> Made:
    """The rules of a file that AnyBURL wrote."""
    if job.rules is None:
        raise RNNLogicError(f"{job.model} needs --anyburl FILE, a rule file that AnyBURL wrote")
    table, report = read_table(job.rules, job.dataset.vocab, "anyburl")
    scorer = confidence_scorer(table, aggregation, threads=default_threads())
    return scorer, {"settings": {"aggregation": aggregation, "rules": len(table)}, "read": str(report)}


MODELS: dict[str, Callable[[Job], Made]] = {
    "pathrank": pathrank,
    "neural-lp": partial(differentiable, model="neural-lp"),
    "drum": partial(differentiable, model="drum"),
    "first-code": first_code,
    **dict.fromkeys(RECIPES, pykeen),
    "anyburl": partial(anyburl, aggregation="max"),
    "anyburl-noisy-or": partial(anyburl, aggregation="noisy-or"),
}


def run_other(bench: Bench, dataset: str, model: str, seed: int, progress: Progress) -> Path:
    """Train and evaluate one seed of one baseline."""
    folder = bench.folder(dataset, model, seed)
    return run_job(Job(bench.load(dataset), model, seed, folder, progress, bench.is_small, bench.anyburl))


def run_job(job: Job) -> Path:
    """Train, evaluate and write, unless all reports are there."""
    evaluations = EVALUATIONS[:2]
    if all(has_report(job.folder, evaluation_name(*one)) for one in evaluations):
        return job.folder
    began = time.monotonic()
    with torch_threads(default_threads()):
        scorer, about = MODELS[job.model](job)
        minutes = round((time.monotonic() - began) / 60, 3)
        about = {"model": job.model, "seed": job.seed, "minutes": minutes, **about}
        write_object(job.folder / "model.json", about)
        for split, evidence in evaluations:
            keep(job.folder, evaluate(scorer, job.dataset, split, evidence), job.dataset)
    return job.folder


def _summary(trained: Trained) -> dict[str, Any]:
    return {
        "settings": trained.settings,
        "epochs": trained.epochs,
        "valid_mrr": trained.valid_mrr,
        "minutes": round(trained.minutes, 3),
    }
