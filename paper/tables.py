"""Lines of the report's tables: our mean and deviation over seeds, and the published number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev

from rnnlogic.runs.files import has_report, metrics_of, read_object, read_report
from rnnlogic.runs.folder import CALIBRATED

METRICS = ("mrr", "mr", "hits@1", "hits@3", "hits@10")
ABOUT = ("model.json", "embedding/about.json")  # files with the minutes of a fit


def runs_of(out: Path, dataset: str, setting: str) -> list[Path]:
    """The run folders with a test report, by seed."""
    done = (folder for folder in (out / dataset / setting).glob("seed-*") if has_report(folder, "test"))
    return sorted(done, key=lambda folder: int(folder.name.removeprefix("seed-")))


def spread(values: Sequence[float], metric: str = "mrr") -> str:
    """The mean, with the standard deviation if there are several values."""
    digits = 1 if metric == "mr" else 3
    text = f"{mean(values):.{digits}f}"
    return f"{text} ± {stdev(values):.{digits}f}" if len(values) > 1 else text


def cells(
    folders: Sequence[Path], published: Mapping[str, float], report: str = "test", side: str = "both"
) -> list[str]:
    """A cell for every metric: ours (published); `-` if it was not run."""
    reports = [metrics_of(folder, report, side) for folder in folders]
    ours = [spread([one[metric] for one in reports], metric) if reports else "-" for metric in METRICS]
    shown = [f" ({published[metric]:g})" if metric in published else "" for metric in METRICS]
    return [own + other for own, other in zip(ours, shown, strict=True)]


def minutes_of(folders: Sequence[Path]) -> str:
    """Mean minutes of fit and test evaluation; if settings were chosen, the minutes of the choice as well.

    Fits that calibrated, as all did once, count only if there are no others.
    """
    if not folders:
        return "-"
    timed = [folder for folder in folders if not (folder / CALIBRATED).is_file()] or folders
    spent = [fit_minutes(folder) + read_report(folder, "test")["seconds"] / 60 for folder in timed]
    chosen = folders[0].parent / "chosen.json"
    choice = f" (+ {read_object(chosen)['minutes_of_choice']:.1f})" if chosen.is_file() else ""
    return f"{mean(spent):.1f}{choice}"


def fit_minutes(folder: Path) -> float:
    """Minutes of a fit or training."""
    about = next(folder / name for name in ABOUT if (folder / name).is_file())
    minutes: float = read_object(about)["minutes"]
    return minutes


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    return ["", *(f"| {' | '.join(row)} |" for row in (headers, ["---"] * len(headers), *rows))]
