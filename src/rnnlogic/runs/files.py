"""Files of a run folder: each appears whole or not at all, and errors name the file and the way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlogic.base.atomic import Content, write_atomically
from rnnlogic.base.errors import RNNLogicError


class RunError(RNNLogicError):
    """A run folder, or a file in it, is not what the command needs; the message says what to do."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def unreadable(path: Path, problem: object) -> RunError:
    """The error for a file that is missing or damaged."""
    return RunError(path, f"cannot be read ({problem}); was the folder copied whole?")


def write_file(path: Path, content: Content) -> None:
    """Write a file of a run; missing folders are made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise RunError(path, f"cannot be written ({error.strerror or error})") from None


def append_line(path: Path, line: str) -> None:
    """Add a line to a file; a kill may have left half a line at its end, which is dropped first."""
    try:
        with path.open("ab+") as file:
            end = file.tell()
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            if whole < end:
                file.truncate(whole)
            file.write(line.encode() + b"\n")
    except OSError as error:
        raise RunError(path, f"cannot be written ({error.strerror or error})") from None


def write_object(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object."""
    write_file(path, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if not isinstance(values, dict):
        raise unreadable(path, f"expected an object, found {type(values).__name__}")
    return values


def remove_partial_files(folder: Path) -> None:
    """Remove what a kill in the middle of writing left in a folder."""
    for path in folder.glob(".*.partial"):
        path.unlink(missing_ok=True)
