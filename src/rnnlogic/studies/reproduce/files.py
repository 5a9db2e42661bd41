"""JSON files of run folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlogic.base.atomic import write_atomically


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """A JSON file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """What a JSON file holds."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


def metrics_of(folder: Path, report: str = "test", side: str = "both") -> dict[str, float]:
    """Metrics of a report of a run folder, by the expected tie rule."""
    metrics: dict[str, float] = read_json(folder / "reports" / f"{report}.json")[side]["expected"]
    return metrics
