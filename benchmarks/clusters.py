"""What other places than threads cost on one machine: mining and evaluation on threads, processes and Ray.

    python benchmarks/clusters.py [DATASET] [--workers 1] [--places threads processes ray]

Every place gets a process of its own and equally many threads or workers; results must be equal bytes.
Seconds are wall clock. The second round shows what is left once workers run and hold the kernels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from operator import add
from typing import Any

import numpy as np

from rnnlogic.base.clusters import on_cluster
from rnnlogic.base.executor import THREADS_VARIABLE, map_ordered
from rnnlogic.config import Config, preset_for
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.mining.mine import Mined, mine_rules
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import pack_rules

PLACES = ("threads", "processes", "ray")
RULES = 100  # of each relation that rank answers


def mined(dataset: Dataset, config: Config) -> tuple[Mined, str]:
    """Mined rules, and the digest of all that was found."""
    found = mine_rules(dataset.graph("train"), config.mine, config.max_length, seed=config.seed)
    return found, _digest(
        *pack_rules(found.rules).values(), found.statistics.support, found.statistics.wrong, found.joined
    )


def ranked(dataset: Dataset, found: Mined) -> tuple[float, str]:
    """MRR of the validation facts by the best mined rules, weighted by confidence, and a digest of ranks."""
    best = np.concatenate([found.rules.by_head(int(r))[:RULES] for r in found.rules.head_relations()])
    scorer = RuleScorer(found.rules[best], found.statistics.of(best).confidence)
    report = evaluate(scorer, dataset, "valid")
    return report.metrics()["mrr"], _digest(report.ranks.better, report.ranks.tied)


def measured(name: str, place: str) -> dict[str, Any]:
    """Seconds of everything at one place, in this process."""
    dataset = load_dataset(name)
    config = preset_for(dataset)
    dataset.graph("train"), dataset.graph("all")
    result: dict[str, Any] = {"place": place}
    started = time.perf_counter()
    with on_cluster(place):
        list(map_ordered(add, range(8), 1))  # workers start
        result["start"] = round(time.perf_counter() - started, 2)
        for round_ in ("first", "second"):
            (found, rules), seconds = timed(partial(mined, dataset, config))
            result[f"mine_{round_}"] = seconds
            (mrr, ranks), seconds = timed(partial(ranked, dataset, found))
            result[f"evaluate_{round_}"] = seconds
    return result | {"rules": len(found.rules), "mrr": round(mrr, 4), "digest": f"{rules}-{ranks}"}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and its seconds."""
    started = time.perf_counter()
    found = work()
    return found, round(time.perf_counter() - started, 2)


def _digest(*arrays: Any) -> str:
    together = hashlib.sha256()
    for array in arrays:
        together.update(np.ascontiguousarray(array).tobytes())
    return together.hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", nargs="?", default="wn18rr")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--places", nargs="+", default=list(PLACES), choices=PLACES)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measured(options.dataset, options.alone)))
        return
    digests = set()
    for kind in options.places:
        place = kind if kind == "threads" else f"{kind}://{options.workers}"
        command = [sys.executable, __file__, options.dataset, "--alone", place]
        environment = os.environ | {THREADS_VARIABLE: str(options.workers)}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        line = done.stdout.strip().splitlines()[-1]
        print(line, flush=True)
        digests.add(json.loads(line)["digest"])
    print("results are equal" if len(digests) == 1 else "RESULTS DIFFER")


if __name__ == "__main__":
    main()
