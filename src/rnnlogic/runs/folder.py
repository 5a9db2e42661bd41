"""A fit as a folder: settings, data, finished stages, rules and weights travel together.

    config.yaml          all settings
    vocabulary.json      format of the folder, names, labels, where the facts came from
    dataset.safetensors  facts of train, valid and test as ids
    graphs/              the graphs of a large dataset, ready to use
    given.rules          the rules that the fit was given, as text; if there are any
    embedding.json       where the embedding is (by default embedding/) and its checksum; if there is one
    stages/              the stages that are finished so far; a fit that was stopped resumes from them
    metrics.jsonl        one line for every measurement during the fit
    log.txt              what happened when
    rules.txt            the rules for people, by relation and weight
    model.safetensors    rules, weights and statistics
    calibration.*        what probabilities rest on, with their reliability
    model.json           versions, time taken; written last, so it marks a finished fit
    reports/             evaluations
    manifest.jsonl       SHA-256 of every file; damage is noticed when a file is read (base/files.py)

Every file appears whole or not at all; a kill at any point loses at most the stage at work.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration
from rnnlogic.base.files import MANIFEST, begin_manifest, refuse_links, require_whole, seal
from rnnlogic.base.lock import LOCK
from rnnlogic.base.settings import read_values, without_gone
from rnnlogic.base.types import Arrays
from rnnlogic.config import Config, make_config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.saving import annotation_arrays, facts_by_split, reviewed_facts, value_arrays
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.fit.result import FRONTIER, Learned, cuts_of
from rnnlogic.fit.stages import FRONTIER_ARRAYS
from rnnlogic.runs.dataset import (
    FACTS,
    GRAPHS,
    VOCABULARY,
    read_dataset,
    require_format,
    write_dataset,
    write_graphs,
)
from rnnlogic.runs.files import (
    REPORTS,
    RunError,
    append_line,
    append_record,
    has_report,
    read_arrays,
    read_file,
    read_metadata,
    read_object,
    read_records,
    read_report,
    remove_partial_files,
    unreadable,
    unwritable,
    write_arrays,
    write_file,
    write_object,
    write_report,
)
from rnnlogic.runs.finished import (
    MODEL,
    RULES,
    WEIGHTS,
    is_finished,
    read_about,
    read_learned,
    write_learned,
)

FREE_KEYS = ("threads",)  # settings that change no result


class Difference(NamedTuple):
    """The first thing that is not the same."""

    key: str
    stored: Any
    wanted: Any


def fingerprint(dataset: Dataset) -> dict[str, str]:
    """What identifies a dataset; a difference is reported in this order."""
    vocab = dataset.vocab
    lists = {"entities": vocab.entities, "relations": vocab.relations}
    every = facts_by_split(dataset) | reviewed_facts(dataset)
    beside, source_sets = annotation_arrays(dataset)
    beside |= value_arrays(dataset)
    facts = {split: facts.astype("<i4") for split, facts in every.items()}
    return {
        "name": dataset.name,
        **{kind: _digest(len(names), json.dumps(names).encode()) for kind, names in lists.items()},
        **{split: _digest(len(rows), rows.tobytes()) for split, rows in facts.items()},
        **{name: _digest(len(rows), rows.tobytes()) for name, rows in beside.items()},
        **({"attributes": json.dumps(vocab.attributes)} if vocab.attributes else {}),
        **({"sources": _digest(len(source_sets), json.dumps(source_sets).encode())} if source_sets else {}),
    }


def fingerprint_of_settings(config: Config) -> dict[str, Any]:
    """Every setting that may change a result, by its dotted key."""
    return {key: value for key, value in _flat(config.model_dump()).items() if key not in FREE_KEYS}


def fingerprint_of_rules(text: str) -> dict[str, str]:
    """What identifies the rules that a fit was given, one a line."""
    return {"given": _digest(text.count("\n"), text.encode()) if text else "none"}


def first_difference(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> Difference | None:
    """The first key with different values; None if there is none."""
    for key in [*wanted, *stored]:
        if stored.get(key) != wanted.get(key):
            return Difference(key, stored.get(key), wanted.get(key))
    return None


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _digest(size: int, content: bytes) -> str:
    return f"{size:,} (hash {hashlib.sha256(content).hexdigest()[:8]})"


STAGES, SECONDS = "stages", "seconds"
SHOWN = 7  # levels besides the full model and the chosen one: a table that fits a screen
HEADERS = ("rules", "validation MRR", "against full", "")


def frontier_rows(arrays: Mapping[str, NDArray[Any]]) -> list[list[Any]]:
    """Rows from the full model down to few rules; the level that the run uses is marked."""
    rules, mrr, drop, chosen = (arrays[name] for name in ("rules", "mrr", "drop", "chosen"))
    full = float(mrr[0] + drop[0])
    rows: list[list[Any]] = [[int(arrays["full_rules"]), round(full, 4), "", "full model"]]
    for i in _spread(rules, int(chosen)):
        if rules[i] == arrays["full_rules"]:
            continue
        mark = "this run" if i == chosen else ""
        rows.append([int(rules[i]), round(float(mrr[i]), 4), f"{-float(drop[i]):+.4f}", mark])
    return rows


def _spread(rules: NDArray[np.int64], chosen: int) -> list[int]:
    """Some levels, evenly spread over the logarithm of their size, with the chosen one."""
    sizes = np.log(np.maximum(rules, 1))
    wanted = np.linspace(sizes.max(), sizes.min(), SHOWN)
    nearest = {int(np.argmin(np.abs(sizes - size))) for size in wanted} | {chosen}
    return sorted(nearest, key=lambda i: -rules[i])


CONFIG, GIVEN, METRICS, LOG = "config.yaml", "given.rules", "metrics.jsonl", "log.txt"
EMBEDDING, EMBEDDING_REFERENCE = "embedding", "embedding.json"
BEGUN = (MANIFEST, VOCABULARY, FACTS, GIVEN)  # all that a kill may leave of a run just begun or removed
BEFORE = "walks"  # what runs count whose settings do not say: the versions that made them knew nothing else
CALIBRATION, CALIBRATED = "calibration.safetensors", "calibration.json"
MADE = (
    MODEL,
    WEIGHTS,
    RULES,
    CALIBRATED,
    CALIBRATION,
    STAGES,
    EMBEDDING_REFERENCE,
    EMBEDDING,
    METRICS,
    LOG,
    REPORTS,
    GRAPHS,
)
OWN_NAMES = (*MADE, CONFIG, *BEGUN)
NEEDED = (MODEL, WEIGHTS, CALIBRATED, CALIBRATION, EMBEDDING_REFERENCE, METRICS, GIVEN)  # if they were there


class Run:
    """A run folder; the learner keeps its finished stages here."""

    def __init__(self, folder: Path) -> None:
        """For internal use; others call `create`, `start` or `open`."""
        self.folder = folder
        self._stage_began = time.monotonic()
        self._config: Config | None = None  # read once
        self._begun: Dataset | None = None  # what the fit is at work on; its graphs are built

    @staticmethod
    def exists(folder: str | Path) -> bool:
        """Whether the folder holds a run, finished or not, of any version."""
        return all((Path(folder) / name).is_file() for name in (CONFIG, VOCABULARY, FACTS))

    @staticmethod
    def open(folder: str | Path) -> Run:
        """A run that is there, finished or not; a run of another version is refused."""
        folder = Path(folder)
        if not Run.exists(folder):
            problem = "is not a run folder" if folder.is_dir() else "there is no such run folder"
            raise RunError(folder, f"{problem}; make one with `rnnlogic fit DATASET -o {folder}`")
        refuse_links(folder)
        require_format(folder)
        return Run(folder)

    @staticmethod
    def create(folder: str | Path, dataset: Dataset, config: Config, given: str = "") -> Run:
        """A new run in a folder that is new, empty, or left behind by a start that was killed."""
        run = Run(Path(folder))
        if Run.exists(folder):
            raise RunError(run.folder, "holds a run already; choose another folder")
        run._refuse_foreign_files()
        return run._begin(dataset, config, given)

    @staticmethod
    def start(
        folder: str | Path, dataset: Dataset, config: Config, restart: bool = False, given: str = ""
    ) -> Run:
        """The run of this data, these settings and these given rules (as text).

        A run that is there is resumed, or with `restart` replaced; else it is created.
        """
        if not Run.exists(folder):
            return Run.create(folder, dataset, config, given)
        if restart:
            refuse_links(Path(folder))
            return Run(Path(folder))._begin(dataset, config, given)
        run = Run.open(folder)
        run._require_same("settings", *map(fingerprint_of_settings, (run.config(), config)))
        run._require_same("data", *map(fingerprint, (run.dataset(), dataset)))
        run._require_same("rules", *map(fingerprint_of_rules, (run.given(), given)))
        run._remove_partial_files()
        run._begun = dataset
        return run

    @property
    def finished(self) -> bool:
        """Whether the fit came to its end."""
        return is_finished(self.folder)

    def load(self, stage: str, declaration: Declaration | None = None) -> Arrays | None:
        """Arrays of a finished stage; None if it is not finished, so that it begins now.

        The learner checks its own stages; others declare what they expect.
        """
        path = self._stage_path(stage)
        self._stage_began = time.monotonic()
        return read_arrays(path, declaration) if path.is_file() else None

    def save(self, stage: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the result of a stage, with the time that it took."""
        seconds = time.monotonic() - self._stage_began
        write_arrays(self._stage_path(stage), arrays, {SECONDS: f"{seconds:.3f}"})
        self._stage_began = time.monotonic()
        self.note(f"{stage} done in {seconds:.1f} s")

    def _stage_path(self, stage: str) -> Path:
        return self.folder / STAGES / f"{stage}.safetensors"

    def _seconds(self) -> float:
        """The time of all finished stages, and of the one at work; what a kill lost does not count."""
        finished = (read_metadata(path) for path in (self.folder / STAGES).glob("*.safetensors"))
        return time.monotonic() - self._stage_began + sum(float(about.get(SECONDS, 0)) for about in finished)

    def log(self, record: Mapping[str, Any]) -> None:
        """Append one measurement to metrics.jsonl; one that a killed session has noted already is not."""
        append_record(self.folder / METRICS, record)

    def note(self, text: str) -> None:
        """Append a line to log.txt."""
        append_line(self.folder / LOG, f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S%z} {text}")

    def finish(self, learned: Learned) -> None:
        """Write rules and weights, then the mark that all is done."""
        dataset, seed, seconds = self.dataset(), self.config().seed, self._seconds()
        if self._begun is not None:
            dataset = self._begun.with_vocab(dataset.vocab)
        write_graphs(self.folder, dataset)
        for name in (METRICS, LOG):
            seal(self.folder / name, grows=True)
        write_learned(self.folder, learned, dataset, seed, seconds, self.left_out())
        self.note("finished")
        seal(self.folder / LOG, grows=True)

    def left_out(self) -> dict[str, str]:
        """What each stage left out for want of time."""
        return cuts_of(read_records(self.folder / METRICS))

    def learned(self, embedding: Scorer | None = None, vocab: Vocab | None = None) -> Learned:
        """What a finished fit has learned; with the embedding that it uses, if any."""
        return read_learned(self.folder, self.config(), embedding, vocab or self.dataset().vocab)

    def frontier(self) -> Arrays | None:
        """The frontier that a compact model was chosen from; None for a full model."""
        return self.load(FRONTIER, FRONTIER_ARRAYS)

    def save_calibration(self, arrays: Arrays, about: dict[str, Any]) -> None:
        """Keep what the probabilities of the model rest on."""
        write_arrays(self.folder / CALIBRATION, arrays)
        write_object(self.folder / CALIBRATED, about)

    def calibration(self) -> tuple[Arrays, dict[str, Any]] | None:
        """What the probabilities of the model rest on; None if it was not kept."""
        if not (self.folder / CALIBRATED).is_file():
            return None
        return read_arrays(self.folder / CALIBRATION), read_object(self.folder / CALIBRATED)

    def about(self) -> dict[str, Any]:
        """What model.json says: versions, seed, feature, number of rules, minutes."""
        return read_about(self.folder)

    def config(self) -> Config:
        """The settings of the fit."""
        if self._config is None:
            require_whole(self.folder / CONFIG)
            path = self.folder / CONFIG
            values = without_gone(Config, read_values(path))
            self._config = make_config({"path_kind": BEFORE, **values}, str(path))
        return self._config

    def dataset(self) -> Dataset:
        """The dataset of the fit."""
        return read_dataset(self.folder).counting(self.config().path_kind)

    def given(self) -> str:
        """The text of the rules that the fit was given."""
        path = self.folder / GIVEN
        try:
            return read_file(path).decode() if path.is_file() else ""
        except UnicodeDecodeError as error:
            raise unreadable(path, error) from None

    def save_report(self, name: str, report: Mapping[str, Any]) -> None:
        """Keep an evaluation as reports/<name>.json."""
        write_report(self.folder, name, report)

    def report(self, name: str) -> dict[str, Any] | None:
        """An evaluation that was kept, if there is one."""
        return read_report(self.folder, name) if has_report(self.folder, name) else None

    def _begin(self, dataset: Dataset, config: Config, given: str) -> Run:
        """Write what a fit starts from; config.yaml comes last, as it makes the folder a run."""
        try:
            self._clear()
            begin_manifest(self.folder)
        except OSError as error:
            raise unwritable(self.folder, error) from None
        if given:
            write_file(self.folder / GIVEN, given)
        write_dataset(self.folder, dataset)
        write_file(self.folder / CONFIG, yaml.safe_dump(config.model_dump(), sort_keys=False))
        self._config, self._begun = None, dataset
        return self

    def _clear(self) -> None:
        """Remove the files of a run in the order of OWN_NAMES; others stay."""
        for name in OWN_NAMES:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self._remove_partial_files()

    def _require_same(self, what: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        difference = first_difference(stored, wanted)
        if difference is not None:
            key, there, now = difference
            raise RunError(
                self.folder,
                f"holds a run with other {what} ({key}: {there} there, {now} now); choose another folder, or"
                " --restart to start over",
            )

    def _refuse_foreign_files(self) -> None:
        """Files in a folder that is not a run might be somebody's work."""
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise RunError(self.folder, "is a file; a run needs a folder")
        names = (path.name for path in self.folder.iterdir())
        foreign = sorted(
            name for name in names if name not in (*BEGUN, LOCK) and not name.endswith(".partial")
        )
        if foreign:
            raise RunError(self.folder, f"the folder is not empty ({foreign[0]}); choose another")

    def _remove_partial_files(self) -> None:
        inner = (self.folder / STAGES, self.folder / REPORTS, *(self.folder / GRAPHS).glob("*"))
        for folder in (self.folder, *inner):
            remove_partial_files(folder)
