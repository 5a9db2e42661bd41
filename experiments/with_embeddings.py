"""Embeddings beside the rules of a finished run: the full model plus eta times each embedding's own score.

    python -m experiments.with_embeddings RUN EMBEDDING [EMBEDDING ...] [--etas 0 0.5 1 2 4] [--json FILE]

The weights of the rules, or the network of RNNLogic+, stay as they are; eta is chosen on all validation
facts, for each relation and embedding, and test facts are asked once for each row. Rows: the rules alone,
each embedding alone, the rules with each embedding, and with all of them. Evidence train, both sides,
expected ties.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations as subsets
from pathlib import Path
from typing import Any

from experiments.shown import print_table
from paper.studies import full_model
from rnnlogic.base.executor import default_threads
from rnnlogic.embeddings.base import Embedding, joined
from rnnlogic.embeddings.files import load_embedding
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.predictors.base import Predictor
from rnnlogic.predictors.eta import best_etas, combinations, reciprocal_ranks
from rnnlogic.predictors.paths.predictor import PathRuleScorer
from rnnlogic.predictors.plus.predictor import PlusScorer
from rnnlogic.runs.folder import Run

ETAS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


def beside(rules: Predictor, embedding: Scorer, run: Run, etas: tuple[float, ...]) -> Predictor:
    """The rules as they are, and an embedding with the etas that validation facts choose."""
    dataset, settings, threads = run.dataset(), run.config().paths, default_threads()
    sums = partial(PathRuleScorer, rules.rules, rules.weights, rules.feature, None)
    alone = rules if isinstance(rules, PlusScorer) else sums(0.0, threads, embedding)
    tried = combinations(etas, embedding)
    ranks, asked = reciprocal_ranks(alone, embedding, dataset, tried, len(dataset.valid))
    eta = best_etas(ranks, asked, tried, settings.eta_prior)
    if isinstance(rules, PlusScorer):
        return replace(rules, parameters=replace(rules.parameters, eta=eta), embedding=embedding)
    return sums(eta, threads, embedding)


def scorers(run: Run, parts: dict[str, Embedding], etas: tuple[float, ...]) -> Iterator[tuple[str, Scorer]]:
    """The rows of the table."""
    rules = full_model(run).predictor
    yield "rules", rules
    yield from parts.items()
    for number in range(1, len(parts) + 1):
        for names in subsets(parts, number):
            together = joined([parts[name] for name in names], default_threads())
            yield " + ".join(["rules", *names]), beside(rules, together, run, etas)


def study(run: Run, folders: list[Path], etas: tuple[float, ...]) -> list[dict[str, Any]]:
    """The table of one run."""
    dataset, rows = run.dataset(), []
    parts = {folder.name: load_embedding(folder, dataset.vocab)[0] for folder in folders}
    started = time.process_time()
    for name, scorer in scorers(run, parts, etas):
        found: dict[str, Any] = {"model": name}
        for split in ("valid", "test"):
            metrics = evaluate(scorer, dataset, split).metrics()
            found |= {f"{split} {key}": round(metrics[key], 4) for key in ("mrr", "hits@1", "hits@10")}
        spent, started = time.process_time() - started, time.process_time()
        rows.append(found | {"CPU seconds": round(spent)})
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("embeddings", type=Path, nargs="+")
    parser.add_argument("--etas", type=float, nargs="+", default=ETAS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = study(Run.open(options.run), options.embeddings, tuple(options.etas))
    print_table(rows, "")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
