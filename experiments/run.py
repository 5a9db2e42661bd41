"""Fit and evaluate an experiment, a run folder for each seed; finished ones are not done again.

    python experiments/run.py kinship --data DIR --setting ours --seeds 0 1 2 3 4

DIR holds the authors' splits as folders kinship/, umls/, wn18rr/, fb15k-237/. Run folders go to
runs/experiments/<dataset>/<setting>/seed-<n>; `python experiments/report.py` makes docs/results.md of them.
Settings are chosen on validation facts; test facts are evaluated once, with evidence train and train+valid.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from experiment import Experiment, experiment_names, load_experiment
from rnnlogic.cli.progress import StageProgress
from rnnlogic.data.dataset import load_dataset
from rnnlogic.learning.runs import Run
from rnnlogic.model import RNNLogic

RUNS = Path("runs/experiments")


def run_seed(experiment: Experiment, data: Path, setting: str, seed: int) -> Path:
    """Fit and evaluate one seed."""
    folder = RUNS / experiment.dataset / setting / f"seed-{seed}"
    dataset = load_dataset(data / experiment.dataset)
    with StageProgress() as progress:
        model = RNNLogic(experiment.config(setting, seed)).fit(dataset, folder, progress)
    run = Run.open(folder)
    for name, split, evidence in (
        ("valid", "valid", "train"),
        ("test", "test", "train"),
        ("test-train+valid", "test", "train+valid"),
    ):
        if run.report(name) is None:
            report = model.evaluate(split, evidence).as_dict()  # type: ignore[arg-type]
            run.save_report(name, report)
    return folder


def main() -> None:
    """Parse arguments and run every seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", choices=experiment_names())
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--setting", default="ours")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    experiment = load_experiment(options.dataset)
    if options.setting not in experiment.settings:
        parser.error(f"{options.dataset}.yaml has the settings {', '.join(experiment.settings)}")
    for seed in options.seeds:
        started = time.perf_counter()
        folder = run_seed(experiment, options.data, options.setting, seed)
        both = (Run.open(folder).report("test") or {})["both"]["expected"]
        minutes = (time.perf_counter() - started) / 60
        print(f"{folder}: test MRR {both['mrr']:.4f}, this call {minutes:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
