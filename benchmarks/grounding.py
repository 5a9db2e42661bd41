"""Speed and memory of grounding against SciPy and dense torch, in one run.

    python benchmarks/grounding.py --data DIR [--json] [--datasets wn18rr fb15k-237] [--full] [--no-scale]

DIR holds wn18rr/, fb15k-237/ and the authors' rules in rnnlogic-rules/. All methods answer the same test
queries (both directions, no fact hidden), and their counts are checked to be equal. Rates are (query x rule)
groundings per second. As machines may be shared, the methods take turns and the best of several rounds
counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.formats import read_rules
from rnnlogic.rules.ruleset import RuleSet
from scale import measure_scale, peak_memory_gb

QUERIES = {"wn18rr": 6268, "fb15k-237": 1600}  # sample per dataset: about as much work in each
DENSE_BATCHES, DENSE_BATCH = 2, 32
ONCE = ("torch_dense",)  # one round is enough for what is hundreds of times slower
SCIPY_BATCH = 2048
ROUNDS, TURN_SECONDS = 3, 2.5  # in every round each method runs this long, and at least once
Queries = NDArray[np.int32]  # [n, 3] head, relation in 0..2R-1, answer


def load(folder: Path, name: str) -> tuple[Dataset, RuleSet]:
    dataset = load_dataset(folder / name)
    return dataset, read_rules(folder / "rnnlogic-rules" / f"{name}.txt", dataset.vocab).rules


def both_directions(facts: NDArray[np.int32], num_relations: int) -> Queries:
    """(h, r, t) and (t, r^-1, h) of every fact, sorted by relation."""
    inverse = np.stack([facts[:, 2], facts[:, 1] + num_relations, facts[:, 0]], axis=1)
    queries = np.concatenate([facts, inverse]).astype(np.int32)
    return queries[np.argsort(queries[:, 1], kind="stable")]


def sample(queries: Queries, size: int) -> Queries:
    picked = np.random.default_rng(0).permutation(len(queries))[:size]
    return queries[np.sort(picked)]


def groundings(queries: Queries, rules: RuleSet) -> int:
    """Number of (query, rule) pairs."""
    per_relation = np.bincount(rules.heads, minlength=int(queries[:, 1].max()) + 1)
    return int(per_relation[queries[:, 1]].sum())


def by_relation(queries: Queries, rules: RuleSet, batch: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """(relation, heads) batches of the queries that have rules."""
    for relation in np.unique(queries[:, 1]).tolist():
        heads = np.ascontiguousarray(queries[queries[:, 1] == relation, 0])
        if len(rules.by_head(relation)):
            for start in range(0, len(heads), batch):
                yield relation, heads[start : start + batch]


class Contest:
    """All methods on one dataset, ready to run on the same queries."""

    def __init__(self, folder: Path, name: str) -> None:
        from alternatives import SciPyGrounder, TorchDenseGrounder

        dataset, self.rules = load(folder, name)
        graph = dataset.graph("train").counting("walks")  # as the others count
        self.queries = sample(both_directions(dataset.test, graph.num_relations), QUERIES[name])
        self.weights = np.random.default_rng(1).normal(size=len(self.rules))
        self.scipy, self.dense = SciPyGrounder(graph, self.rules), TorchDenseGrounder(graph, self.rules)
        self.ours = {threads: Grounder(graph, self.rules, threads) for threads in (1, 2)}
        batches = list(by_relation(self.queries, self.rules, DENSE_BATCH))
        batches.sort(key=lambda batch: -len(batch[1]))
        self.dense_batches = batches[:DENSE_BATCHES]

    def methods(self) -> dict[str, Callable[[], int]]:
        """Name -> function that runs the method once and returns the number of (query, rule) pairs."""
        return {
            "ours_1": lambda: self.count(1),
            "ours_2": lambda: self.count(2),
            "scipy": self.count_scipy,
            "fused_1": lambda: self.score(1),
            "fused_2": lambda: self.score(2),
            "scipy_scores": self.score_scipy,
            "torch_dense": self.count_dense,
        }

    def count(self, threads: int) -> int:
        """Ours: all counts."""
        for _ in self.ours[threads].ground(self.queries[:, 0], self.queries[:, 1]):
            pass
        return groundings(self.queries, self.rules)

    def score(self, threads: int) -> int:
        """Ours: weighted sums."""
        for _ in self.ours[threads].scores(self.queries[:, 0], self.queries[:, 1], self.weights):
            pass
        return groundings(self.queries, self.rules)

    def count_scipy(self) -> int:
        """SciPy: all counts."""
        for relation, heads in by_relation(self.queries, self.rules, SCIPY_BATCH):
            self.scipy.counts(heads, relation)
        return groundings(self.queries, self.rules)

    def score_scipy(self) -> int:
        """SciPy: weighted sums."""
        for relation, heads in by_relation(self.queries, self.rules, SCIPY_BATCH // 8):
            self.scipy.scores(heads, relation, self.weights)
        return groundings(self.queries, self.rules)

    def count_dense(self) -> int:
        """Dense torch: all counts of a few batches."""
        for relation, heads in self.dense_batches:
            self.dense.counts(heads, relation)
        return sum(len(heads) * len(self.rules.by_head(relation)) for relation, heads in self.dense_batches)

    def check_equal_counts(self) -> None:
        """Stop unless SciPy, torch and ours count the same walks on the dense batches."""
        for relation, heads in self.dense_batches:
            ours = {
                int(i): np.zeros((len(heads), self.dense.num_entities)) for i in self.rules.by_head(relation)
            }
            for part in self.ours[1].ground(heads, relation):
                columns = part.columns()
                for i in ours:
                    rows = columns.rule == i
                    ours[i][columns.query[rows], columns.entity[rows]] = columns.count[rows]
            theirs, dense = self.scipy.counts(heads, relation), self.dense.counts(heads, relation)
            for i, counts in ours.items():
                assert np.array_equal(counts, theirs[i].toarray()), f"rule {i}: SciPy counts differ"
                assert np.allclose(counts, dense[i].numpy().T, rtol=1e-5), f"rule {i}: torch counts differ"


def contest(folder: Path, name: str, say: Callable[[str], None]) -> dict[str, float]:
    """Best rate of every method over rounds in which they take turns."""
    import torch

    torch.set_num_threads(1)
    say(f"{name}: loading, compiling, checking that all count the same")
    entrants = Contest(folder, name)
    entrants.check_equal_counts()
    entrants.score(1)
    methods = entrants.methods()
    rates = dict.fromkeys(methods, 0.0)
    for round_ in range(ROUNDS):
        say(f"{name}: round {round_ + 1}/{ROUNDS}")
        for method, run in methods.items():
            if round_ == 0 or method not in ONCE:
                rates[method] = max(rates[method], best_rate(run))
    return rates


def best_rate(run: Callable[[], int]) -> float:
    """Highest rate over the runs that fit into a turn."""
    best, left = 0.0, TURN_SECONDS
    while left > 0:
        started = time.perf_counter()
        done = run()
        seconds = time.perf_counter() - started
        best, left = max(best, done / seconds), left - seconds
    return best


def training_pass(folder: Path, name: str, full: bool) -> dict[str, float]:
    """Run ours alone on training queries with their own fact hidden: rate, and this process' peak memory."""
    dataset, rules = load(folder, name)
    queries = both_directions(dataset.train, dataset.vocab.num_relations)
    if not full:
        queries = sample(queries, QUERIES[name])
    grounder = Grounder(dataset.graph("train"), rules, 2)
    next(grounder.ground(queries[:1, 0], queries[:1, 1], queries[:1, 2]), None)
    started, results = time.perf_counter(), 0
    for part in grounder.ground(queries[:, 0], queries[:, 1], queries[:, 2]):
        results += len(part)
    seconds = time.perf_counter() - started
    return {
        "train_2": groundings(queries, rules) / seconds,
        "train_seconds": seconds,
        "train_queries": len(queries),
        "train_results": results,
        "peak_gb": peak_memory_gb(),
    }


