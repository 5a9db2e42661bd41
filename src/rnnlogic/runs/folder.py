"""A fit as a folder: settings, data, finished stages, rules and weights travel together.

    config.yaml          all settings
    vocabulary.json      names, labels, where the facts came from
    dataset.safetensors  facts of train, valid and test as ids
    given.rules          rules that the fit was given, as text; if there are any
    embedding.json       where the embedding is (by default embedding/) and its checksum; if there is one
    stages/              what the learner has finished so far; a fit that was stopped goes on from there
    metrics.jsonl        one line for every measurement during the fit
    log.txt              what happened when
    rules.txt            the rules for people, by relation and weight
    model.safetensors    rules, weights and statistics
    model.json           versions, time taken; written last, so it marks a finished fit
    reports/             evaluations

Every file appears whole or not at all; a kill at any point loses at most the stage at work.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as from_safetensors
from safetensors.numpy import save as to_safetensors

from rnnlogic.base.atomic import Content, write_atomically
from rnnlogic.config import Config, read_config
from rnnlogic.data.cleaning import CleaningReport
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.files import checksum, load_embedding
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.learning.result import Learned, pack_learned, unpack_learned
from rnnlogic.rules.rule import format_rule

FORMAT = 1
CONFIG, VOCABULARY, FACTS = "config.yaml", "vocabulary.json", "dataset.safetensors"
STAGES, METRICS, LOG, REPORTS = "stages", "metrics.jsonl", "log.txt", "reports"
GIVEN, RULES, WEIGHTS, MODEL = "given.rules", "rules.txt", "model.safetensors", "model.json"
EMBEDDING, EMBEDDING_REFERENCE = "embedding", "embedding.json"
BEGUN = (VOCABULARY, FACTS, GIVEN)  # all that a kill while a run is begun or cleared may leave of it
MADE = (MODEL, WEIGHTS, RULES, STAGES, EMBEDDING_REFERENCE, EMBEDDING, METRICS, LOG, REPORTS)
OWN_NAMES = (*MADE, CONFIG, *BEGUN)
SPLITS = ("train", "valid", "test")
FREE_KEYS = ("threads",)  # settings that change no result


class RunError(RNNLogicError):
    """A run folder is not what the command needs; says what to do."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(f"{folder}: {problem}")


