"""The reports of a run folder: evaluations and studies as JSON, and the ranks of an evaluation beside it.

    reports/<name>.json          an evaluation or a study
    reports/<name>.safetensors   all ranks of an evaluation

An evaluation is named after its split, and after its evidence unless that is `train`. Runs, embeddings and
baselines keep their reports alike, so `rnnlogic compare` and `python -m paper` can read any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlogic.runs.files import read_object, write_object

REPORTS = "reports"


def evaluation_name(split: str, evidence: str = "train") -> str:
    """The name of an evaluation's report."""
    return split if evidence == "train" else f"{split}-{evidence}"


def report_path(folder: str | Path, name: str) -> Path:
    """Where a report lies."""
    return Path(folder) / REPORTS / f"{name}.json"


def ranks_path(folder: str | Path, split: str, evidence: str = "train") -> Path:
    """Where the ranks of an evaluation lie, beside its report."""
    return Path(folder) / REPORTS / f"{evaluation_name(split, evidence)}.safetensors"


def has_report(folder: str | Path, name: str) -> bool:
    """Whether a report is there."""
    return report_path(folder, name).is_file()


def read_report(folder: str | Path, name: str) -> dict[str, Any]:
    """A report that is there."""
    return read_object(report_path(folder, name))


def write_report(folder: str | Path, name: str, values: Mapping[str, Any]) -> None:
    """Keep a report; it replaces an older one of the same name."""
    write_object(report_path(folder, name), values)


def metrics_of(folder: str | Path, name: str = "test", side: str = "both") -> dict[str, float]:
    """Metrics of an evaluation, ties by expectation."""
    metrics: dict[str, float] = read_report(folder, name)[side]["expected"]
    return metrics
