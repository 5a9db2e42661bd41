"""How many held-out facts do constraints found in training facts exclude, and how many corrupted ones?

    python -m experiments.constraints DATASET [DATASET ...] --rarer 3 5 10

A corrupted fact has one end replaced by another entity that has the same end of the relation in training.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from rnnlogic.constraints import belief
from rnnlogic.constraints.constraints import Constraints
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.graph import Triples


def main() -> None:
    """Print a line for each dataset, bound and split."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--rarer", nargs="+", type=float, default=[belief.RARER])
    wanted = parser.parse_args()
    for name in wanted.datasets:
        data = load_dataset(name)
        for rarer in wanted.rarer:
            belief.RARER = rarer
            started = time.perf_counter()
            found = Constraints.of(data.graph("train"), data.vocab)
            seconds = time.perf_counter() - started
            hard = Counter(one.kind for one in found if one.is_hard)
            print(f"{data.name} rarer {rarer:g}: {len(found)} found in {seconds:.1f} s, {dict(hard)} exclude")
            for split in ("valid", "test"):
                facts = data.facts(split)
                wrong, right = excluded(found, facts), excluded(found, corrupted(data, facts))
                print(f"  {split}: {wrong} of {len(facts):,} facts, {right} of as many corrupted ones")


def excluded(found: Constraints, facts: Triples) -> int:
    """How many facts are not allowed beside the training facts."""
    own = (facts[facts[:, 1] == relation] for relation in np.unique(facts[:, 1]))
    return sum(int(np.count_nonzero(found.broken(part))) for part in own)


def corrupted(data: Dataset, facts: Triples) -> Triples:
    """The facts with one end replaced."""
    rng, graph = np.random.default_rng(0), data.graph("train")
    wrong = facts.copy()
    at_head = rng.random(len(facts)) < 0.5
    for relation in np.unique(facts[:, 1]).tolist():
        ends = graph.edges(relation)
        if len(ends[0]):
            for column, mask in ((0, at_head), (2, ~at_head)):
                rows = np.flatnonzero(mask & (facts[:, 1] == relation))
                wrong[rows, column] = rng.choice(ends[column // 2], len(rows))
    return wrong


if __name__ == "__main__":
    main()
