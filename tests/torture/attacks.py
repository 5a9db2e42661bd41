"""The attacks. Each takes a random generator, a scratch folder and subjects, and does one trial."""

import errno
import gzip
import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
from safetensors.numpy import load as load_arrays

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.lock import exclusive
from rnnlogic.base.sealed import MANIFEST, write_sealed
from rnnlogic.base.settings import read_values
from rnnlogic.config import Config, override
from rnnlogic.data.dataset import load_dataset
from rnnlogic.model import RNNLogic
from rnnlogic.rules.formats import read_table
from rnnlogic.runs.arrays import write_arrays
from rnnlogic.runs.check import check_folder
from tests.family import RULES, fake_learn, family, family_facts
from tests.torture.outcome import Tally
from tests.torture.runs import VERBS, Subject, config_of, copy_of, said_by

TOKENS = (
    *(
        b"\x00",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\x1b[31m",
        "\u202e".encode(),
        b"\r\n",
        b"\t",
        b'"',
        b"'",
        b"\\",
    ),
    *(
        b"1" * 400,
        b"1" * 5000,
        b"1e999",
        b"NaN",
        b"-inf",
        b"[" * 3000,
        b"{" * 50,
        b"&a *a",
        b"<",
        b">",
        b"^-1",
    ),
    *(
        b"n" * 300,
        b"%",
        b"../..",
        b"=1+1",
        b"!!python/object:os.system x",
        b",",
        b"|",
        b";",
        b" <- ",
        b"(X,Y)",
    ),
)


def mutated(data: bytes, random: Random) -> bytes:
    """A few random changes."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place, kind = random.randrange(len(changed) + 1), random.randrange(6)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            changed[place:place] = random.choice(TOKENS)
        elif kind == 2:
            del changed[place : place + random.randint(1, 20)]
        elif kind == 3:
            end = place + random.randint(1, 40)
            changed[place:place] = changed[place:end]
        elif kind == 4:
            changed[place : place + random.randint(1, 5)] = random.choice(TOKENS)
        else:
            del changed[place:]
    return bytes(changed)


def files_of(folder: Path) -> list[Path]:
    """All files of a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def harm(path: Path, random: Random) -> str:
    """Damage a file: flip a bit, cut it, delete it, fill it with zeros, or put another in its place."""
    data = path.read_bytes()
    kind = random.choice(("flip", "flip", "flip", "cut", "delete", "zeros"))
    if kind == "delete" or not data:
        path.unlink()
        return "delete"
    place = random.randrange(len(data))
    if kind == "flip":
        data = data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]
    elif kind == "cut":
        data = data[:place]
    else:
        data = data[:place] + bytes(min(64, len(data) - place)) + data[place + 64 :]
    path.write_bytes(data)
    return kind


def damage(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Damage a file of a run: a verb refuses it, or says what it said before, and `check` notices."""
    subject, verb = random.choice(subjects), random.choice(tuple(VERBS))
    run = copy_of(subject, scratch / "damaged")
    path = random.choice(files_of(run))
    before = path.read_bytes()
    example = f"{subject.variant} {verb}: {harm(path, random)} {path.relative_to(run)}"
    changed = not path.is_file() or path.read_bytes() != before
    done, said = said_by(verb, run, scratch)
    if done.code is None:
        tally.add("traceback", f"{example}: {done.err[-200:]}")
    elif done.code == 0 and said != subject.said[verb]:
        tally.add("silent wrong", example)
    elif done.code and not done.is_clear:
        tally.add("traceback", f"{example}: no message")
    elif changed and done.code == 0 and path.is_file() and path.name != MANIFEST and _is_whole(run):
        tally.add("silent wrong", f"{example}: check calls it whole")
    else:
        tally.add("clear")


def _is_whole(run: Path) -> bool:
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
    tally.add("traceback" if done.code is None else "clear", f"{example}: {done.err[-200:]}")


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


TSV = "".join("\t".join(fact) + "\n" for fact in family_facts(2)).encode()
SEEDS: dict[str, bytes] = {
    "facts.tsv": TSV,
    "facts.txt": TSV.replace(b"\t", b" "),
    "facts.csv": b'head,relation,tail\n"a b",r,c\nc,r,"d ""q"""\nd,r,a\n',
    "facts.jsonl": b'{"head": "a", "relation": "r", "tail": 1.5}\n{"head": "b", "relation": "r", "tail": 2}',
    "facts.nt": b"<http://a> <http://r> <http://b> .\n<http://b> <http://r> _:x .\n",
    "facts.ttl": b'@prefix e: <http://e/> .\ne:a e:r e:b ; e:s "x"@en .\ne:b e:r e:a .\n',
    "facts.rdf": b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "http://x/">]><rdf:RDF xmlns:rdf='
    b'"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    b'<rdf:Description rdf:about="&a;1"><e:p rdf:resource="&a;2"/></rdf:Description></rdf:RDF>',
    "nodes.csv": b"id:ID,name,:LABEL\n1,a,X\n2,b,X\n",
    "edges.csv": b":START_ID,:TYPE,:END_ID\n1,r,2\n2,r,1\n",
}
RULE_SEEDS: dict[str, bytes] = {
    "text.rules": "".join(f"{rule}  # {weight}\n" for rule, weight in RULES.items()).encode(),
    "anyburl.rules": b"10\t5\t0.5\tparent(X,Y) <= married(X,A), parent(A,Y)\n"
    b"3\t1\t0.33\tparent(X,Y) <= married(Y,X)\n",
    "jsonl.rules": b'{"rule": "parent(X,Y) <- married(X,Z) & parent(Z,Y)", "weight": 0.5}\n',
    "ids.rules": b"0 1 2\n1 0\n",
}
SETTINGS = b"seed: 3\nem:\n  rounds: 2\npredictor: {weight_decay: 100.0, feature: log1p}\npinned: []\n"


