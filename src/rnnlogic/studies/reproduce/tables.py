"""Lines of the report's tables: our mean and deviation over seeds beside the published number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev

from rnnlogic.studies.reproduce.files import metrics_of, read_json

METRICS = ("mrr", "mr", "hits@1", "hits@3", "hits@10")
ABOUT = ("model.json", "embedding/about.json")  # where a folder tells its minutes


def runs_of(out: Path, dataset: str, setting: str) -> list[Path]:
    """Finished run folders with a test report, by seed."""
    folders = (out / dataset / setting).glob("seed-*")
    done = (folder for folder in folders if (folder / "reports" / "test.json").is_file())
    return sorted(done, key=lambda folder: int(folder.name.removeprefix("seed-")))


def spread(values: Sequence[float], metric: str = "mrr") -> str:
    """Mean, and deviation where there are several."""
    digits = 1 if metric == "mr" else 3
    text = f"{mean(values):.{digits}f}"
    return f"{text} ± {stdev(values):.{digits}f}" if len(values) > 1 else text


def cells(
    folders: Sequence[Path], published: Mapping[str, float], report: str = "test", side: str = "both"
) -> list[str]:
    """A cell for every metric: ours (published); `-` where we have none."""
    reports = [metrics_of(folder, report, side) for folder in folders]
    ours = [spread([one[metric] for one in reports], metric) if reports else "-" for metric in METRICS]
    shown = [f" ({published[metric]:g})" if metric in published else "" for metric in METRICS]
    return [own + other for own, other in zip(ours, shown, strict=True)]


def minutes_of(folders: Sequence[Path]) -> str:
    """Mean minutes of fit (or training) and test evaluation; of a choice of settings, what it took in all."""
    if not folders:
        return "-"
    spent = [
        fit_minutes(folder) + read_json(folder / "reports/test.json")["seconds"] / 60 for folder in folders
    ]
    chosen = folders[0].parent / "chosen.json"
    choice = f" (+ {read_json(chosen)['minutes_of_choice']:.1f})" if chosen.is_file() else ""
    return f"{mean(spent):.1f}{choice}"


def fit_minutes(folder: Path) -> float:
    """Minutes of a fit or training."""
    about = next(folder / name for name in ABOUT if (folder / name).is_file())
    minutes: float = read_json(about)["minutes"]
    return minutes


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    return ["", *(f"| {' | '.join(row)} |" for row in (headers, ["---"] * len(headers), *rows))]
