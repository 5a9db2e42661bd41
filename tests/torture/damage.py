"""Damaged and hostile run folders, and two writers in one."""

import json
import os
from pathlib import Path
from random import Random

import numpy as np
from safetensors.numpy import load as load_arrays

from rnnlogic.base.files import MANIFEST, known_files, write_sealed
from rnnlogic.base.lock import exclusive
from rnnlogic.runs.check import check_folder
from rnnlogic.runs.files import write_arrays
from tests.torture.mutate import mutated
from tests.torture.outcome import Tally, command
from tests.torture.runs import VERBS, WRITING, Subject, copy_of, files_of, fit_words, said_by


def damage(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Damage a file of a run: a verb refuses it, or says what it said before, and `check` notices."""
    subject, verb = random.choice(subjects), random.choice(tuple(VERBS))
    run = _kept_copy(subject, scratch)
    path = random.choice([path for path in files_of(run) if path.stat().st_size])
    before, known = path.read_bytes(), _sealed_bytes(run, path)
    how, first = harm(path, random)
    after = path.read_bytes() if path.is_file() else None
    is_sealed = path.is_file() and path.name != MANIFEST and first < known
    example = f"{subject.variant} {verb}: {how} {path.relative_to(run)}"
    done, said = said_by(verb, run, scratch)
    if not done.is_clear:
        tally.add("traceback", f"{example}: {done.err[-200:]}")
    elif done.code == 0 and said != subject.said[verb]:
        tally.add("silent wrong", example)
    elif done.code == 0 and is_sealed and before != after == path.read_bytes() and is_whole(run):
        tally.add("silent wrong", f"{example}: check calls it whole")
    else:
        tally.add("clear")
    path.write_bytes(before)
    if verb in WRITING:
        copy_of(subject, run)


def _kept_copy(subject: Subject, scratch: Path) -> Path:
    """A copy that is whole; trials put back what they damage, as a new copy takes longer than the trial."""
    run = scratch / f"damaged-{subject.variant}"
    return run if run.is_dir() else copy_of(subject, run)


def _sealed_bytes(run: Path, path: Path) -> int:
    """How many of a file's first bytes the manifest knows; logs may have grown since."""
    root = next((folder for folder in path.parents if (folder / MANIFEST).is_file()), run)
    known = known_files(root).get(path.relative_to(root).as_posix())
    return known[-1].bytes if known else 0


def harm(path: Path, random: Random) -> tuple[str, int]:
    """Damage a file: flip a bit, cut it, delete it, or fill it with zeros; also gives the first byte hit."""
    data = path.read_bytes()
    kind = random.choice(("flip", "flip", "flip", "cut", "delete", "zeros"))
    if kind == "delete":
        path.unlink()
        return kind, 0
    place = random.randrange(len(data))
    if kind == "flip":
        data = data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]
    elif kind == "cut":
        data = data[:place]
    else:
        data = data[:place] + bytes(min(64, len(data) - place)) + data[place + 64 :]
    path.write_bytes(data)
    return f"{kind} at {place}", place


def is_whole(run: Path) -> bool:
    """Whether `rnnlogic check` has nothing to say."""
    return not check_folder(run).problems


def hostile(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """A run from somebody who knows the format: arrays and values changed, checksums made to fit."""
    subject, verb = random.choice(subjects), random.choice(tuple(VERBS))
    run = copy_of(subject, scratch / "hostile")
    kinds = (".safetensors", ".json", ".yaml", ".rules", ".txt", ".jsonl")
    path = random.choice([path for path in files_of(run) if path.suffix in kinds and path.name != MANIFEST])
    if path.suffix == ".safetensors":
        arrays = load_arrays(path.read_bytes())
        name = random.choice(list(arrays))
        arrays[name] = _other_array(arrays[name], random)
        write_arrays(path, arrays)
        example = f"{subject.variant} {verb}: {path.name} {name} {arrays[name].dtype}{arrays[name].shape}"
    elif path.suffix == ".json" and random.random() < 0.7:
        write_sealed(path, json.dumps(_other_values(json.loads(path.read_bytes()), random)))
        example = f"{subject.variant} {verb}: values of {path.name}"
    else:
        write_sealed(path, mutated(path.read_bytes(), random))
        example = f"{subject.variant} {verb}: text of {path.name}"
    done, _ = said_by(verb, run, scratch)
    tally.add("clear" if done.is_clear else "traceback", f"{example}: {done.err[-200:]}")


def _other_array(array: np.ndarray, random: Random) -> np.ndarray:
    kind, array = random.randrange(6), np.array(array)
    if kind == 0:
        return array.reshape(-1)[: random.randrange(array.size + 1)].copy()
    if kind == 1:
        return array.astype(random.choice(("int8", "int32", "int64", "float32", "float64")))
    if kind == 2:
        return np.expand_dims(array, random.randrange(array.ndim + 1))
    if array.size:
        values = (np.inf, np.nan, -1.0, 1e30) if array.dtype.kind == "f" else (-1, 2**30, 127)
        array.reshape(-1)[random.randrange(array.size)] = random.choice(values)
    return array if kind != 3 else np.concatenate([np.atleast_1d(array)] * 2)


def _other_values(values: object, random: Random) -> object:
    odd = (None, -1, 10**30, "x\x1b[2J", [], {}, float("nan"), True, [[[]]], 1e308)
    if isinstance(values, dict) and values and random.random() < 0.8:
        key = random.choice(list(values))
        if random.random() < 0.3:
            return {k: v for k, v in values.items() if k != key} | (
                {"odd": 1} if random.random() < 0.5 else {}
            )
        return values | {key: _other_values(values[key], random)}
    if isinstance(values, list) and values and random.random() < 0.8:
        place = random.randrange(len(values))
        return [*values[:place], _other_values(values[place], random), *values[place + 1 :]]
    return random.choice(odd)


def writers(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """A second writer is refused, whatever it wants, and the first one's folder stays as it is."""
    subject = random.choice(subjects)
    run = copy_of(subject, scratch / "shared")
    before = {path: path.read_bytes() for path in files_of(run)}
    words = fit_words(subject.folder.parent, run, subject.variant)
    more = random.choice([["--restart"], ["--seed", "2"], ["--redo-damaged"]])
    with exclusive(run):
        done = command(*words, *more)
    if not done.is_clear:
        tally.add("traceback", done.err[-200:])
    elif done.code == 0:
        tally.add("silent wrong", f"a second writer with {more}")
    else:
        same = {path: path.read_bytes() for path in files_of(run)} == before
        tally.add("clear" if str(os.getpid()) in done.err and same else "lost", f"{more}: {done.err[-200:]}")
