"""How cost grows with the graph: generated graphs with hubs and planted rules, one process for every verb.

A fit has the default settings, and at most --minutes; what its budgets left out stands in the figures.

    python benchmarks/growth.py --out DIR [--sizes 100000 1000000] [--minutes 10] [--json]

Every size gets a folder with facts and a run below DIR; what is there already is not made again. CPU seconds
are those of the verb's own process, and growth exponents compare successive sizes: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scale import peak_memory_gb

RELATIONS, PLANTED = 200, 20  # base relations; rules p(X,Y) <- a(X,Z) & b(Z,Y) with a and b among them
HELD_BACK = 5_000  # facts of valid, and of test
FACTS_PER_ENTITY = 5
STEPS = ("load", "fit", "predict", "evaluate", "complete")
Facts = NDArray[np.int64]  # [n, 3]


def generated(size: int, seed: int = 0) -> tuple[Facts, Facts, int]:
    """Base facts, planted facts, and the number of entities; a few tails and relations are very frequent."""
    rng = np.random.default_rng(seed)
    entities = size // FACTS_PER_ENTITY
    number = size * 9 // 10
    base = np.stack(
        [
            rng.integers(entities, size=number),
            (RELATIONS * rng.random(number) ** 2).astype(np.int64),
            (entities * rng.random(number) ** 3).astype(np.int64),
        ],
        axis=1,
    )
    base = _distinct(base, entities)
    planted = [_planted(base, rule, size // 10 // PLANTED, rng) for rule in range(PLANTED)]
    return base, _distinct(np.concatenate(planted), entities), entities


def _distinct(facts: Facts, entities: int) -> Facts:
    """Facts without repeats, sorted; one number per fact, since `np.unique` of rows takes minutes."""
    relations = RELATIONS + PLANTED
    keys = np.unique((facts[:, 0] * relations + facts[:, 1]) * entities + facts[:, 2])
    rest, tails = np.divmod(keys, entities)
    return np.stack([*np.divmod(rest, relations), tails], axis=1)


def _planted(base: Facts, rule: int, number: int, rng: np.random.Generator) -> Facts:
    """Facts of relation RELATIONS + rule: walks along base relations 2 * rule and 2 * rule + 1."""
    first, second = (base[base[:, 1] == 2 * rule + step] for step in (0, 1))
    second = second[np.argsort(second[:, 0], kind="stable")]
    middle = first[rng.integers(len(first), size=4 * number)]
    lo, hi = (np.searchsorted(second[:, 0], middle[:, 2], side) for side in ("left", "right"))
    goes_on = hi > lo
    place = lo[goes_on] + (rng.random(int(goes_on.sum())) * (hi - lo)[goes_on]).astype(np.int64)
    heads = middle[goes_on, 0]
    found = np.stack([heads, np.full(len(heads), RELATIONS + rule), second[place, 2]], axis=1)
    return found[:number]


def write_folder(folder: Path, size: int, seed: int = 0) -> None:
    """Facts as train, valid and test; planted ones are held back, since rules can find them."""
    folder.mkdir(parents=True, exist_ok=True)
    base, planted, _ = generated(size, seed)
    planted = np.random.default_rng(seed).permutation(planted)
    held_back = min(HELD_BACK, len(planted) // 4)
    splits = {
        "valid": planted[:held_back],
        "test": planted[held_back : 2 * held_back],
        "train": np.concatenate([base, planted[2 * held_back :]]),
    }
    for split, facts in splits.items():
        with (folder / f"{split}.txt").open("w", encoding="utf-8") as file:
            for start in range(0, len(facts), 1 << 20):
                rows = facts[start : start + (1 << 20)].tolist()
                file.writelines(f"e{h}\tr{r}\te{t}\n" for h, r, t in rows)


def load(folder: Path, minutes: float) -> dict[str, Any]:
    """Read the files and build the graph."""
    del minutes
    from rnnlogic.data.dataset import load_dataset

    graph = load_dataset(folder).graph("train")
    return {"facts": len(graph), "bytes_per_fact": graph.nbytes / len(graph)}


def fit(folder: Path, minutes: float) -> dict[str, Any]:
    """Learn; says in which places the planted rules stand."""
    from rnnlogic.model import RNNLogic

    model = RNNLogic().fit(str(folder), folder / "run", max_minutes=minutes)
    places = [_place(model, rule) for rule in range(PLANTED)]
    figures = {
        "rules": len(model.learned.rules),
        "first": places.count(1),
        "found": PLANTED - places.count(0),
    }
    return figures | {"left_out": dict(model.left_out)}


def _place(model: Any, rule: int) -> int:
    """Place by weight of a planted rule among the rules of its relation; 0 if it is not there."""
    from rnnlogic.rules.rule import Chain

    vocab, learned = model.dataset.vocab, model.learned
    name = f"r{RELATIONS + rule}"
    if name not in vocab.relations:
        return 0
    head, *body = (vocab.relation_id(f"r{i}") for i in (RELATIONS + rule, 2 * rule, 2 * rule + 1))
    ids = learned.rules.by_head(head)
    order = ids[np.argsort(-learned.weights[ids], kind="stable")]
    wanted = [i for i, one in enumerate(order.tolist(), 1) if learned.rules[one] == Chain(head, tuple(body))]
    return wanted[0] if wanted else 0


def predict(folder: Path, minutes: float) -> dict[str, Any]:
    """Load the run, then answer one question."""
    del minutes
    from rnnlogic.model import RNNLogic

    started = time.process_time()
    model = RNNLogic.load(folder / "run")
    model.dataset.graph("train")
    loaded = time.process_time()
    head, relation, _ = model.dataset.test[0].tolist()
    names = model.dataset.vocab
    model.predict(names.entities[head], names.relations[relation])  # compiled kernels are loaded here
    warm = time.process_time()
    answers = model.predict(names.entities[head], names.relations[relation])
    return {
        "loading_cpu": loaded - started,
        "first_answer_cpu": warm - loaded,
        "next_answer_cpu": time.process_time() - warm,
        "answers": len(answers),
    }


def evaluate(folder: Path, minutes: float) -> dict[str, Any]:
    """Rank the answers of the test facts."""
    del minutes
    from rnnlogic.model import RNNLogic

    report = RNNLogic.load(folder / "run").evaluate("test")
    return {"queries": report.queries, "mrr": report.metrics()["mrr"]}


def complete(folder: Path, minutes: float) -> dict[str, Any]:
    """The most probable missing facts of one planted relation."""
    del minutes
    from rnnlogic.model import RNNLogic

    model = RNNLogic.load(folder / "run")
    return {"facts": len(list(model.complete(f"r{RELATIONS}", most=100)))}


def measured(step: str, folder: Path, minutes: float) -> dict[str, Any]:
    """One verb in this process, with its cost."""
    started = time.perf_counter()
    found = globals()[step](folder, minutes)
    cost = {"cpu": time.process_time(), "wall": time.perf_counter() - started, "peak_gb": peak_memory_gb()}
    return {
        key: round(value, 3) if isinstance(value, float) else value for key, value in (found | cost).items()
    }


def measure(size: int, out: Path, minutes: float) -> dict[str, Any]:
    """All verbs on a graph of one size, each in a process of its own."""
    folder = out / str(size)
    if not (folder / "train.txt").is_file():
        write_folder(folder, size)
    results: dict[str, Any] = {"size": size}
    for step in STEPS:
        command = [sys.executable, __file__, "--step", step, "--out", str(folder), "--minutes", str(minutes)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        results[step] = json.loads(done.stdout) if done.returncode == 0 else {"failed": done.returncode}
        print(f"{size:>10,} {step:<9} {json.dumps(results[step])}", file=sys.stderr, flush=True)
    return results


def exponents(results: list[dict[str, Any]]) -> dict[str, list[float]]:
    """How CPU seconds grow from one size to the next, for each verb."""
    found: dict[str, list[float]] = {}
    for small, large in pairwise(results):
        for step in STEPS:
            if "cpu" in small[step] and "cpu" in large[step]:
                ratio = math.log(large[step]["cpu"] / small[step]["cpu"])
                found.setdefault(step, []).append(round(ratio / math.log(large["size"] / small["size"]), 2))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(measured(options.step, options.out, options.minutes)))
        return
    results = [measure(size, options.out, options.minutes) for size in options.sizes]
    print(json.dumps({"results": results, "growth of CPU seconds": exponents(results)}, indent=1))


if __name__ == "__main__":
    main()
