"""Whether the files of a run or an embedding are whole, and what can be done about those that are not."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.files import MANIFEST, digest, is_whole, known_files, refuse_links
from rnnlogic.base.lock import LOCK, exclusive
from rnnlogic.embeddings.files import ABOUT
from rnnlogic.embeddings.fit import CHECKPOINT
from rnnlogic.runs.dataset import GRAPHS
from rnnlogic.runs.files import REPORTS, RunError
from rnnlogic.runs.finished import is_finished
from rnnlogic.runs.folder import STAGES

REDONE = (STAGES, REPORTS, GRAPHS)  # folders whose files follow from the others
GROW = ("log.txt", "metrics.jsonl")  # until a fit is finished nobody knows how long they should be


class State(StrEnum):
    """How a file is."""

    whole = "whole"
    damaged = "damaged"
    missing = "missing"
    unknown = "not in the manifest"
    grows = "still growing"


class Checked(NamedTuple):
    """A file of the folder, by its name there."""

    name: str
    state: State
    bytes: int


class Check(NamedTuple):
    """All files of a folder."""

    folder: Path
    files: list[Checked]
    seconds: float
    sealed: bool  # whether there are checksums at all

    @property
    def problems(self) -> list[Checked]:
        """Files that are not as they were written."""
        return [file for file in self.files if file.state not in (State.whole, State.grows)]

    @property
    def missing(self) -> list[str]:
        """Files that were written and are gone; after a kill one may never have got its name."""
        return [file.name for file in self.files if file.state is State.missing]

    def remedies(self) -> list[str]:
        """How what is missing or damaged is made again, as far as it can be."""
        gone = {name.partition("/")[0] for name in self.missing}
        damaged = {file.name.partition("/")[0] for file in self.problems if file.state is not State.missing}
        finished = is_finished(self.folder)
        told = {
            "the same `rnnlogic fit` command makes missing stages": STAGES in gone and not finished,
            "the finished model answers without its stages": STAGES in gone and finished,
            "`rnnlogic evaluate` makes missing reports": REPORTS in gone,
            "every verb makes missing graphs for itself": GRAPHS in gone,
            "`rnnlogic fit ... --redo-damaged` makes damaged stages and reports again": bool(
                damaged & {STAGES, REPORTS}
            ),
        }
        return [text for text, is_so in told.items() if is_so]


def check_folder(folder: str | Path) -> Check:
    """Compare every file of a run or embedding with its checksum."""
    folder, started = Path(folder), time.perf_counter()
    if not folder.is_dir():
        raise RunError(folder, "there is no such folder")
    refuse_links(folder)
    sealed = _sealed_folders(folder)
    roots = sorted({folder, *sealed})  # also without a manifest: it may have been lost, and one inside not
    files = [file for root in roots for file in _checked(root, folder)]
    return Check(folder, files, time.perf_counter() - started, bool(sealed))


def drop_damaged(folder: str | Path) -> list[str]:
    """Remove damaged stages and reports, so that the next `fit` makes them again; gives their names."""
    with exclusive(folder):
        checked = check_folder(folder)
        gone = {
            name for name in checked.missing if _is_redone(name)
        }  # a fit makes them again without being told
        names = [file.name for file in checked.problems if file.name not in gone]
        lasting = [name for name in names if not _is_redone(name)]
        if lasting:
            raise RunError(
                Path(folder) / lasting[0],
                "is damaged, and no stage that can be done again; put back a whole copy, or use --restart",
            )
        if names and is_finished(Path(folder)) and any(name.startswith(STAGES) for name in names):
            raise RunError(
                Path(folder) / names[0],
                "is damaged; the finished model answers without it, and only --restart makes it again",
            )
        for name in names:
            (Path(folder) / name).unlink(missing_ok=True)
    return names


def _is_redone(name: str) -> bool:
    return name.partition("/")[0] in REDONE


def _checked(root: Path, folder: Path) -> list[Checked]:
    """The files that a manifest knows, and those that it should."""
    known = known_files(root) if (root / MANIFEST).is_file() else {}
    sizes = _sizes(root)
    prefix = "" if root == folder else f"{root.relative_to(folder).as_posix()}/"
    files = []
    if ABOUT in sizes and CHECKPOINT not in sizes:
        known.pop(CHECKPOINT, None)  # a finished training has removed it
    for name in sorted({*known, *sizes}):
        if name not in sizes:
            state = State.missing
        elif name in GROW and not any(one.grows for one in known.get(name, [])):
            state = State.grows
        elif name not in known:
            state = State.unknown
        else:
            whole = is_whole(root / name, digest(root / name), known[name])
            state = State.whole if whole else State.damaged
        files.append(Checked(prefix + name, state, sizes.get(name, 0)))
    return files


def _sealed_folders(folder: Path) -> set[Path]:
    """The folder and those inside it, as far as they have a manifest."""
    return {path.parent for path in folder.rglob(MANIFEST) if path.is_file()}


def _sizes(root: Path) -> dict[str, int]:
    """The files below a folder that its manifest is about, with their sizes."""
    inner = _sealed_folders(root) - {root}
    return {
        path.relative_to(root).as_posix(): path.stat().st_size
        for path in root.rglob("*")
        if path.is_file()
        and inner.isdisjoint(path.parents)
        and path.name not in (MANIFEST, LOCK)
        and not path.name.endswith(".partial")
    }
