"""Rules with constants: learned weights against AnyBURL-like aggregation of the same rules' confidences.

    python -m experiments.constants nations [--rules 200] [--seed 0] [--json FILE]
    python -m experiments.constants fb15k-237 --entities 400 --seed 0

With --entities, a connected part of the graph with so many entities, grown from a random one, stands for the
graph; its splits are those of the graph. Chains are mined (length <= 3), rules with constants too. Rows:

- learned weights of the chains alone; with the summaries of rules with constants as features
  (`evidence.constants`); with rules with constants that have weights of their own
  (`evidence.constant_rules`); with both. The weight decay of each row is chosen on validation facts.
- the same chains and rules with constants by confidence, support / (predictions + 5), counted as AnyBURL
  does: the largest, ties by the next two (max-plus), and noisy-or.

Evidence train, both sides, expected ties. Test facts only fill the last column. CPU seconds are of one row.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.baselines.confidence import MaxScorer, confidence_scorer, smoothed_confidences
from rnnlogic.base.budget import Work
from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.fit.weights import evidence_rules
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.mine import mine_rules
from rnnlogic.predictors.base import Task
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from rnnlogic.statistics.anyburl import anyburl_statistics

DECAYS = (100.0, 10.0, 1.0)
Ids = NDArray[np.int64]


def part_of(dataset: Dataset, entities: int, seed: int) -> Dataset:
    """The facts between so many entities, found breadth first from a random one."""
    rng, graph = np.random.default_rng(seed), dataset.graph("train")
    inside = grown(graph.triples(), entities, rng)
    train, valid, test = (within(dataset.facts(split), inside) for split in ("train", "valid", "test"))
    vocab = Vocab(tuple(dataset.vocab.entities[i] for i in inside.tolist()), dataset.vocab.relations)
    name = f"{dataset.name}, {entities} entities, seed {seed}"
    return Dataset(name, vocab, train, valid, test, dataset.report, dataset.source)


def grown(facts: Triples, entities: int, rng: np.random.Generator, fanout: int = 20) -> Ids:
    """So many entities at most, ascending: found breadth first from a random one, by `fanout` of each."""
    neighbours: dict[int, list[int]] = {}
    for head, _, tail in facts.tolist():
        neighbours.setdefault(head, []).append(tail)
        neighbours.setdefault(tail, []).append(head)
    found = [int(rng.choice(facts[:, 0]))]
    seen, here = set(found), 0
    while len(found) < entities and here < len(found):
        for other in rng.permutation(sorted(set(neighbours[found[here]])))[:fanout].tolist():
            if other not in seen and len(found) < entities:
                seen.add(other)
                found.append(other)
        here += 1
    return np.array(sorted(seen), np.int64)


def within(facts: Triples, entities: Ids) -> Triples:
    """The facts between some entities, by their places among these."""
    own = facts[np.isin(facts[:, 0], entities) & np.isin(facts[:, 2], entities)]
    ends = np.searchsorted(entities, own[:, [0, 2]])
    return np.stack([ends[:, 0], own[:, 1], ends[:, 1]], axis=1).astype(np.int32)


def learned(dataset: Dataset, rules: RuleSet, config: Config) -> Iterator[tuple[float, RuleScorer]]:
    """Weights of the rules with each weight decay."""
    for decay in DECAYS:
        settings = changed(config, {"predictor": {"weight_decay": decay}})
        yield decay, RuleScorer.fit(Task(dataset, rules, settings, 1))


def mrr(scorer: Scorer, dataset: Dataset, split: Any) -> float:
    """Filtered MRR, both sides, expected ties."""
    return float(evaluate(scorer, dataset, split).metrics()["mrr"])


def rows_of(dataset: Dataset, number: int, config: Config) -> Iterator[dict[str, Any]]:
    """The table, row by row."""
    graph, banned = dataset.graph("train"), Banned((), dataset.vocab)
    chains = mine_rules(graph, config.mine, config.max_length, seed=config.seed, work=Work(1)).rules
    constants = mine_constants(graph, number, threads=1)
    summaries = changed(config, {"evidence": {"constants": True}})
    named = evidence_rules(graph, summaries, banned, constants)
    for name, rules in (
        ("chains, learned", chains),
        ("chains and summaries, learned", chains | named),
        ("chains and rules with constants, learned", chains | constants),
        ("chains, summaries and rules with constants, learned", chains | named | constants),
    ):
        started = time.process_time()
        tried = [
            (mrr(scorer, dataset, "valid"), decay, scorer)
            for decay, scorer in learned(dataset, rules, config)
        ]
        best = max(tried, key=lambda one: one[0])
        told = {
            "name": f"{name} (decay {best[1]:g})",
            "valid": best[0],
            "test": mrr(best[2], dataset, "test"),
        }
        yield told | {"rules": len(rules), "cpu": time.process_time() - started}
    for rules, name in ((chains, "chains"), (chains | constants, "chains and rules with constants")):
        started = time.process_time()
        for how, scorer in aggregations(graph, rules).items():
            told = {"name": f"{name}, {how}", "valid": mrr(scorer, dataset, "valid")}
            told |= {"test": mrr(scorer, dataset, "test"), "rules": len(rules)}
            yield told | {"cpu": time.process_time() - started}


def aggregations(graph: Graph, rules: RuleSet) -> dict[str, Scorer]:
    """Rules by their confidences, as AnyBURL counts these: the largest, and noisy-or."""
    table = RuleTable(rules, anyburl_statistics(graph, rules, threads=1).columns())
    confidence = np.round(smoothed_confidences(table), 4)
    return {
        "max-plus": MaxScorer(rules, confidence, 1),
        "noisy-or": confidence_scorer(table, "noisy-or", threads=1),
    }


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset")
    parser.add_argument("--entities", type=int, help="use a part of the graph with so many entities")
    parser.add_argument(
        "--rules", type=int, default=200, help="with constants, for each relation and direction"
    )
    parser.add_argument("--keep", type=int, default=100, help="chains for each relation and direction")
    parser.add_argument("--length", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    dataset = load_dataset(given.dataset)
    if given.entities:
        dataset = part_of(dataset, given.entities, given.seed)
    config = changed(
        Config(), {"seed": given.seed, "max_length": given.length, "mine": {"keep": given.keep}, "threads": 1}
    )
    sizes = ", ".join(f"{len(dataset.facts(split)):,} {split}" for split in ("train", "valid", "test"))
    print(f"{dataset.name}: {dataset.vocab.num_entities:,} entities, {sizes} facts\n")
    print("| | rules | valid MRR | test MRR | CPU s |\n|---|---|---|---|---|")
    rows = []
    for row in rows_of(dataset, given.rules, config):
        rows.append(row)
        figures = f"{row['rules']:,} | {row['valid']:.4f} | {row['test']:.4f} | {row['cpu']:.0f}"
        print(f"| {row['name']} | {figures} |")
        sys.stdout.flush()
    if given.json:
        given.json.write_text(
            json.dumps({"dataset": dataset.name, "seed": given.seed, "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
