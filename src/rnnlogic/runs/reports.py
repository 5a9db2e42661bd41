"""The reports of a run folder: evaluations and studies as JSON, and the ranks of an evaluation beside it.

    reports/<name>.json          an evaluation or a study
    reports/<name>.safetensors   all ranks of an evaluation

An evaluation is named after its split, and after its evidence unless that is `train`. Runs, embeddings and
baselines keep their reports alike, so `rnnlogic compare` and `rnnlogic reproduce` can read any of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlogic.base.atomic import write_atomically
from rnnlogic.base.errors import RNNLogicError

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
    return read_json(report_path(folder, name))


def write_report(folder: str | Path, name: str, values: Mapping[str, Any]) -> None:
    """Keep a report; it replaces an older one of the same name."""
    write_json(report_path(folder, name), values)


def metrics_of(folder: str | Path, name: str = "test", side: str = "both") -> dict[str, float]:
    """Metrics of an evaluation, ties by expectation."""
    metrics: dict[str, float] = read_report(folder, name)[side]["expected"]
    return metrics


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RNNLogicError(f"{path}: cannot be read ({error}); was the folder copied whole?") from None
    return values


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """A JSON file that appears whole or not at all; missing folders are made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(values, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        raise RNNLogicError(f"{path}: cannot be written ({error.strerror or error})") from None
