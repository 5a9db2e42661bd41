"""Mine rules: search for candidate bodies, measure them on training queries, keep the best of each head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.mining.search import find_candidates
from rnnlogic.mining.settings import MineSettings
from rnnlogic.mining.statistics import RuleStatistics, rule_statistics, training_queries
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet


class Mined(NamedTuple):
    """Mined rules with their statistics."""

    rules: RuleSet
    statistics: RuleStatistics
    joined: NDArray[np.int64]  # [n] sampled facts whose ends the body joins


def mine_rules(
    graph: Graph,
    settings: MineSettings,
    max_length: int,
    banned: Banned | None = None,
    seed: int = 0,
    threads: int | None = None,
    tick: Tick = no_tick,
) -> Mined:
    """The rules of highest quality for each head relation, best first."""
    candidates = find_candidates(graph, settings, max_length, banned, seed, threads, tick)
    queries = training_queries(graph, settings.queries_per_relation, seed)
    statistics = rule_statistics(graph, candidates.rules, queries, threads, tick)
    best = best_per_head(candidates.rules, statistics.quality(settings.smoothing), settings.keep)
    kept = RuleStatistics(statistics.support[best], statistics.wrong[best], statistics.cuts)
    return Mined(candidates.rules[best], kept, candidates.joined[best])


def best_per_head(rules: RuleSet, quality: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Ids of the `number` rules of highest quality for each head relation, best first."""
    best = [
        ids[np.argsort(-quality[ids], kind="stable")[:number]]
        for ids in (rules.by_head(int(relation)) for relation in rules.head_relations())
    ]
    return np.concatenate(best) if best else np.empty(0, np.int64)
