"""Which choice of the paper's first released code matters: one is changed at a time, on validation facts.

    python -m experiments.first_code data/umls data/kinship

Rules as the first code selects them (`paper/baselines/first_code.py`); evidence train, both sides, expected
ties. Nothing is written; research/lab-notes.md has the outcome.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from paper.baselines.first_code import (
    FEWER,
    FirstCodeSettings,
    ZeroElsewhere,
    learn_weights,
    select_rules,
    training_walks,
)
from paper.baselines.kernels import Floats
from rnnlogic.base.executor import default_threads
from rnnlogic.config import changed, preset_for
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.predictors.base import Task
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet

LIKELIHOOD = {"initial": "expectation", "weight_decay": 200.0}  # what the paper states, as a convex problem
CHANGES = {
    "likelihood of the answer, other answers wrong": {"feature": "count", "other_answers": "negative"},
    "the same, other answers left out": {"feature": "count", "other_answers": "exclude"},
    "the same, log(1 + count)": {"feature": "log1p", "other_answers": "exclude"},
}


def walk_shares(graph: Graph, rules: RuleSet, settings: FirstCodeSettings) -> Floats:
    """The share of each rule's walks that lead to known answers."""
    right, walks = np.zeros(len(rules)), np.full(len(rules), 1e-300)
    for found, _, is_known in training_walks(graph, rules, settings):
        is_right = np.repeat(is_known, np.diff(found.candidate_ptr))
        walks += np.bincount(found.rule_id, found.count, len(rules))
        right += np.bincount(found.rule_id, found.count * is_right, len(rules))
    shares: Floats = right / walks
    return shares


def show(name: str, scorer: Scorer, dataset: Dataset) -> None:
    """Print the validation MRR."""
    print(f"  {name}: {evaluate(scorer, dataset, 'valid').metrics()['mrr']:.4f}", flush=True)


def compare(dataset: Dataset) -> None:
    """Several ways to learn the weights of the same rules."""
    threads = default_threads()
    settings = FirstCodeSettings(kept=FEWER.get(dataset.name, 200), threads=threads)
    graph, rules = dataset.graph("train"), select_rules(dataset, settings)
    print(f"{dataset.name}, {len(rules):,} rules:")
    for name, weights in {
        "one pass of Adam, all known answers right, as the code": learn_weights(graph, rules, settings),
        "the same, other answers wrong": learn_weights(graph, rules, settings, others_right=False),
        "share of walks to known answers": walk_shares(graph, rules, settings),
    }.items():
        show(name, ZeroElsewhere(RuleScorer(rules, weights, "count", threads)), dataset)
    for name, changes in CHANGES.items():
        config = changed(preset_for(dataset), {"predictor": LIKELIHOOD | changes})
        show(name, RuleScorer.fit(Task(dataset, rules, config, threads)), dataset)


def main() -> None:
    """Compare on each dataset."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="+", type=Path)
    for folder in parser.parse_args().datasets:
        compare(load_dataset(folder))


if __name__ == "__main__":
    main()
