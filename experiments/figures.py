"""Two figures of the paper: MRR against the embedding dimension, and against the share of training facts.

    python experiments/figures.py dimension --data DIR        # Kinship: RotatE, RNNLogic with emb.
    python experiments/figures.py facts --data DIR            # Kinship and UMLS: RotatE, RNNLogic w/o emb.

DIR holds the authors' splits. Every point is a run of experiments/run.py with packaged settings, seed 0;
finished ones are not done again. Writes docs/figures/<name>.csv and .png: test facts, both sides, evidence
train, expected ties. RNNLogic with emb. takes the rules of the setting ours and learns their weights for
every embedding anew.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiment import load_experiment
from report import FIGURES, minutes_of
from run import run_seed

MODELS = {"rotate": "RotatE", "ours": "RNNLogic w/o emb.", "emb": "RNNLogic with emb."}


class Figure(NamedTuple):
    """What is varied, for which settings of which datasets."""

    datasets: tuple[str, ...]
    settings: tuple[str, ...]
    key: str
    values: tuple[int, ...]
    label: str
    is_log: bool


DRAWN = {
    "dimension": Figure(
        ("kinship",),
        ("rotate", "emb"),
        "dim",
        (50, 100, 200, 500, 1000, 2000),
        "embedding dimension (complex)",
        True,
    ),
    "facts": Figure(
        ("kinship", "umls"), ("rotate", "ours"), "facts", (20, 40, 60, 80, 100), "training facts, %", False
    ),
}


class Point(NamedTuple):
    """One measurement."""

    dataset: str
    model: str
    x: int
    valid_mrr: float
    test_mrr: float
    minutes: str


def points(figure: Figure, data: Path) -> Iterator[Point]:
    """Every point, measured now if it was not before."""
    for dataset in figure.datasets:
        experiment = load_experiment(dataset)
        for setting in figure.settings:
            for x in figure.values:
                folder = run_seed(experiment, data, point_setting(setting, figure.key, x), 0)
                valid, test = (read_mrr(folder, split) for split in ("valid", "test"))
                yield Point(dataset, MODELS[setting], x, valid, test, minutes_of([folder]))


def point_setting(setting: str, key: str, x: int) -> str:
    """The setting of a point; with all facts it is the setting itself."""
    return setting if (key, x) == ("facts", 100) else f"{setting}@{key}={x}"


def read_mrr(folder: Path, split: str) -> float:
    """MRR of a report."""
    report: dict[str, Any] = json.loads((folder / "reports" / f"{split}.json").read_text(encoding="utf-8"))
    mrr: float = report["both"]["expected"]["mrr"]
    return mrr


def write_csv(path: Path, points: Sequence[Point]) -> None:
    """The data of a figure."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Point._fields)
        writer.writerows((*p[:3], f"{p.valid_mrr:.4f}", f"{p.test_mrr:.4f}", p.minutes) for p in points)


def plot(path: Path, points: Sequence[Point], label: str, is_log: bool) -> None:
    """A panel for every dataset, a line for every model."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(point.dataset for point in points))
    figure, panels = plt.subplots(1, len(names), figsize=(4.8 * len(names), 3.6), squeeze=False)
    for panel, name in zip(panels[0], names, strict=True):
        own = [point for point in points if point.dataset == name]
        for model in dict.fromkeys(point.model for point in own):
            line = [(p.x, p.test_mrr) for p in own if p.model == model]
            panel.plot(*zip(*line, strict=True), marker="o", label=model)
        if is_log:
            panel.set_xscale("log")
        ticks = sorted({point.x for point in own})
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
        panel.set(title=name, xlabel=label, ylabel="test MRR")
        panel.grid(alpha=0.3)
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure what is missing, then write data and plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", choices=list(DRAWN))
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    figure = DRAWN[options.figure]
    measured = list(points(figure, options.data))
    FIGURES.mkdir(parents=True, exist_ok=True)
    write_csv(FIGURES / f"{options.figure}.csv", measured)
    plot(FIGURES / f"{options.figure}.png", measured, figure.label, figure.is_log)
    print(f"{FIGURES}/{options.figure}.csv and .png written")


if __name__ == "__main__":
    main()
