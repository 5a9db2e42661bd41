"""`python -m tests.torture --minutes 30`: the whole campaign; one table, exit code 1 unless all is clear."""

import argparse
import json
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from tests.torture.attacks import damage, disk, hostile, readers, writers
from tests.torture.kills import kills
from tests.torture.outcome import BAD, KINDS, Tally
from tests.torture.runs import VARIANTS, subjects

# Share of the time, and trials that are enough
ATTACKS = {
    "random kills (SIGKILL), then resumed": (kills, 0.30, 1_000),
    "damaged files of a run": (damage, 0.30, 10_000),
    "hostile runs with fitting checksums": (hostile, 0.15, 10_000),
    "broken disks, folders deleted under way": (disk, 0.10, 10_000),
    "two writers": (writers, 0.05, 1_000),
    "fuzzed input of every reader": (readers, 0.10, 1_000_000),
}


def campaign(
    seconds: float, seed: int, variants: Sequence[str] = VARIANTS, skip: Sequence[str] = ()
) -> list[Tally]:
    """Run all attacks for about so many seconds, after the fits that they work on."""
    warnings.simplefilter("ignore")
    os.environ["RNNLOGIC_THREADS"] = "1"
    tallies = []
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        made = subjects(Path(folder), variants)
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        for name, (attack, share, enough) in ATTACKS.items():
            if attack.__name__ in skip:
                continue
            tally, random, until = Tally(name), Random(f"{seed} {name}"), time.monotonic() + share * seconds
            while time.monotonic() < until and tally.tried < enough:
                attack(tally, random, scratch, made)
            tallies.append(tally)
    return tallies


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
    parser.add_argument("--json", type=Path, help="file of results, from which docs/reliability.md is made")
    options = parser.parse_args()
    started = time.process_time()
    tallies = campaign(60 * options.minutes, options.seed)
    rows = [tally.row() for tally in tallies]
    print(table(rows))
    for tally in tallies:
        print("\n".join(f"  {tally.name}: {example}" for example in tally.examples))
    if options.json is not None:
        about = {"minutes": options.minutes, "seed": options.seed, "python": platform.python_version()}
        about["cpu_seconds"] = round(time.process_time() - started)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
    if any(row[kind] for row in rows for kind in BAD):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
