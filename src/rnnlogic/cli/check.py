"""`rnnlogic check`: what a run or embedding folder holds, and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.cli.options import AsJson
from rnnlogic.cli.output import echo, print_json, print_note, print_table

if TYPE_CHECKING:
    from rnnlogic.runs.check import Check


def check(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or an embedding.")],
    as_json: AsJson = False,
) -> None:
    """Verify the checksums of a run folder. The exit code is 1 if it is not."""
    from rnnlogic.runs.check import check_folder

    found = check_folder(folder)
    if as_json:
        files = [{"file": file.name, "state": file.state.value, "bytes": file.bytes} for file in found.files]
        about = {"folder": str(folder), "whole": _is_whole(found), "missing": found.missing}
        print_json(about | {"seconds": found.seconds, "files": files})
    else:
        print_table(
            ("file", "bytes", ""), [(file.name, file.bytes, file.state.value) for file in found.files]
        )
        echo(_verdict(found))
    if not _is_whole(found):
        raise typer.Exit(1)


def print_redone(folder: Path) -> None:
    """Remove damaged stages of a fit, and say which are done again."""
    from rnnlogic.runs.check import drop_damaged

    if folder.is_dir():
        for name in drop_damaged(folder):
            print_note(f"{folder / name} is damaged and made again")


def _is_whole(found: Check) -> bool:
    return found.sealed and not found.problems


def _verdict(found: Check) -> str:
    if not found.sealed:
        return "there are no checksums here: it was made by an earlier version, or manifest.jsonl was removed"
    size = sum(file.bytes for file in found.files) / 1e6
    told = f"{len(found.files)} files, {size:.1f} MB, compared with their SHA-256 in {found.seconds:.2f} s"
    if not found.problems:
        return f"whole: {told}"
    first, *others = found.problems
    more = f" and {len(others)} more" if others else ""
    named = f"{first.name} is {first.state.value}{more}"
    return "; ".join([f"NOT whole: {named}, of {told}", *found.remedies()])
