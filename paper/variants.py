"""Our own settings: fit a model and evaluate it. A finished run is not repeated.

Settings were chosen on the validation set; the test set is evaluated once. A setting that needs an embedding
takes the one that the setting `rotate` trained with the same seed, or those that the experiment file names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper.experiment import EMBEDDINGS, Bench, Setting
from rnnlogic.base.types import Progress
from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.files import load_authors_checkpoint
from rnnlogic.embeddings.fit import fit
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer, Split, evaluate
from rnnlogic.evaluation.report import Report, save_ranks
from rnnlogic.model import RNNLogic
from rnnlogic.runs.files import evaluation_name, has_report, ranks_path, write_report
from rnnlogic.runs.folder import fingerprint


@dataclass(frozen=True)
class OnFacts:
    """A scorer that always looks at the facts of its own graph."""

    scorer: Scorer
    graph: Graph

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] from the facts of its own graph."""
        del graph
        return self.scorer.score(self.graph, heads, relations)


def measure(scorer: Scorer, seen: Dataset, whole: Dataset, split: Split, evidence: Evidence) -> Report:
    """Evaluate a scorer; training facts that were left out are not evidence, but are filtered."""
    return evaluate(OnFacts(scorer, seen.graph(evidence)), whole, split, evidence)


def run_variant(bench: Bench, dataset: str, text: str, seed: int, progress: Progress) -> Path:
    """Fit and evaluate one seed of one setting."""
    if Setting.parse(text).name in EMBEDDINGS:
        return run_embedding(bench, dataset, text, seed, progress)
    experiment, folder = bench.experiment(dataset), bench.folder(dataset, text, seed)
    seen, whole, config = bench.load(dataset, text), bench.load(dataset), experiment.config(text, seed)
    taken = experiment.rules_from(text)
    model = RNNLogic(config)
    model.fit(
        seen,
        folder,
        progress,
        embeddings=embeddings_for(bench, dataset, text, seed, progress),
        rules=None if taken is None else bench.folder(dataset, taken, seed),
        generate=taken is None,
        calibrate=False,  # ranks do not need probabilities, and with embeddings they are half of the time
    )
    for split, evidence in experiment.evaluations(text):
        name = evaluation_name(split, evidence)
        if not has_report(folder, name):
            write_report(folder, name, measure(model.scorer, seen, whole, split, evidence).as_dict())
    return folder


def embeddings_for(
    bench: Bench, dataset: str, text: str, seed: int, progress: Progress
) -> RotatE | list[Path] | None:
    """The authors' checkpoint if the setting names one, else our own of the same seed if it needs any."""
    experiment = bench.experiment(dataset)
    own = experiment.embeddings_from(text)
    if own:
        return [run_embedding(bench, dataset, one, seed, progress) / "embedding" for one in own]
    if text not in experiment.checkpoints:
        return None
    folder = bench.data / experiment.checkpoints[text]
    names = [folder.parent / f"{dataset}.{kind}.dict" for kind in ("entities", "relations")]
    return load_authors_checkpoint(folder, bench.load(dataset).vocab, *names)


def run_embedding(bench: Bench, dataset: str, text: str, seed: int, progress: Progress) -> Path:
    """Train and evaluate an embedding alone."""
    experiment, folder = bench.experiment(dataset), bench.folder(dataset, text, seed)
    seen, whole = bench.load(dataset, text), bench.load(dataset)
    embedding = fit(seen, experiment.training(text, seed), folder / "embedding", progress)
    for split, evidence in experiment.evaluations(text):
        if not has_report(folder, evaluation_name(split, evidence)):
            keep(folder, measure(embedding, seen, whole, split, evidence), seen)
    return folder


def keep(folder: Path, report: Report, dataset: Dataset) -> None:
    """Write a report and its ranks, so that `rnnlogic compare` works without the model."""
    save_ranks(ranks_path(folder, report.split, report.evidence), report, fingerprint(dataset))
    write_report(folder, evaluation_name(report.split, report.evidence), report.as_dict())
