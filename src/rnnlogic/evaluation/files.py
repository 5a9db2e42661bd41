"""All ranks of an evaluation in one file, so that models whose weights are not kept can be compared too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from rnnlogic.base.atomic import write_atomically
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.ranks import Ranks
from rnnlogic.evaluation.report import Report

KEPT = ("dataset", "split", "evidence", "protocol", "seconds", "sides", "relations")


def save_ranks(path: str | Path, report: Report, data: Mapping[str, str]) -> None:
    """Write a report with all its ranks; `data` is the fingerprint of what was evaluated."""
    arrays = {"asked": report.asked, "better": report.ranks.better, "tied": report.ranks.tied}
    arrays["candidates"] = report.ranks.candidates
    about = {name: getattr(report, name) for name in KEPT} | {"data": dict(data)}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    packed = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_atomically(Path(path), to_safetensors(packed, {"report": json.dumps(about, ensure_ascii=False)}))


def load_ranks(path: str | Path) -> tuple[Report, dict[str, str]]:
    """The report, and the fingerprint of its data."""
    try:
        with safe_open(path, framework="numpy") as file:
            about: dict[str, Any] = json.loads(file.metadata()["report"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise RNNLogicError(f"{path}: cannot be read ({error}); run the evaluation again") from None
    data: dict[str, str] = about.pop("data")
    about |= {name: tuple(about[name]) for name in ("sides", "relations")}
    asked = arrays.pop("asked")
    return Report(**about, asked=asked, ranks=Ranks(**arrays)), data
