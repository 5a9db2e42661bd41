"""Mine rules: paths that join the two ends of training facts, measured on queries; the best of each head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import PLAIN_WORK, Budget, Work, check_time, passes
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Queries, Tick
from rnnlogic.data.graph import Graph
from rnnlogic.mining.kernels import EntityEdges, Fact, Limits, bodies_between
from rnnlogic.mining.settings import MineSettings
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import RuleStatistics, rule_statistics, training_queries

WAITING = 10**7  # bodies of finished units that may wait for an unfinished one
FIRST = 40  # facts of each relation in the first pass; the later ones are ever longer
FEW = 4  # in the first pass under a budget, which is never cut within a relation
MANY = 3  # times as many candidates as are kept: most are dropped after some of the queries
EARLY = 4  # a fourth of the queries
CANDIDATES_PER_SECOND, LEAST_CANDIDATES = 2000, 50  # under a budget; measured on FB15k-237, on one core

Heads = NDArray[np.int32]  # [n]
Steps = NDArray[np.int32]  # [n, longest] bodies, -1 after their ends
_Bodies = tuple[NDArray[np.int64], NDArray[np.int64]]  # keys, ascending, and how many facts each joins
_NO_BODIES: _Bodies = (np.empty(0, np.int64), np.empty(0, np.int64))


class Candidates(NamedTuple):
    """Candidate rules, each with the number of sampled facts whose ends its body joins."""

    rules: RuleSet
    joined: NDArray[np.int64]  # [n]


class Mined(NamedTuple):
    """Mined rules with their statistics."""

    rules: RuleSet
    statistics: RuleStatistics
    joined: NDArray[np.int64]  # [n] sampled facts whose ends the body joins


class _Search(NamedTuple):
    """What the searches of all relations share."""

    graph: Graph
    edges: EntityEdges
    settings: MineSettings
    max_length: int
    banned: Banned | None
    seed: int


def find_candidates(
    graph: Graph,
    settings: MineSettings,
    max_length: int,
    banned: Banned | None = None,
    seed: int = 0,
    work: Work = PLAIN_WORK,
) -> Candidates:
    """Find the bodies of length 1..max_length that join the ends of facts, each fact hidden from its search.

    The search is exhaustive up to the limits in `settings` and sampled beyond them. A path read backwards
    supports the inverse relation, so one search serves both directions. Banned rules are dropped before the
    best candidates are chosen, so they take up no room. The facts are searched in passes over all relations,
    so that a budget that ends early leaves a fair sample.
    """
    threads, tick, budget = work
    radix = 2 * graph.num_relations + 1
    if radix**max_length >= 1 << 63:
        raise RNNLogicError(
            f"bodies of length {max_length} over {radix - 1} relations (with inverses) do not fit into "
            "64-bit keys: lower max_length"
        )
    shared = _Search(graph, edges_by_entity(graph), settings, max_length, banned, seed)
    units = _units(graph, settings.facts_per_relation, FEW if budget.is_limited else FIRST)
    bodies: list[_Bodies] = [_NO_BODIES] * graph.num_relations
    done = 0
    for searched in budget.timely(map_ordered(_search, units, shared, threads, _size, WAITING)):
        relation, done = units[done][0], done + 1
        bodies[relation] = _added(bodies[relation], searched)
        tick(done, len(units))
    if done < len(units):
        looked, total = (sum(end - start for _, start, end in part) for part in (units[:done], units))
        budget.cut("mine", f"searched the paths of {looked:,} of {total:,} facts")
    parts = [_best_bodies(shared, relation, *own) for relation, own in enumerate(bodies)]
    heads, steps, joined = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _both_ways(graph, heads, steps, joined)


def _both_ways(graph: Graph, heads: Heads, steps: Steps, joined: NDArray[np.int64]) -> Candidates:
    """Rules and the same read backwards, for the inverse relation; by head, first those that join most."""
    length = (steps >= 0).sum(axis=1)
    place = length[:, None] - 1 - np.arange(steps.shape[1])
    turned = (np.take_along_axis(steps, np.maximum(place, 0), axis=1) + graph.num_relations) % (
        2 * graph.num_relations
    )
    heads = np.concatenate([heads, heads + graph.num_relations])
    steps = np.concatenate([steps, np.where(place >= 0, turned, -1)])
    joined, length = np.tile(joined, 2), np.tile(length, 2)
    is_trivial = (length == 1) & (steps[:, 0] == heads)
    order = np.lexsort((*steps.T[::-1], -joined, heads))
    order = order[~is_trivial[order]]
    return Candidates(RuleSet.from_steps(heads[order], steps[order]), joined[order])


def edges_by_entity(graph: Graph) -> EntityEdges:
    """All edges of a graph, inverses too, by the entity they leave."""
    arrays = graph.arrays
    heads = np.repeat(arrays.row_head, np.diff(arrays.row_edges))
    relations = np.repeat(np.arange(2 * graph.num_relations, dtype=np.int32), graph.num_edges)
    order = np.argsort(heads, kind="stable")
    ptr = np.searchsorted(heads[order], np.arange(graph.num_entities + 1)).astype(np.int64)
    return EntityEdges(ptr, relations[order], arrays.tails[order])


def _units(graph: Graph, most: int, first: int) -> list[tuple[int, int, int]]:
    """(relation, start, end): parts of each relation's facts in random order, pass by pass."""
    sizes = np.minimum(graph.num_edges[: graph.num_relations], most).tolist()
    return [
        (relation, start, min(end, size))
        for start, end in passes(first, max(sizes, default=0))
        for relation, size in enumerate(sizes)
        if start < size
    ]


