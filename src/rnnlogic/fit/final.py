"""The rules that the final predictor learns weights for."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

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
    lengths: tuple[int, ...] = (),
) -> Ranked:
    """The generator's best rules, so many of each relation [2R], or those that rounds selected most often.

    The best with shorter bodies of some `lengths` come along: long bodies are many, and may leave no room for
    short ones that a choice of the length asks for.
    """
    if settings.pooled:
        rules = pooled_rules(store, settings.rules)
        return rules, generator.log_probs(rules)
    search = partial(most_probable, generator, wanted, threads, banned)
    best: Ranked = search()
    for length in lengths:
        if length < generator.max_length:
            best = _with_missing(best, search(length))
    return best


def _with_missing(best: Ranked, more: Ranked) -> Ranked:
    """Rules, followed by those of others that are missing among them."""
    is_new = best[0].find(more[0]) < 0
    rules = RuleSet.concatenated([best[0], more[0].filter(is_new)])
    return rules, np.append(best[1], more[1][is_new])


def pooled_rules(store: Store, number: int) -> RuleSet:
    """Of every finished round, so many rules per relation: those that most queries selected."""
    pool, last = RuleSet.from_rules([]), 0
    while (saved := store.load(f"round-{last + 1}")) is not None:
        selected, last = unpack_rules(saved), last + 1
        pool |= selected[best_per_head(selected, saved["selections"], number)]
    return pool
