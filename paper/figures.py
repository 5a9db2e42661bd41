"""Figures of the report: the numbers of finished runs as CSV files and plots."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from paper.experiment import Bench
from paper.tables import minutes_of
from paper.targets import FIGURES, datasets_of, point_setting, point_values
from paper.work import STUDIES
from rnnlogic.runs.files import has_report, metrics_of, read_report

MODELS = {"rotate": "RotatE", "ours": "RNNLogic w/o emb.", "emb": "RNNLogic with emb."}
SOURCES = {  # whose rules
    "miner": "the miner's",
    "pretrained": "the generator's before EM",
    "compact": "compacted from the full model",
}
LABELS = {name: (figure.label, figure.is_log) for name, figure in FIGURES.items()}
LABELS["rules"] = ("rules per relation", True)


class Point(NamedTuple):
    """One measurement."""

    dataset: str
    model: str
    x: int
    test_mrr: float
    valid_mrr: str = ""
    minutes: str = ""


def points_of(target: str, bench: Bench) -> list[Point]:
    """The finished points of a figure."""
    found = _rules_points(bench) if target == "rules" else _run_points(target, bench)
    return list(found)


def _run_points(target: str, bench: Bench) -> Iterator[Point]:
    figure = FIGURES[target]
    for dataset in datasets_of(target, bench.is_small):
        for setting in figure.settings:
            for value in point_values(figure, bench.is_small):
                folder = bench.folder(dataset, point_setting(setting, figure.key, value), 0)
                if has_report(folder, "test"):
                    valid, test = (metrics_of(folder, split)["mrr"] for split in ("valid", "test"))
                    yield Point(dataset, MODELS[setting], value, test, f"{valid:.4f}", minutes_of([folder]))


def _rules_points(bench: Bench) -> Iterator[Point]:
    for dataset in datasets_of("rules", bench.is_small):
        folder, name = bench.folder(dataset, "ours", 0), STUDIES["rules"]
        for source, values in read_report(folder, name).items() if has_report(folder, name) else ():
            named = SOURCES.get(source, f"after EM round {source.removeprefix('round-')}")
            yield from (Point(dataset, named, int(number), mrr) for number, mrr in values.items())


def write_csv(path: Path, points: Sequence[Point]) -> None:
    """Write the data of a figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Point._fields)
        writer.writerows((*p[:3], f"{p.test_mrr:.4f}", *p[4:]) for p in points)


def plot(path: Path, points: Sequence[Point], label: str, is_log: bool) -> bool:
    """Draw a panel for every dataset with a line for every model; False if matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        return False
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
    plt.close(figure)
    return True
