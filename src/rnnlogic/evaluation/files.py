"""All ranks of an evaluation in one file, so that models whose weights are not kept can be compared too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlogic.base.arrays import Declaration, Declared, WrongArraysError, parse_arrays, write_arrays
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.sealed import read_sealed, write_sealed
from rnnlogic.base.types import Arrays
from rnnlogic.evaluation.ranks import Ranks
from rnnlogic.evaluation.report import Report

RANKS: Declaration = {
    "asked": Declared("int32", ("queries", 3), least=0),
    **{name: Declared("int64", ("queries",), least=0) for name in ("better", "tied", "candidates")},
}
KEPT = ("dataset", "split", "evidence", "protocol", "seconds", "sides", "relations")


def save_ranks(path: str | Path, report: Report, data: Mapping[str, str]) -> None:
    """Write a report with all its ranks; `data` is the fingerprint of what was evaluated."""
    arrays: Arrays = {"asked": report.asked, "better": report.ranks.better, "tied": report.ranks.tied}
    arrays["candidates"] = report.ranks.candidates
    about = {name: getattr(report, name) for name in KEPT} | {"data": dict(data)}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    metadata = {"report": json.dumps(about, ensure_ascii=False)}
    write_sealed(Path(path), lambda file: write_arrays(file, arrays, metadata))


def load_ranks(path: str | Path) -> tuple[Report, dict[str, str]]:
    """The report, and the fingerprint of its data."""
    try:
        arrays, metadata = parse_arrays(read_sealed(Path(path)), RANKS)
        about: dict[str, Any] = json.loads(metadata["report"])
        data: dict[str, str] = dict(about.pop("data"))
        about |= {name: tuple(about[name]) for name in ("sides", "relations")}
        asked = arrays.pop("asked")
        if asked.size and asked[:, 1].max() >= 2 * len(about["relations"]):
            raise WrongArraysError("asked holds relations without a name")
        return Report(**about, asked=asked, ranks=Ranks(**arrays)), data
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RNNLogicError(f"{path}: cannot be read ({error}); run the evaluation again") from None