def in_fresh_process(folder: Path, name: str, full: bool) -> dict[str, float]:
    """`training_pass` in a process of its own, so that the peak memory is ours alone."""
    command = [sys.executable, __file__, "--data", str(folder), "--alone", name]
    done = subprocess.run(
        [*command, "--full"] if full else command, capture_output=True, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def print_tables(results: dict[str, dict[str, float]]) -> None:
    table = Table(title="(query x rule) groundings per second, in thousands")
    names = [name for name in results if name != "scale"]
    for column in ("", *names, *(f"{name}: times SciPy" for name in names)):
        table.add_column(column, justify="right" if column else "left")
    for method, text in LABELS.items():
        rates = [f"{results[name][method] / 1e3:,.1f}" for name in names]
        against = "scipy_scores" if method in ("fused_1", "fused_2", "scipy_scores") else "scipy"
        ratios = [f"{results[name][method] / results[name][against]:.3g}" for name in names]
        if method == "train_2":  # other queries, each with a hidden fact: not comparable
            ratios = ["-"] * len(names)
        table.add_row(text, *rates, *ratios)
    console = Console(width=max(100, Console().width))
    console.print(table)
    for name in names:
        r = results[name]
        console.print(
            f"{name}: second core {r['ours_2'] / r['ours_1']:.2f}x (counts), "
            f"{r['fused_2'] / r['fused_1']:.2f}x (scores); {r['ours_1'] / r['torch_dense']:,.0f}x dense torch"
            f"; {r['train_queries']:,.0f} training queries in {r['train_seconds']:.1f} s, "
            f"peak {r['peak_gb']:.2f} GB"
        )
    if "scale" in results:
        s = results["scale"]
        console.print(
            f"scale: {s['facts']:,.0f} facts of {s['entities']:,.0f} entities and {s['relations']:,.0f} "
            "relations: "
            f"read in {s['load_seconds']:.1f} s, graph in {s['graph_seconds']:.1f} s and "
            f"{s['graph_bytes_per_fact']:.0f} bytes per fact, peak {s['peak_gb']:.2f} GB"
        )


LABELS = {
    "ours_1": "ours, counts, 1 thread",
    "ours_2": "ours, counts, 2 threads",
    "scipy": "SciPy row slices, prefix cache",
    "fused_1": "ours, scores, 1 thread",
    "fused_2": "ours, scores, 2 threads",
    "scipy_scores": "SciPy, scores",
    "torch_dense": "dense torch propagation, 1 thread",
    "train_2": "ours, own fact hidden, 2 threads",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["wn18rr", "fb15k-237"], choices=sorted(QUERIES))
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--full", action="store_true", help="all training queries in the pass with hidden facts"
    )
    parser.add_argument(
        "--no-scale", action="store_true", help="leave out the generated graph of 5 million facts"
    )
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(training_pass(options.data, options.alone, options.full)))
        return
    progress = Console(stderr=True)
    results: dict[str, Any] = {}
    for name in options.datasets:
        results[name] = contest(options.data, name, progress.print)
        progress.print(f"{name}: training queries in a process of its own")
        results[name] |= in_fresh_process(options.data, name, options.full)
    if not options.no_scale:
        progress.print("scale: writing and loading a graph of 5 million facts")
        results["scale"] = measure_scale()
    if options.json:
        print(json.dumps(results))
    else:
        print_tables(results)


if __name__ == "__main__":
    main()
