"""Our own settings: fit, and evaluate test facts once. A finished run is not done again.

Settings are chosen on validation facts; test facts are evaluated with evidence train and (but for RNNLogic+)
train+valid. A setting that needs an embedding takes that of the setting rotate, same seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.files import load_authors_checkpoint
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer, Split, evaluate
from rnnlogic.evaluation.files import save_ranks
from rnnlogic.evaluation.report import Report
from rnnlogic.model import RNNLogic
from rnnlogic.runs.fingerprints import fingerprint
from rnnlogic.runs.folder import Run
from rnnlogic.runs.reports import ranks_path
from rnnlogic.studies.reproduce.experiment import ROTATE, Bench, Progress, Setting
from rnnlogic.studies.reproduce.files import write_json

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


def measure(scorer: Scorer, seen: Dataset, whole: Dataset, split: Split, evidence: Evidence) -> Report:
    """A report; training facts that were left out are no evidence, but known: they are not ranked."""
    return evaluate(OnFacts(scorer, seen.graph(evidence)), whole, split, evidence)


def run_variant(bench: Bench, dataset: str, text: str, seed: int, progress: Progress) -> Path:
    """Fit and evaluate one seed of one setting."""
    if Setting.parse(text).name == ROTATE:
        return run_rotate(bench, dataset, text, seed, progress)
    experiment, folder = bench.experiment(dataset), bench.folder(dataset, text, seed)
    seen, whole, config = bench.load(dataset, text), bench.load(dataset), experiment.config(text, seed)
    taken = experiment.rules_from(text)
    model = RNNLogic(config)
    model.fit(
        seen,
        folder,
        progress,
        embeddings=embedding_for(bench, dataset, text, seed, progress),
        rules=None if taken is None else bench.folder(dataset, taken, seed),
        generate=taken is None,
    )
    run = Run.open(folder)
    for name, split, evidence in REPORTS[:2] if config.is_plus else REPORTS:
        if run.report(name) is None:
            run.save_report(name, measure(model.scorer, seen, whole, split, evidence).as_dict())
    return folder


def embedding_for(
    bench: Bench, dataset: str, text: str, seed: int, progress: Progress
) -> RotatE | Path | None:
    """The authors' checkpoint where the setting names one, else our own of the same seed, if any."""
    experiment = bench.experiment(dataset)
    own = experiment.embedding_from(text)
    if own is not None:
        return run_rotate(bench, dataset, own, seed, progress) / "embedding"
    if text not in experiment.checkpoints:
        return None
    folder = bench.data / experiment.checkpoints[text]
    names = [folder.parent / f"{dataset}.{kind}.dict" for kind in ("entities", "relations")]
    return load_authors_checkpoint(folder, bench.load(dataset).vocab, *names)


def run_rotate(bench: Bench, dataset: str, text: str, seed: int, progress: Progress) -> Path:
    """Train and evaluate RotatE alone, which looks at no evidence."""
    folder, seen = bench.folder(dataset, text, seed), bench.load(dataset, text)
    settings = bench.experiment(dataset).rotate(text, seen, seed)
    embedding = RotatE.fit(seen, settings, folder / "embedding", progress)
    for name, split, evidence in REPORTS[:2]:
        path = folder / "reports" / f"{name}.json"
        if not path.is_file():
            report = measure(embedding, seen, bench.load(dataset), split, evidence)
            save_ranks(ranks_path(folder, name), report, fingerprint(seen))
            write_json(path, report.as_dict())
    return folder