def readers(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Changed files for every reader: they are read, or refused with a message."""
    del subjects
    vocab = _vocab()
    kind = random.randrange(10)
    name, seed, read = _target(kind, random, scratch, vocab)
    path, data = scratch / name, mutated(seed, random)
    if kind == 0:
        path, data = path.with_name(name + ".gz"), gzip.compress(data, 1)
        data = mutated(data, random) if random.random() < 0.5 else data
    try:
        path.write_bytes(data)
        read(path)
        tally.add("clear")
    except RNNLogicError as problem:
        tally.add("clear" if str(problem) else "traceback", f"{name}: no message")
    except Exception as problem:
        tally.add("traceback", f"{name}: {type(problem).__name__} {str(problem)[:100]} of {data[:200]!r}")


_VOCAB: list = []


def _vocab():
    if not _VOCAB:
        _VOCAB.append(family().vocab)
    return _VOCAB[0]


def _target(kind: int, random: Random, scratch: Path, vocab) -> tuple[str, bytes, Callable[[Path], object]]:
    if kind < 5:
        name = random.choice(list(SEEDS))
        return name, SEEDS[name], lambda path: load_dataset(str(path), ratios=(80, 10, 10))
    if kind < 7:
        (scratch / "ids.relations.dict").write_text(
            "".join(f"{i}\t{r}\n" for i, r in enumerate(vocab.relations))
        )
        name = random.choice(list(RULE_SEEDS))
        return name, RULE_SEEDS[name], lambda path: read_table(path, vocab)
    if kind < 8:
        return (
            "x.yaml",
            SETTINGS,
            lambda path: override(Config(), [f"seed={read_values(path).get('seed', 0)}"]),
        )
    if kind < 9:
        labels = b"child0_0\tThe child\nparent\tis parent of\n"
        return "labels.tsv", labels, lambda path: load_dataset(family_facts(2), labels=path)
    settings = b"predictor.weight_decay=100.0"
    keys = [b"em.rounds=2", b"seed=1", b"pinned=['a <- b']", b"paths.etas=[0.1, 0.2]", settings]
    return (
        "set.txt",
        random.choice(keys),
        lambda path: override(Config(), [path.read_bytes().decode(errors="replace")]),
    )


FAULTS = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT)


class Killed(BaseException):
    """Stands for a kill: nothing below catches it."""


@contextmanager
def broken_disk(fault: Callable[[], None], after: int):
    """From the so-manieth change of a file on, something goes wrong."""
    left = [after]
    replace, open_, fsync = Path.replace, Path.open, os.fsync

    def count() -> None:
        left[0] -= 1
        if left[0] < 0:
            fault()

    def replacing(self, target):
        count()
        return replace(self, target)

    def opening(self, mode="r", *rest, **more):
        if set(mode) & set("wxa+"):
            count()
        return open_(self, mode, *rest, **more)

    def syncing(handle):
        count()
        return fsync(handle)

    with (
        patch.object(Path, "replace", replacing),
        patch.object(Path, "open", opening),
        patch("os.fsync", syncing),
    ):
        yield


def disk(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """The disk is full, read-only or slow, the folder deleted, the process killed; then the fit goes on."""
    del subjects
    run, number = scratch / "disk", random.choice(FAULTS)
    shutil.rmtree(run, ignore_errors=True)
    kind = random.choice(("error", "error", "deleted", "killed", "killed", "slow"))

    def fault() -> None:
        if kind == "deleted":
            shutil.rmtree(run, ignore_errors=True)
        elif kind == "slow":
            time.sleep(0.001)
        elif kind == "killed":
            raise Killed
        else:
            raise OSError(number, os.strerror(number))

    after, example = random.randrange(40), f"{kind} {os.strerror(number)}"
    with patch("rnnlogic.learning.learn.learn", fake_learn):
        try:
            with broken_disk(fault, after):
                _fit(run)
        except (RNNLogicError, Killed):
            pass
        except Exception as problem:
            tally.add("traceback", f"{example} after {after}: {type(problem).__name__} {problem}")
            return
        try:
            model = _fit(run)
        except Exception as problem:
            tally.add("lost", f"{example} after {after}: {problem}")
            return
    rules = [line.rsplit("  # ", 1)[0] for line in (run / "rules.txt").read_text().splitlines()[1:]]
    lines = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    good = len(rules) == len(RULES) and len(lines) == len(set(lines)) and _is_whole(run)
    tally.add("clear" if good and len(model.learned.rules) == len(RULES) else "lost", example)


def _fit(run: Path) -> RNNLogic:
    return RNNLogic(config_of("rnnlogic")).fit(family(), run)


def writers(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """A second writer is refused, whatever it wants, and the first one's folder stays as it is."""
    run = copy_of(random.choice(subjects), scratch / "shared")
    before = {path: path.read_bytes() for path in files_of(run)}
    with exclusive(run):
        try:
            RNNLogic(config_of("rnnlogic", seed=2)).fit(family(), run, restart=random.random() < 0.5)
            tally.add("silent wrong", "a second writer")
            return
        except RNNLogicError as problem:
            named = str(os.getpid()) in str(problem)
        except Exception as problem:
            tally.add("traceback", str(problem))
            return
    same = {path: path.read_bytes() for path in files_of(run)} == before
    tally.add("clear" if named and same else "lost", "two writers")
