"""`python -m tests.torture --minutes 30`: the whole campaign; one table, exit code 1 unless all is clear."""

import argparse
import json
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import numpy as np

from tests.torture.damage import damage, hostile, writers
from tests.torture.interrupt import MOUNTED, disks, kills, race, unmount
from tests.torture.outcome import BAD, KINDS, Tally
from tests.torture.readers import readers
from tests.torture.runs import VARIANTS, Subject, subjects
from tests.torture.supervise import Attack, Worker, watch
from tests.torture.web import http, tools

# Share of the time, and trials that are enough
ATTACKS = {
    "random kills (SIGKILL), then resumed": (kills, 0.20, 1_000),
    "damaged files of a run": (damage, 0.25, 10_000),
    "hostile runs with fitting checksums": (hostile, 0.06, 3_000),
    "full, read-only, broken and slow disks; folders deleted under way": (disks, 0.09, 1_000),
    "two writers, one after the other": (writers, 0.01, 500),
    "two writers at once": (race, 0.02, 100),
    "fuzzed input of every reader": (readers, 0.24, 800_000),
    "fuzzed HTTP requests": (http, 0.10, 180_000),
    "fuzzed calls of agents' tools": (tools, 0.03, 20_000),
}
NAMES = tuple(attack.__name__ for attack, _, _ in ATTACKS.values())
MEMORY = Path("/dev/shm")


def campaign(
    seconds: float,
    seed: int,
    variants: Sequence[str] = VARIANTS,
    workers: int = 1,
    only: Sequence[str] = NAMES,
) -> list[Tally]:
    """Run attacks for about so many seconds, after the fits that they work on."""
    warnings.simplefilter("ignore")
    os.environ["RNNLOGIC_THREADS"] = "1"
    where = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as folder, np.errstate(all="ignore"):
        made = subjects(Path(folder), variants)
        places = [Path(folder, f"scratch-{i}") for i in range(workers)]
        try:
            attacks = [_attacks(seconds, place, made, workers, only) for place in places]
            found = watch(
                [
                    Worker(mine, f"{seed} {place.name}", place)
                    for mine, place in zip(attacks, places, strict=True)
                ]
            )
        finally:
            for place in places:
                unmount(place / MOUNTED)
    for other in found[1:]:
        for tally, more in zip(found[0], other, strict=True):
            tally.merge(more)
    return found[0]


def _attacks(
    seconds: float, scratch: Path, made: list[Subject], part: int, only: Sequence[str]
) -> list[Attack]:
    """Attacks, one after the other; what the first do not need of their time goes to the next."""
    scratch.mkdir()
    found, until = [], time.monotonic()
    chosen = {name: one for name, one in ATTACKS.items() if one[0].__name__ in only}
    total = sum(share for _, share, _ in chosen.values())
    for name, (attack, share, enough) in chosen.items():
        until += share / total * seconds
        found.append(Attack(name, partial(_trial, attack, scratch, made), until, enough / part))
    return found


def _trial(attack: Callable, scratch: Path, made: list[Subject], tally: Tally, seed: str) -> None:
    attack(tally, Random(seed), scratch, made)


def table(rows: list[dict]) -> str:
    """The outcomes as a Markdown table."""
    names = ("campaign", "tried", *KINDS)
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    cells = (
        [f"{row[name]:,}" if isinstance(row[name], int) else row[name] for name in names] for row in rows
    )
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in cells)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--only", nargs="+", choices=NAMES, default=NAMES, help="attacks; all if none are named"
    )
    parser.add_argument("--json", type=Path, help="file of results, from which docs/reliability.md is made")
    options = parser.parse_args()
    started, clock = os.times(), time.monotonic()
    tallies = campaign(60 * options.minutes, options.seed, workers=options.workers, only=options.only)
    rows = [tally.row() for tally in tallies]
    print(table(rows))
    for tally in tallies:
        print("\n".join(f"  {tally.name}: {example}" for example in tally.examples))
    if options.json is not None:
        about = {"minutes": round((time.monotonic() - clock) / 60), "seed": options.seed}
        about |= {"python": platform.python_version(), "workers": options.workers}
        about["cpu_seconds"] = round(sum(os.times()[:4]) - sum(started[:4]))
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
    if any(row[kind] for row in rows for kind in BAD):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
