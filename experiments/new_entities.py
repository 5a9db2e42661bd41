"""What carries over to entities that a fit never saw: the default, and `fit --for-new-entities`.

    python -m experiments.new_entities [fb wn ...] [--test] [--seed 0] [--json FILE]

Each graph is cut into two halves without a common entity, as in GraIL's inductive splits: fb and wn are
parts of FB15k-237 and WN18RR, split anew. A model is fitted to one half and moved to the other, where 80 %
of the facts are known and the others are asked: half of them by default, the other half with --test.
Both sides, expected ties, one thread; CPU seconds are of fitting only.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.constants import grown, mrr
from experiments.small_graphs import all_facts, split_anew
from rnnlogic import RNNLogic
from rnnlogic.data.dataset import Dataset

SOURCES = {"fb": ("fb15k-237", 2_000), "wn": ("wn18rr", 5_000)}  # of each: entities in a half
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "full model": {"compact": False},
    "no constants": {"evidence__constants": False},
    "no constants, no base rate": {"evidence__constants": False, "evidence__prior": False},
}


def halves(name: str, seed: int) -> tuple[Dataset, Dataset]:
    """Two graphs without a common entity: one to learn from, one to move to."""
    source, number = SOURCES[name]
    vocab, every = all_facts(source)
    rng = np.random.default_rng(seed)
    first = grown(every, number, rng)
    rest = every[~np.isin(every[:, 0], first) & ~np.isin(every[:, 2], first)]
    parts = [first, grown(rest, number, rng)]
    inside = [every[np.isin(every[:, 0], part) & np.isin(every[:, 2], part)] for part in parts]
    learned, other = (split_anew(name, vocab, own, (80, 10, 10), seed) for own in inside)
    return learned, other


def moved(learned: Dataset, other: Dataset, how: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """Figures of one fit on the other half."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        model = RNNLogic(seed=given.seed, threads=1, **how).fit(
            learned, run=Path(folder) / "run", verbose=False
        )
    seconds = time.process_time() - started
    there = model.on(other)
    splits = ("valid", "test") if given.test else ("valid",)
    figures: dict[str, Any] = {split: mrr(there.scorer, there.dataset, split) for split in splits}
    return figures | {
        "own": mrr(model.scorer, learned, "valid"),
        "cpu": seconds,
        "rules": len(there.learned.rules),
    }


def main() -> None:
    """Print a line for each graph and way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*SOURCES, []], help="all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--test", action="store_true", help="ask the other half of the facts, too")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for name in given.names or SOURCES:
        learned, other = halves(name, given.seed)
        print(f"{name}: {len(learned.train):,} facts to learn from, {len(other.train):,} on the other half")
        for way, how in WAYS.items():
            row = moved(learned, other, how, given)
            told = ", ".join(f"{key} {value:.3f}" for key, value in row.items() if key in ("valid", "test"))
            print(
                f"  {way:<18} {told}; own {row['own']:.3f}, {row['rules']:,} rules, {row['cpu']:.0f} CPU s",
                flush=True,
            )
            rows.append({"graph": name, "way": way, "seed": given.seed} | row)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
