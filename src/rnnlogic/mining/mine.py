"""Mine rules: search for candidate bodies, measure them on training queries, keep the best of each head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import PLAIN_WORK, Budget, Work
from rnnlogic.base.types import Queries, Tick
from rnnlogic.data.graph import Graph
from rnnlogic.mining.search import Candidates, find_candidates
from rnnlogic.mining.settings import MineSettings
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import RuleStatistics, rule_statistics, training_queries

MANY = 3  # times as many candidates as are kept: most are dropped after some of the queries
EARLY = 4  # a fourth of the queries
CANDIDATES_PER_SECOND, LEAST_CANDIDATES = 2000, 50  # under a budget; measured on FB15k-237, on one core


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
    work: Work = PLAIN_WORK,
) -> Mined:
    """The rules of highest quality for each head relation, best first; what is found within the budget."""
    threads, tick, budget = work
    search = work._replace(budget=budget.share(0.4))  # statistics take the rest
    settings = _affordable(settings, graph.num_relations, budget)
    candidates = find_candidates(graph, settings, max_length, banned, seed, search)
    queries = training_queries(graph, settings.queries_per_relation, seed)
    is_halved = settings.candidates >= MANY * settings.keep and not budget.is_limited
    if is_halved:
        kept, statistics = _halved(graph, candidates.rules, queries, settings, threads, tick)
        candidates = Candidates(candidates.rules[kept], candidates.joined[kept])
    else:
        statistics = rule_statistics(graph, candidates.rules, queries, threads, tick, budget)
    best = best_per_head(candidates.rules, _worth(candidates.rules, statistics, settings), settings.keep)
    return Mined(candidates.rules[best], statistics.of(best), candidates.joined[best])


def _halved(
    graph: Graph, rules: RuleSet, queries: Queries, settings: MineSettings, threads: int | None, tick: Tick
) -> tuple[NDArray[np.int64], RuleStatistics]:
    """The ids of rules that look good on some of the queries, and their statistics on all of them."""
    starts = np.flatnonzero(np.diff(queries[:, 1], prepend=-1))
    nth = np.arange(len(queries)) - np.repeat(starts, np.diff(np.append(starts, len(queries))))
    is_early = nth % EARLY == 0
    first = _part_of(tick, 0, len(queries))
    early = rule_statistics(graph, rules, queries[is_early], threads, first)
    few = settings.model_copy(update={"smoothing": settings.smoothing / EARLY})
    kept = np.sort(best_per_head(rules, _worth(rules, early, few), 2 * settings.keep))
    second = _part_of(tick, int(is_early.sum()), len(queries))
    return kept, early.of(kept) + rule_statistics(graph, rules[kept], queries[~is_early], threads, second)


def _worth(rules: RuleSet, statistics: RuleStatistics, settings: MineSettings) -> NDArray[np.float64]:
    """The quality of rules [n]; of one-step rules with support 1 more, where these come first."""
    comes_first = settings.one_step & (rules.lengths == 1) & (statistics.support > 0)
    worth: NDArray[np.float64] = statistics.quality(settings.smoothing) + comes_first
    return worth


def _part_of(tick: Tick, before: int, whole: int) -> Tick:
    """Progress of a part of the work, after so many steps of the whole."""

    def show(done: int, total: int, note: str = "") -> None:
        del total, note
        tick(before + done, whole)

    return show


def _affordable(settings: MineSettings, relations: int, budget: Budget) -> MineSettings:
    """The settings with as many candidates as there will be time for."""
    if not budget.is_limited:
        return settings
    number = max(LEAST_CANDIDATES, int(CANDIDATES_PER_SECOND * budget.left / max(relations, 1)))
    if number >= settings.candidates:
        return settings
    budget.cut("candidates", f"{number:,} of {settings.candidates:,} bodies a relation")
    return settings.model_copy(update={"candidates": number})


def best_per_head(rules: RuleSet, quality: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Ids of the `number` rules of highest quality for each head relation, best first."""
    best = [
        ids[np.argsort(-quality[ids], kind="stable")[:number]]
        for ids in (rules.by_head(int(relation)) for relation in rules.head_relations())
    ]
    return np.concatenate(best) if best else np.empty(0, np.int64)
