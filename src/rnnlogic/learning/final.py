"""The rules that the final predictor learns weights for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.learning.em import relations_with_facts
from rnnlogic.learning.result import Store
from rnnlogic.learning.settings import FinalSettings
from rnnlogic.mining.mine import best_per_head
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet, unpack_rules

Ranked = tuple[RuleSet, NDArray[np.float64]]  # rules and their log-probabilities


def final_rules(
    generator: RuleGenerator,
    graph: Graph,
    settings: FinalSettings,
    store: Store,
    threads: int,
    banned: Banned,
) -> Ranked:
    """The generator's best rules, or those that each EM round selected most often."""
    if not settings.pooled:
        found = generator.beam(relations_with_facts(graph), settings.rules, threads=threads, banned=banned)
        return found.rules, found.log_prob
    rules = pooled_rules(store, settings.rules)
    return rules, generator.log_probs(rules)


def pooled_rules(store: Store, number: int) -> RuleSet:
    """Of every finished round, so many rules per relation: those that most queries selected."""
    pool, last = RuleSet.from_rules([]), 0
    while (saved := store.load(f"round-{last + 1}")) is not None:
        selected, last = unpack_rules(saved), last + 1
        pool |= selected[best_per_head(selected, saved["selections"], number)]
    return pool
