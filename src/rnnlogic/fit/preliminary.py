"""A first model within a minute or so: few rules by a quick search, and their weights. Needs no torch.

A fit leaves it behind before its long stages, so that its run can be used while it is at work. Nothing of the
final model depends on it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import Budget, Work
from rnnlogic.base.types import Arrays, Progress
from rnnlogic.config import Config, changed
from rnnlogic.data.dataset import Dataset
from rnnlogic.fit.given import Edits
from rnnlogic.fit.result import UNKNOWN, Learned
from rnnlogic.mining.mine import mine_rules
from rnnlogic.predictors.base import Task
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet, unpack_rules

MINUTES = 1.0  # at most
FACTS = 8_000  # searched in all


def quick_settings(config: Config, relations: int) -> Config:
    """Settings of a first look: less of everything, and the less of each relation the more there are."""
    facts = int(np.clip(FACTS // max(relations, 1), 10, 100))
    return changed(
        config,
        {
            "variant": "rnnlogic",
            "max_length": min(config.max_length, 3),
            "mine": {
                "facts_per_relation": min(facts, config.mine.facts_per_relation),
                "fanout": 20,
                "walks_per_fact": 2000,
                "candidates": 100,
                "queries_per_relation": facts,
                "smoothing": 10.0,
                "keep": 40,
            },
            "predictor": {"steps": 15, "queries_per_relation": 2 * facts, "results_per_relation": 1_000_000},
        },
    )


def preliminary(
    dataset: Dataset, config: Config, edits: Edits, threads: int, progress: Progress, budget: Budget
) -> Learned | None:
    """A quick model; None where a quick search finds no rule."""
    graph, quick = dataset.graph("train"), quick_settings(config, dataset.vocab.num_relations)
    look = partial(progress, "first look")
    work = Work(threads, look, budget.share(0.6))
    mining = quick.mine, quick.max_length, edits.banned, quick.seed
    rules, statistics, _ = mine_rules(graph, *mining, work)
    found = np.flatnonzero(statistics.support)
    if not len(found):
        return None
    rules, statistics = rules[found], statistics.of(found)

    def show(stage: str, done: int, total: int, note: str = "") -> None:
        del stage
        look(done, total, note)

    predictor = RuleScorer.fit(Task(dataset, rules, quick, threads, progress=show, budget=budget))
    predictor.weights = _completed(rules, predictor.weights, statistics.quality(quick.mine.smoothing))
    figures = np.full(len(rules), np.nan), statistics.whole_support, statistics.confidence
    return Learned(predictor, *figures, UNKNOWN if predictor.lift is None else predictor.lift)


def with_first_rules(first: Arrays | None, rules: RuleSet) -> RuleSet:
    """Rules, and those of a first look for relations that have none: it saw all relations."""
    if first is None:
        return rules
    seen = unpack_rules(first)
    return rules | seen.filter(~np.isin(seen.heads, rules.heads))


def _completed(
    rules: RuleSet, weights: NDArray[np.float64], quality: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights [n]; where there was no time to learn any for a relation, those of a noisy-or of its rules."""
    learned = np.bincount(rules.heads, weights != 0)[rules.heads] > 0
    return np.where(learned, weights, -np.log1p(-np.minimum(quality, 0.999)))
