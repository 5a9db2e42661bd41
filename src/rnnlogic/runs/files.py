"""Files of a run folder: each appears whole or not at all, damage is noticed, errors name the way out.

Arrays are safetensors files: reading them runs no code, and takes only declared ones.

    reports/<name>.json          an evaluation or a study
    reports/<name>.safetensors   all ranks of an evaluation

An evaluation is named after its split, and after its evidence unless that is `train`. Runs, embeddings and
baselines keep their reports alike, so `rnnlogic compare` and `python -m paper` can read any of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rnnlogic.base import arrays as packing
from rnnlogic.base.arrays import Declaration, Sizes, WrongArraysError, parse_arrays
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.files import Content, read_sealed, write_sealed
from rnnlogic.base.files import append_line as append_sealed
from rnnlogic.base.text import printable
from rnnlogic.base.types import Arrays


class RunError(RNNLogicError):
    """A run folder, or a file in it, is not what the command needs; the message says what to do."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def unreadable(path: Path, problem: object) -> RunError:
    """The error for a file that is missing or damaged."""
    return RunError(path, f"cannot be read ({problem}); was the folder copied whole?")


def unwritable(path: Path, error: OSError) -> RunError:
    """The error for a file that cannot be written."""
    return RunError(path, f"cannot be written ({error.strerror or error})")


def write_file(path: Path, content: Content) -> None:
    """Write a file of a run; missing folders are made."""
    try:
        write_sealed(path, content)
    except OSError as error:
        raise unwritable(path, error) from None


def read_file(path: Path) -> bytearray:
    """The bytes of a file of a run, which are what was written there."""
    try:
        return read_sealed(path)
    except OSError as error:
        raise unreadable(path, error.strerror or error) from None


def append_line(path: Path, line: str) -> None:
    """Add a line to a file; a kill may have left half a line at its end, which is dropped first."""
    try:
        append_sealed(path, printable(line))
    except OSError as error:
        raise unwritable(path, error) from None


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Add a line of JSON, unless it is there already: work that a kill undid is done, and told, again.

    How long it took does not count.
    """
    text = json.dumps(record, ensure_ascii=False)
    if _timeless(json.loads(text)) not in map(_timeless, read_records(path)):
        append_line(path, text)


def read_records(path: Path) -> list[dict[str, Any]]:
    """The lines of JSON in a file that grows; half a line that a kill left is none."""
    try:
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
    except OSError as error:
        raise unreadable(path, error.strerror or error) from None
    return [record for record in map(_record, lines) if isinstance(record, dict)]


def write_object(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object."""
    write_file(path, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        values = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise unreadable(path, error) from None
    if not isinstance(values, dict):
        raise unreadable(path, f"expected an object, found {type(values).__name__}")
    return values


def remove_partial_files(folder: Path) -> None:
    """Remove what a kill in the middle of writing left in a folder."""
    for path in folder.glob(".*.partial"):
        path.unlink(missing_ok=True)


def _timeless(record: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k != "seconds"}


def _record(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays, and a few texts about them."""
    write_file(path, lambda file: packing.write_arrays(file, arrays, metadata))


def read_arrays(path: Path, declaration: Declaration | None = None, sizes: Sizes | None = None) -> Arrays:
    """All arrays of a file, as declared; sizes are E, R and whatever else the declaration needs."""
    try:
        return parse_arrays(read_file(path), declaration, sizes).arrays
    except WrongArraysError as error:
        raise unreadable(path, error) from None


def read_metadata(path: Path) -> dict[str, str]:
    """The texts that were written with the arrays."""
    try:
        return parse_arrays(read_file(path)).metadata
    except WrongArraysError as error:
        raise unreadable(path, error) from None


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
