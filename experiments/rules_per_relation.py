"""Does EM earn its keep? The best N rules per relation by EM, by the generator before EM, and by the miner.

    python experiments/rules_per_relation.py runs/experiments/kinship/ours/seed-0 [--numbers 10 50 100 200]

Takes a finished run; trains the same predictor on each set of rules; evaluates test facts, evidence train.
The result is kept in the run folder as reports/rules_per_relation.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.grounding.ground import default_threads
from rnnlogic.grounding.scorer import RuleScorer
from rnnlogic.learning.learn import best_per_head, fit_predictor, load_parameters, new_generator
from rnnlogic.learning.result import unpack_rules
from rnnlogic.learning.runs import Run
from rnnlogic.rules.ruleset import RuleSet


def rule_sources(run: Run, number: int) -> Iterator[tuple[str, RuleSet]]:
    """(who chose, rules) for the miner, the pre-trained generator, and the generator after every round."""
    config, dataset = run.config(), run.dataset()
    mined = run.load("mined")
    assert mined is not None
    rules = unpack_rules(mined)
    yield "miner", rules[best_per_head(rules, mined["quality"], number)]
    stages = ["pretrained", *(f"round-{i}" for i in range(1, config.em.rounds + 1))]
    for stage in stages:
        arrays = run.load(stage)
        if arrays is not None:
            generator = load_parameters(new_generator(dataset, config), arrays)
            yield stage, generator.beam(np.arange(2 * dataset.vocab.num_relations), number).rules


def main() -> None:
    """Parse arguments, fit and evaluate every set of rules."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--numbers", nargs="+", type=int, default=[10, 50, 100, 200])
    options = parser.parse_args()
    run = Run.open(options.run)
    config, dataset, threads = run.config(), run.dataset(), default_threads()
    result: dict[str, dict[str, float]] = {}
    for number in options.numbers:
        for source, rules in rule_sources(run, number):
            weights = fit_predictor(dataset, rules, config, threads)
            scorer = RuleScorer(rules, weights, config.predictor.feature, threads)
            mrr = evaluate(scorer, dataset, "test").metrics()["mrr"]
            result.setdefault(source, {})[str(number)] = mrr
            print(f"{number} rules per relation by {source}: test MRR {mrr:.4f}", flush=True)
    run.save_report("rules_per_relation", result)


if __name__ == "__main__":
    main()
