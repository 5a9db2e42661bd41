"""Fit and evaluate an experiment, a run folder for each seed; finished ones are not done again.

    python experiments/run.py kinship --data DIR --setting ours --seeds 0 1 2 3 4

DIR holds the authors' splits as folders kinship/, umls/, wn18rr/, fb15k-237/ (rotate/: their embeddings).
Run folders go to runs/experiments/<dataset>/<setting>/seed-<n>; `python experiments/report.py` makes
docs/results.md of them. Settings are chosen on validation facts; test facts are evaluated once, with evidence
train and (but for RNNLogic+) train+valid. A setting that needs an embedding takes that of the setting rotate,
same seed, which is trained first. `rotate@dim=50`, `emb@dim=50`, `ours@facts=20` are points of figures:
another dimension (emb: with the rules of ours), a share of the training facts in percent.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import ROTATE, Experiment, Setting, experiment_names, load_experiment
from rnnlogic.cli.progress import StageProgress
from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.files import load_authors_checkpoint
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer, Split, evaluate
from rnnlogic.learning.runs import Run
from rnnlogic.model import RNNLogic

REPORTS: tuple[tuple[str, Split, Evidence], ...] = (
    ("valid", "valid", "train"),
    ("test", "test", "train"),
    ("test-train+valid", "test", "train+valid"),
)


@dataclass(frozen=True)
class OnFacts:
    """A scorer that sees the facts of a graph only, whichever graph it is asked about."""

    scorer: Scorer
    graph: Graph

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores from the facts of the own graph."""
        del graph
        return self.scorer.score(self.graph, heads, relations)


def measure(
    scorer: Scorer, seen: Dataset, whole: Dataset, split: Split, evidence: Evidence
) -> dict[str, Any]:
    """A report; training facts that were left out are no evidence, but known: they are not ranked."""
    return evaluate(OnFacts(scorer, seen.graph(evidence)), whole, split, evidence).as_dict()


def run_seed(experiment: Experiment, data: Path, setting: str, seed: int) -> Path:
    """Fit and evaluate one seed."""
    if Setting.parse(setting).name == ROTATE:
        return run_rotate(experiment, data, setting, seed)
    dataset, whole = experiment.load(setting, data), experiment.whole(data)
    folder, config = experiment.folder(setting, seed), experiment.config(setting, seed)
    embeddings = embedding_for(experiment, dataset, data, setting, seed) if "emb" in config.variant else None
    rules = experiment.rules_of(setting, seed)
    with StageProgress() as progress:
        model = RNNLogic(config)
        model.fit(dataset, folder, progress, embeddings=embeddings, rules=rules, generate=rules is None)
    run = Run.open(folder)
    for name, split, evidence in REPORTS[:2] if config.is_plus else REPORTS:
        if run.report(name) is None:
            run.save_report(name, measure(model.scorer, dataset, whole, split, evidence))
    return folder


def embedding_for(
    experiment: Experiment, dataset: Dataset, data: Path, setting: str, seed: int
) -> RotatE | Path:
    """The authors' checkpoint where the setting names one, else our own of the same seed."""
    if setting not in experiment.checkpoints:
        own = ROTATE + Setting.parse(setting).point()
        return run_rotate(experiment, data, own, seed) / "embedding"
    folder = data / experiment.checkpoints[setting]
    names = [folder.parent / f"{experiment.dataset}.{kind}.dict" for kind in ("entities", "relations")]
    return load_authors_checkpoint(folder, dataset.vocab, *names)


def run_rotate(experiment: Experiment, data: Path, setting: str, seed: int) -> Path:
    """Train and evaluate RotatE alone, which looks at no evidence."""
    folder, dataset = experiment.folder(setting, seed), experiment.load(setting, data)
    with StageProgress() as progress:
        settings = experiment.rotate(setting, dataset, seed)
        embedding = RotatE.fit(dataset, settings, folder / "embedding", progress)
    (folder / "reports").mkdir(exist_ok=True)
    for name, split, evidence in REPORTS[:2]:
        path = folder / "reports" / f"{name}.json"
        if not path.is_file():
            report = measure(embedding, dataset, experiment.whole(data), split, evidence)
            path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
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
    if Setting.parse(options.setting).name not in experiment.settings:
        parser.error(f"{options.dataset}.yaml has the settings {', '.join(experiment.settings)}")
    for seed in options.seeds:
        started = time.perf_counter()
        folder = run_seed(experiment, options.data, options.setting, seed)
        report = json.loads((folder / "reports" / "test.json").read_text(encoding="utf-8"))
        minutes = (time.perf_counter() - started) / 60
        mrr = report["both"]["expected"]["mrr"]
        print(f"{folder}: test MRR {mrr:.4f}, this call {minutes:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