def _search(shared: _Search, unit: tuple[int, int, int]) -> _Bodies:
    """Bodies that join the ends of some facts of one relation."""
    graph, settings, max_length = shared.graph, shared.settings, shared.max_length
    relation, start, end = unit
    rng = np.random.default_rng([shared.seed, relation])
    heads, tails = graph.edges(relation)
    luck = rng.permutation(len(heads))[: settings.facts_per_relation]
    picked = np.sort(luck)
    seeds = [int(rng.integers(1 << 31)) for _ in picked]
    radix, inverse = 2 * graph.num_relations + 1, graph.inverse(relation)
    distance = np.full(graph.num_entities, -1, np.int64)
    queue = np.empty(graph.num_entities, np.int64)
    back = max(1, (max_length - 1) // 2)
    limits = Limits(max_length, back, settings.fanout, settings.walks_per_fact, radix)
    keys: list[NDArray[np.int64]] = []
    for i in np.searchsorted(picked, np.sort(luck[start:end])).tolist():
        if start:
            check_time()
        fact = Fact(int(heads[picked[i]]), relation, int(tails[picked[i]]), inverse)
        keys.append(np.unique(bodies_between(shared.edges, fact, limits, seeds[i], distance, queue)))
    bodies, joined = np.unique(np.concatenate(keys or [np.empty(0, np.int64)]), return_counts=True)
    return bodies, joined


def _added(one: _Bodies, other: _Bodies) -> _Bodies:
    """The bodies of both, with how many facts they join together."""
    if not len(one[0]):
        return other
    keys, place = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    joined = np.bincount(place, np.concatenate([one[1], other[1]])).astype(np.int64)
    return keys, joined


def _size(bodies: _Bodies) -> int:
    return len(bodies[0])


def _best_bodies(
    shared: _Search, relation: int, bodies: NDArray[np.int64], joined: NDArray[np.int64]
) -> tuple[Heads, Steps, NDArray[np.int64]]:
    """The bodies of one relation that join most facts, first those that join most, with their head."""
    radix = 2 * shared.graph.num_relations + 1
    is_longer = (bodies >= radix) & shared.settings.one_step
    order = np.lexsort((-joined, is_longer))
    steps = _decoded(bodies[order], radix, shared.max_length)
    heads = np.full(len(order), relation, np.int32)
    allowed = ~shared.banned.mask(RuleSet.from_steps(heads, steps)) if shared.banned else heads >= 0
    best = np.flatnonzero(allowed)[: shared.settings.candidates]
    return heads[best], steps[best], joined[order[best]]


def _decoded(keys: NDArray[np.int64], radix: int, width: int) -> Steps:
    """The bodies [n, width] of keys that `bodies_between` gives, -1 after their ends."""
    steps = np.empty((len(keys), width), np.int32)
    for position in range(width):
        keys, digit = np.divmod(keys, radix)
        steps[:, position] = digit - 1
    return steps


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
