"""The rules that the final predictor learns weights for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Tick, no_tick
from rnnlogic.fit.em import Numbers, most_probable
from rnnlogic.fit.result import Store
from rnnlogic.fit.settings import FinalSettings
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.mining.mine import best_per_head
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet, unpack_rules

Ranked = tuple[RuleSet, NDArray[np.float64]]  # rules and their log-probabilities


def final_rules(
    generator: RuleGenerator,
    wanted: Numbers,
    settings: FinalSettings,
    store: Store,
    threads: int,
    banned: Banned,
    tick: Tick = no_tick,
) -> Ranked:
    """The generator's best rules, `wanted` of each relation [2R], or those that rounds selected most."""
    if settings.pooled:
        rules = pooled_rules(store, settings.rules)
        return rules, generator.log_probs(rules)
    return most_probable(generator, wanted, threads, banned, tick)


def pooled_rules(store: Store, number: int) -> RuleSet:
    """Of every finished round, so many rules per relation: those that most queries selected."""
    pool, last = RuleSet.from_rules([]), 0
    while (saved := store.load(f"round-{last + 1}")) is not None:
        selected, last = unpack_rules(saved), last + 1
        pool |= selected[best_per_head(selected, saved["selections"], number)]
    return pool
