"""Train and evaluate a model that the paper compares with; a folder for each seed, finished ones stay.

    python experiments/baselines.py kinship --data DIR --model drum --seeds 0 1
    python experiments/baselines.py umls --data DIR --model anyburl --rules FILE

DIR holds the authors' splits. Folders go to runs/experiments/<dataset>/<model>/seed-<n>: model.json (settings
and minutes), reports/valid.json and test.json, and all ranks beside them, so that `rnnlogic compare` takes
such a folder. Settings of PyKEEN's models are chosen by seed 0 on validation facts from the grid in
rnnlogic.baselines.pykeen_models, and kept in <model>/chosen.json for all seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from experiment import RUNS, experiment_names
from rnnlogic.atomic import write_atomically
from rnnlogic.baselines.confidence import Aggregation, confidence_scorer
from rnnlogic.baselines.differentiable import DifferentiableSettings, fit_differentiable
from rnnlogic.baselines.pathrank import PathRankSettings, fit_pathrank
from rnnlogic.baselines.pykeen_models import RECIPES, Trained, choose_settings, train_pykeen
from rnnlogic.cli.progress import StageProgress
from rnnlogic.compare_runs import ranks_file
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.evaluation.evaluate import Scorer, Split, evaluate
from rnnlogic.evaluation.files import save_ranks
from rnnlogic.learning.runs import fingerprint
from rnnlogic.rules.formats import read_table

SPLITS: tuple[Split, ...] = ("valid", "test")


@dataclass(frozen=True)
class Job:
    """One seed of one model."""

    dataset: Dataset
    model: str
    seed: int
    folder: Path
    threads: int
    rules: Path | None
    progress: StageProgress


Made = tuple[Scorer, dict[str, Any]]  # a scorer, and what model.json says of it


def pathrank(job: Job) -> Made:
    """Path features and logistic regression."""
    settings = PathRankSettings(seed=job.seed, threads=job.threads)
    return fit_pathrank(job.dataset, settings), {"settings": settings.model_dump()}


def differentiable(job: Job, model: Literal["neural-lp", "drum"]) -> Made:
    """NeuralLP or DRUM."""
    settings = DifferentiableSettings(model=model, seed=job.seed, threads=job.threads)
    show = partial(job.progress.evaluation, model)
    return fit_differentiable(job.dataset, settings, show), {"settings": settings.model_dump()}


def pykeen(job: Job) -> Made:
    """An embedding model, with the settings that seed 0 chose."""
    torch.set_num_threads(job.threads)
    show = partial(job.progress.evaluation, job.model)
    path = job.folder.parent / "chosen.json"
    if not path.is_file():
        began = time.monotonic()
        chosen = choose_settings(job.model, job.dataset, 0, show)
        minutes = round((time.monotonic() - began) / 60, 3)
        write_json(path, {"minutes_of_choice": minutes, **_told(chosen)})
        if job.seed == 0:
            return chosen.scorer, _told(chosen)
    settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
    trained = train_pykeen(job.model, job.dataset, settings, job.seed, show)
    return trained.scorer, _told(trained)


def anyburl(job: Job, aggregation: Aggregation) -> Made:
    """Rules of a file with AnyBURL's figures."""
    if job.rules is None:
        raise SystemExit(f"--model {job.model} needs --rules FILE, a file that AnyBURL wrote")
    table, report = read_table(job.rules, job.dataset.vocab, "anyburl")
    scorer = confidence_scorer(table, aggregation, threads=job.threads)
    return scorer, {"settings": {"aggregation": aggregation, "rules": len(table)}, "read": str(report)}


MODELS: dict[str, Callable[[Job], Made]] = {
    "pathrank": pathrank,
    "neural-lp": partial(differentiable, model="neural-lp"),
    "drum": partial(differentiable, model="drum"),
    **dict.fromkeys(RECIPES, pykeen),
    "anyburl": partial(anyburl, aggregation="max"),
    "anyburl-noisy-or": partial(anyburl, aggregation="noisy-or"),
}


def run(job: Job, splits: tuple[Split, ...] = SPLITS) -> Path:
    """Train, evaluate, write; nothing if all is there."""
    reports = [job.folder / "reports" / f"{split}.json" for split in splits]
    if all(report.is_file() for report in reports):
        return job.folder
    began = time.monotonic()
    scorer, about = MODELS[job.model](job)
    minutes = round((time.monotonic() - began) / 60, 3)
    write_json(job.folder / "model.json", {"model": job.model, "seed": job.seed, "minutes": minutes, **about})
    for split, path in zip(splits, reports, strict=True):
        report = evaluate(scorer, job.dataset, split)
        save_ranks(ranks_file(job.folder, split), report, fingerprint(job.dataset))
        write_json(path, report.as_dict())
    return job.folder


def write_json(path: Path, values: dict[str, Any]) -> None:
    """A JSON file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def _told(trained: Trained) -> dict[str, Any]:
    return {
        "settings": trained.settings,
        "epochs": trained.epochs,
        "valid_mrr": trained.valid_mrr,
        "minutes": round(trained.minutes, 3),
    }


def main() -> None:
    """Parse arguments and run every seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", choices=experiment_names())
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", choices=list(MODELS), required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--rules", type=Path, help="rule file of AnyBURL, for --model anyburl")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--valid-only", action="store_true", help="leave the test facts alone")
    options = parser.parse_args()
    dataset = load_dataset(options.data / options.dataset)
    place = RUNS / options.dataset / options.model
    splits: tuple[Split, ...] = SPLITS[:1] if options.valid_only else SPLITS
    for seed in options.seeds:
        with StageProgress() as progress:
            job = Job(
                dataset,
                options.model,
                seed,
                place / f"seed-{seed}",
                options.threads,
                options.rules,
                progress,
            )
            run(job, splits)
        for split in splits:
            report = json.loads((job.folder / "reports" / f"{split}.json").read_text(encoding="utf-8"))
            print(f"{job.folder}: {split} MRR {report['both']['expected']['mrr']:.4f}", flush=True)


if __name__ == "__main__":
    main()
