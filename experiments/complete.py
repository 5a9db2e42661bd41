"""Are proposed facts true? Complete the training graph of finished runs and check against held-out facts.

    python -m experiments.complete runs/experiments/{umls,wn18rr}/ours/seed-0 [--json]

Evidence train; a proposal counts as true if it is in the validation or test set, so a true fact that the
dataset lacks counts as false. Probabilities are calibrated on the validation set only.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.shown import print_table
from rnnlogic.calibrate.probability import reliability
from rnnlogic.model import RNNLogic

CUTS = (100, 1000)


def measure(folder: Path) -> dict[str, Any]:
    """Precision of the first proposals, calibration error, and time."""
    model = RNNLogic.load(folder)
    data, started, before = model.dataset, time.monotonic(), _cpu_seconds()
    level = model.level("train")
    facts = list(model.complete(most=max(CUTS), facts="train"))
    seconds, cpu = time.monotonic() - started, _cpu_seconds() - before
    names, held_out = data.vocab, np.concatenate([data.valid, data.test]).tolist()
    true = {(names.entities[h], names.relations[r], names.entities[t]) for h, r, t in held_out}
    is_true = np.array([(f.head, f.relation, f.tail) in true for f in facts], float)
    probability = np.array([fact.probability for fact in facts])
    checked = reliability(probability, is_true, np.ones(len(facts)))
    return {
        "dataset": data.name,
        **{f"precision@{cut}": float(is_true[:cut].mean()) for cut in CUTS},
        **{f"predicted@{cut}": float(probability[:cut].mean()) for cut in CUTS},
        "error_on_proposals": checked.error,
        "error_on_valid": level.reliability.error,
        "seconds": seconds,
        "cpu_seconds": cpu,
    }


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Parse arguments, measure every run, print a table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(folder) for folder in options.runs]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print_table(rows, ".3g")


if __name__ == "__main__":
    main()
