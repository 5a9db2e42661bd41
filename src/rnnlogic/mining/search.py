"""Find candidate rules: relational paths that join the two ends of training facts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.mining.kernels import EntityEdges, bodies_between
from rnnlogic.mining.settings import MineSettings
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet

WAITING = 10**7  # bodies of finished relations that may wait for an unfinished one


class Candidates(NamedTuple):
    """Candidate rules, each with the number of sampled facts whose ends its body joins."""

    rules: RuleSet
    joined: NDArray[np.int64]  # [n]


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
    threads: int | None = None,
    tick: Tick = no_tick,
) -> Candidates:
    """Find the bodies of length 1..max_length that join the ends of facts, each fact hidden from its search.

    The search is exhaustive up to the limits in `settings` and sampled beyond them. A path read backwards
    supports the inverse relation, so one search serves both directions. Banned rules are dropped before the
    best candidates are chosen, so they take up no room.
    """
    radix = 2 * graph.num_relations + 1
    if radix**max_length >= 1 << 63:
        raise RNNLogicError(
            f"bodies of length {max_length} over {radix - 1} relations (with inverses) do not fit into "
            "64-bit keys: lower max_length"
        )
    shared = _Search(graph, edges_by_entity(graph), settings, max_length, banned, seed)
    found: dict[Rule, int] = {}
    searches = map_ordered(_search_relation, range(graph.num_relations), shared, threads, len, WAITING)
    for relation, bodies in enumerate(searches):
        for body, joined in bodies:
            backwards = tuple(graph.inverse(step) for step in reversed(body))
            found |= {Rule(relation, body): joined, Rule(graph.inverse(relation), backwards): joined}
        tick(relation + 1, graph.num_relations)
    rules = [rule for rule in found if not rule.is_trivial]
    rules.sort(key=lambda rule: (rule.head, -found[rule], rule.body))
    return Candidates(RuleSet.from_rules(rules), np.array([found[rule] for rule in rules], np.int64))


def edges_by_entity(graph: Graph) -> EntityEdges:
    """All edges of a graph, inverses too, by the entity they leave."""
    columns = [(*graph.edges(relation), relation) for relation in range(2 * graph.num_relations)]
    heads = np.concatenate([heads for heads, _, _ in columns] or [np.empty(0, np.int32)])
    tails = np.concatenate([tails for _, tails, _ in columns] or [np.empty(0, np.int32)])
    relations = np.repeat(
        np.arange(2 * graph.num_relations, dtype=np.int32), [len(heads) for heads, _, _ in columns]
    )
    order = np.argsort(heads, kind="stable")
    ptr = np.searchsorted(heads[order], np.arange(graph.num_entities + 1)).astype(np.int64)
    return EntityEdges(ptr, relations[order], tails[order])


def _search_relation(shared: _Search, relation: int) -> list[tuple[tuple[int, ...], int]]:
    """Bodies for one relation with the number of sampled facts they join, most frequent first."""
    graph, settings, max_length = shared.graph, shared.settings, shared.max_length
    rng = np.random.default_rng([shared.seed, relation])
    heads, tails = graph.edges(relation)
    picked = np.sort(rng.permutation(len(heads))[: settings.facts_per_relation])
    radix, inverse = 2 * graph.num_relations + 1, graph.inverse(relation)
    distance = np.full(graph.num_entities, -1, np.int64)
    queue = np.empty(graph.num_entities, np.int64)
    back = max(1, (max_length - 1) // 2)
    keys = [
        np.unique(
            bodies_between(
                shared.edges,
                int(heads[i]),
                relation,
                int(tails[i]),
                inverse,
                max_length,
                back,
                settings.fanout,
                settings.walks_per_fact,
                radix,
                int(rng.integers(1 << 31)),
                distance,
                queue,
            )
        )
        for i in picked
    ]
    bodies, joined = np.unique(np.concatenate(keys or [np.empty(0, np.int64)]), return_counts=True)
    order = np.argsort(-joined, kind="stable")
    if shared.banned:
        rules = RuleSet.from_rules(Rule(relation, _decode(int(bodies[i]), radix)) for i in order)
        order = order[~shared.banned.mask(rules)]
    return [(_decode(int(bodies[i]), radix), int(joined[i])) for i in order[: settings.candidates]]


def _decode(key: int, radix: int) -> tuple[int, ...]:
    """The body of a key that `bodies_between` gives."""
    body = []
    while key:
        key, digit = divmod(key, radix)
        body.append(digit - 1)
    return tuple(body)
