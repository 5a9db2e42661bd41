"""Training speed of RotatE against PyKEEN's RotatE, in one run with equal dimension, batch and negatives.

    python benchmarks/embeddings.py --data DIR [--json] [--datasets wn18rr fb15k-237] [--threads 2]

DIR holds wn18rr/ and fb15k-237/. Both train on the same facts with self-adversarial negative sampling and
Adam; whole steps are timed: sampling, forward pass, gradients, update. Rates are scored triples per second (a
query with N negatives scores 1 + N triples). As machines may be shared, the methods take turns and the best
of several rounds counts. Ours shares negatives among 128 queries, as does "plain torch", which computes our
steps by autograd; PyKEEN draws negatives for every query.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.embeddings.rotate_training import RotatEMethod
from rnnlogic.embeddings.settings import RotatESettings
from rnnlogic.embeddings.train import Stepper
from rotate_torch import TorchStepper

ROUNDS, OUR_STEPS, THEIR_STEPS = 3, 20, 2


class Size(NamedTuple):
    """The sizes that both train with."""

    dim: int
    batch: int
    negatives: int
    margin: float


SIZES = {"wn18rr": Size(200, 512, 256, 6.0), "fb15k-237": Size(500, 512, 256, 9.0)}


class Ours:
    """Our steps, ready to be timed; optionally by plain torch on the same shared negatives."""

    def __init__(self, dataset: Dataset, size: Size, threads: int, plain_torch: bool) -> None:
        settings = RotatESettings(
            dim=size.dim, batch_size=size.batch, negatives=size.negatives, margin=size.margin
        )
        self.method = RotatEMethod(dataset.graph("train"), settings)
        start = self.method.first()
        self.stepper: Stepper = (
            TorchStepper(start, self.method) if plain_torch else self.method.stepper(start, threads)
        )
        self.done = 0
        self.run(1)

    def run(self, steps: int) -> None:
        """Take some steps."""
        order = self.method.order(0)
        for _ in range(steps):
            self.stepper.step(self.method.batch(self.done, order), 0.001)
            self.done += 1


class Theirs:
    """PyKEEN's steps, ready to be timed: an epoch over exactly the facts that the steps need."""

    def __init__(self, dataset: Dataset, size: Size) -> None:
        from pykeen.losses import NSSALoss
        from pykeen.models import RotatE
        from pykeen.training import SLCWATrainingLoop
        from pykeen.triples import CoreTriplesFactory

        chosen = np.random.default_rng(0).permutation(len(dataset.train))[: THEIR_STEPS * size.batch]
        facts = torch.as_tensor(dataset.train[chosen].astype(np.int64))
        vocab = dataset.vocab
        self.factory = CoreTriplesFactory(
            facts, num_entities=vocab.num_entities, num_relations=vocab.num_relations
        )
        loss = NSSALoss(margin=size.margin, adversarial_temperature=1.0)
        model = RotatE(triples_factory=self.factory, embedding_dim=size.dim, loss=loss, random_seed=0)
        self.loop = SLCWATrainingLoop(
            model=model,
            triples_factory=self.factory,
            optimizer=torch.optim.Adam(model.parameters(), lr=1e-4),
            negative_sampler_kwargs={"num_negs_per_pos": size.negatives},
        )
        self.batch = size.batch

    def run(self, steps: int) -> None:
        """Take THEIR_STEPS steps."""
        assert steps == THEIR_STEPS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.loop.train(self.factory, num_epochs=1, batch_size=self.batch, use_tqdm=False)


def contest(folder: Path, name: str, threads: int, console: Console) -> dict[str, Any]:
    """The best rate of every method."""
    dataset, size = load_dataset(folder / name), SIZES[name]
    console.print(f"{name}: {size}, {threads} threads; compiling")
    torch.set_num_threads(threads)
    entrants: dict[str, tuple[Ours | Theirs, int]] = {
        "ours": (Ours(dataset, size, threads, plain_torch=False), OUR_STEPS),
        "torch": (Ours(dataset, size, threads, plain_torch=True), THEIR_STEPS),
        "pykeen": (Theirs(dataset, size), THEIR_STEPS),
    }
    triples = size.batch * (1 + size.negatives)
    rates = dict.fromkeys(entrants, 0.0)
    for round_ in range(ROUNDS):
        console.print(f"{name}: round {round_ + 1}/{ROUNDS}")
        for key, (entrant, steps) in entrants.items():
            started = time.perf_counter()
            entrant.run(steps)
            rates[key] = max(rates[key], triples * steps / (time.perf_counter() - started))
    ratio = rates["ours"] / rates["pykeen"]
    return {**size._asdict(), "threads": threads, "triples_per_second": rates, "ratio": ratio}


def print_table(results: dict[str, dict[str, Any]]) -> None:
    table = Table(title="Scored triples per second in RotatE training, in thousands")
    columns = ("", "dim", "batch", "negatives", "threads", "ours", "plain torch", "PyKEEN", "ours / PyKEEN")
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    for name, result in results.items():
        sizes = [str(result[key]) for key in columns[1:5]]
        rates = [f"{result['triples_per_second'][key] / 1e3:,.0f}" for key in ("ours", "torch", "pykeen")]
        table.add_row(name, *sizes, *rates, f"{result['ratio']:.1f}")
    Console(width=max(100, Console().width)).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args()
    console = Console(stderr=True)
    results = {name: contest(options.data, name, options.threads, console) for name in options.datasets}
    if options.json:
        print(json.dumps(results))
    else:
        print_table(results)


if __name__ == "__main__":
    main()