class Run:
    """A run folder; to the learner, the place where it keeps its stages."""

    def __init__(self, folder: Path) -> None:
        """For internal use; others call `create`, `start` or `open`."""
        self.folder = folder
        self._stage_began = time.monotonic()

    @staticmethod
    def exists(folder: str | Path) -> bool:
        """Whether there is a run, finished or not."""
        return all((Path(folder) / name).is_file() for name in (CONFIG, VOCABULARY, FACTS))

    @staticmethod
    def open(folder: str | Path) -> Run:
        """A run that is there, finished or not."""
        folder = Path(folder)
        if not Run.exists(folder):
            problem = "is not a run folder" if folder.is_dir() else "there is no such run folder"
            raise RunError(folder, f"{problem}; make one with `rnnlogic fit DATASET -o {folder}`")
        return Run(folder)

    @staticmethod
    def create(folder: str | Path, dataset: Dataset, config: Config, given: str = "") -> Run:
        """A new run in a folder that is new, empty, or left over from a start that was killed."""
        run = Run(Path(folder))
        run._refuse_foreign_files()
        if Run.exists(folder):
            raise RunError(run.folder, "holds a run already; choose another folder")
        return run._begin(dataset, config, given)

    @staticmethod
    def start(
        folder: str | Path, dataset: Dataset, config: Config, restart: bool = False, given: str = ""
    ) -> Run:
        """The run of this data, settings and given rules' text: gone on with if it is there, else created."""
        if not Run.exists(folder):
            return Run.create(folder, dataset, config, given)
        run = Run.open(folder)
        if restart:
            return run._begin(dataset, config, given)
        run._require_same("settings", _flat(run.config().model_dump()), _flat(config.model_dump()))
        run._require_same("data", fingerprint(run.dataset()), fingerprint(dataset))
        run._require_same("rules", _fingerprint_of_rules(run.given()), _fingerprint_of_rules(given))
        run._remove_partial_files()
        return run

    @property
    def finished(self) -> bool:
        """Whether the fit came to its end."""
        return (self.folder / MODEL).is_file()

    def load(self, stage: str) -> dict[str, NDArray[Any]] | None:
        """Arrays of a finished stage; None if it is not finished."""
        path = self.folder / STAGES / f"{stage}.safetensors"
        self._stage_began = time.monotonic()
        return self._arrays(path) if path.is_file() else None

    def save(self, stage: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep what a stage has found."""
        seconds = time.monotonic() - self._stage_began
        self._write(f"{STAGES}/{stage}.safetensors", _packed(arrays, {"seconds": f"{seconds:.3f}"}))
        self._stage_began = time.monotonic()
        self.note(f"{stage} done in {seconds:.1f} s")

    def log(self, record: Mapping[str, Any]) -> None:
        """Append one measurement to metrics.jsonl."""
        self._append(METRICS, json.dumps(record, ensure_ascii=False))

    def note(self, text: str) -> None:
        """Append a line to log.txt."""
        self._append(LOG, f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S%z} {text}")

    def finish(self, learned: Learned) -> None:
        """Write rules and weights, then the mark that all is done."""
        self._write(RULES, rules_text(learned, self.dataset().vocab))
        self._write(WEIGHTS, _packed(pack_learned(learned)))
        self._write(MODEL, json.dumps(self._facts_about(learned), indent=1) + "\n")
        self.note("finished")

    def learned(self, embedding: Scorer | None = None) -> Learned:
        """What a finished fit has learned; with the embedding that it uses, if it uses one."""
        self.about()
        return unpack_learned(self._arrays(self.folder / WEIGHTS), self.config(), embedding)

    def about(self) -> dict[str, Any]:
        """What model.json says: versions, seed, feature, number of rules, minutes."""
        if not self.finished:
            raise RunError(
                self.folder, "the fit was not finished; run the same `rnnlogic fit` command again to go on"
            )
        about: dict[str, Any] = self._json(MODEL)
        if about.get("format", 0) > FORMAT:
            raise RunError(
                self.folder, f"made by rnnlogic {about.get('rnnlogic')}; install that or a newer one"
            )
        return about

    def config(self) -> Config:
        """The settings of the fit."""
        return read_config(self.folder / CONFIG)

    def dataset(self) -> Dataset:
        """The dataset of the fit, from the folder alone."""
        names, facts = self._json(VOCABULARY), self._arrays(self.folder / FACTS)
        vocab = Vocab(
            tuple(names["entities"]),
            tuple(names["relations"]),
            names["entity_labels"],
            names["relation_labels"],
        )
        unseen = {key: tuple(names["cleaning"][key]) for key in ("unseen_entities", "unseen_relations")}
        report = CleaningReport(**(names["cleaning"] | unseen))
        return Dataset(names["name"], vocab, report=report, source=names["source"], **facts)

    def given(self) -> str:
        """The text of the rules that the fit was given."""
        path = self.folder / GIVEN
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def refer_to_embedding(self, folder: Path) -> None:
        """Note which embedding the fit uses; by a relative path if it lies in or beside the run's folder."""
        folder, own = folder.resolve(), self.folder.resolve()
        place = os.path.relpath(folder, own) if folder.is_relative_to(own.parent) else folder
        reference = {"folder": str(place), "sha256": checksum(folder)}
        self._write(EMBEDDING_REFERENCE, json.dumps(reference, indent=1) + "\n")

    def embedding_checksum(self) -> str:
        """The checksum of the embedding that the fit uses."""
        return str(self._json(EMBEDDING_REFERENCE)["sha256"])

    def embedding(self) -> RotatE | None:
        """The embedding that the fit uses, just as it was; None if there is none (yet)."""
        if not (self.folder / EMBEDDING_REFERENCE).is_file():
            return None
        folder = self.folder / self._json(EMBEDDING_REFERENCE)["folder"]
        if not folder.is_dir():
            problem = f"its embedding {folder} is missing; put it back, or fit anew (--restart)"
        elif checksum(folder) != self.embedding_checksum():
            problem = f"its embedding {folder} was changed; put the old one back, or fit anew (--restart)"
        else:
            return load_embedding(folder, self.dataset().vocab)[0]
        raise RunError(self.folder, problem)

    def save_report(self, name: str, report: Mapping[str, Any]) -> None:
        """Keep an evaluation as reports/<name>.json."""
        self._write(f"{REPORTS}/{name}.json", json.dumps(report, ensure_ascii=False, indent=1) + "\n")

    def report(self, name: str) -> dict[str, Any] | None:
        """An evaluation that was kept, if there is one."""
        path = f"{REPORTS}/{name}.json"
        return self._json(path) if (self.folder / path).is_file() else None

    def _begin(self, dataset: Dataset, config: Config, given: str) -> Run:
        """Write what a fit starts from; config.yaml last, as with it the folder becomes a run."""
        self._clear()
        if given:
            self._write(GIVEN, given)
        self._write(VOCABULARY, json.dumps(_names(dataset), ensure_ascii=False, indent=1))
        self._write(FACTS, _packed(_facts(dataset)))
        self._write(CONFIG, yaml.safe_dump(config.model_dump(), sort_keys=False))
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

    def _facts_about(self, learned: Learned) -> dict[str, Any]:
        packages = ("rnnlogic", "numpy", "numba", "torch", "safetensors")
        config = self.config()
        return {
            "format": FORMAT,
            **{package: version(package) for package in packages},
            "python": platform.python_version(),
            "seed": config.seed,
            "feature": learned.feature,
            "rules": len(learned.rules),
            "minutes": round(self._seconds() / 60, 3),
        }

    def _seconds(self) -> float:
        """Time that all stages took, over all sessions, and since the last one."""
        total = time.monotonic() - self._stage_began
        for path in (self.folder / STAGES).glob("*.safetensors"):
            with safe_open(path, framework="numpy") as file:
                total += float(file.metadata()["seconds"])
        return total

    def _require_same(self, what: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        for key in [*wanted, *stored]:
            if key not in FREE_KEYS and stored.get(key) != wanted.get(key):
                raise RunError(
                    self.folder,
                    f"holds a run with other {what} ({key}: {stored.get(key)} there, {wanted.get(key)} now); "
                    "choose another folder, or --restart to begin anew",
                )

    def _refuse_foreign_files(self) -> None:
        """What is in a folder that is not a run might be somebody's work."""
        if Run.exists(self.folder) or not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise RunError(self.folder, "is a file; a run needs a folder")
        names = (path.name for path in self.folder.iterdir())
        foreign = sorted(name for name in names if name not in BEGUN and not name.endswith(".partial"))
        if foreign:
            raise RunError(self.folder, f"the folder is not empty ({foreign[0]}); choose another")

    def _remove_partial_files(self) -> None:
        """What a kill in the middle of writing left over."""
        for folder in (self.folder, self.folder / STAGES, self.folder / REPORTS):
            for path in folder.glob(".*.partial"):
                path.unlink(missing_ok=True)

    def _write(self, name: str, content: Content) -> None:
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise RunError(path, f"cannot be written ({error.strerror or error})") from None

    def _append(self, name: str, line: str) -> None:
        """Add a line; half a line that a kill left at the end is dropped first."""
        path = self.folder / name
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

    def _arrays(self, path: Path) -> dict[str, NDArray[Any]]:
        try:
            arrays: dict[str, NDArray[Any]] = from_safetensors(path.read_bytes())
        except (OSError, SafetensorError) as error:
            raise RunError(path, f"cannot be read ({error}); was the folder copied whole?") from None
        return arrays

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(
                self.folder / name, f"cannot be read ({error}); was the folder copied whole?"
            ) from None


def rules_text(learned: Learned, vocab: Vocab) -> str:
    """One rule per line with its numbers as a comment, by head relation, heaviest first."""
    order = np.lexsort((-learned.weights, learned.rules.heads))
    lines = [
        "# rule  # weight, support (training queries answered), confidence (support / (support + wrong))"
    ]
    for i in order:
        numbers = f"{learned.weights[i]:.4g}, {learned.support[i]}, {learned.confidence[i]:.3g}"
        lines.append(f"{format_rule(learned.rules[i], vocab)}  # {numbers}")
    return "\n".join(lines) + "\n"


def _names(dataset: Dataset) -> dict[str, Any]:
    vocab = dataset.vocab
    return {
        "name": dataset.name,
        "source": dataset.source,
        "relations": vocab.relations,
        "relation_labels": dict(vocab.relation_labels),
        "entities": vocab.entities,
        "entity_labels": dict(vocab.entity_labels),
        "cleaning": dataset.report.as_dict(),
    }


def _packed(arrays: Mapping[str, NDArray[Any]], metadata: dict[str, str] | None = None) -> bytes:
    # safetensors writes the memory as it lies, whatever the strides: arrays must be contiguous.
    packed: bytes = to_safetensors(
        {name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata
    )
    return packed


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def fingerprint(dataset: Dataset) -> dict[str, str]:
    """What has to be the same for a fit to go on; in the order in which a difference is told."""
    vocab = dataset.vocab
    lists = {"entities": vocab.entities, "relations": vocab.relations}
    return {
        "name": dataset.name,
        **{kind: _digest(len(names), json.dumps(names).encode()) for kind, names in lists.items()},
        **{
            split: _digest(len(facts), facts.astype("<i4").tobytes())
            for split, facts in _facts(dataset).items()
        },
    }


def _fingerprint_of_rules(text: str) -> dict[str, str]:
    return {"given": _digest(text.count("\n"), text.encode()) if text else "none"}


def _facts(dataset: Dataset) -> dict[str, Triples]:
    return {split: dataset.facts(split) for split in SPLITS}


def _digest(size: int, content: bytes) -> str:
    return f"{size:,} (hash {hashlib.sha256(content).hexdigest()[:8]})"
