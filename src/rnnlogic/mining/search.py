"""Find candidate rules: the relational paths that join the two ends of training facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import in_order
from rnnlogic.data.graph import Graph
from rnnlogic.mining.kernels import EntityEdges, bodies_between
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet

Progress = Callable[[int, int], None]  # relations done, relations in all


@dataclass(frozen=True)
class PathSearch:
    """How far to look for paths; exhaustive where the limits are not reached, sampled elsewhere."""

    max_length: int = 3
    facts_per_relation: int = 1000
    fanout: int = 100  # edges followed from one entity
    walks_per_fact: int = 20_000
    candidates: int = 3000  # bodies kept per relation, by the number of facts they join


class Candidates(NamedTuple):
    """Candidate rules, each with the number of sampled facts whose ends its body joins."""

    rules: RuleSet
    joined: NDArray[np.int64]  # [n]


def find_candidates(
    graph: Graph,
    search: PathSearch,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    banned: Banned | None = None,
) -> Candidates:
    """Bodies of length 1..max_length between the ends of facts, on the graph without the fact itself.

    A path read backwards supports the inverse relation, so each relation is searched once for both. Banned
    rules take no one's place.
    """
    radix = 2 * graph.num_relations + 1
    if radix**search.max_length >= 1 << 63:
        raise RNNLogicError(
            f"bodies of length {search.max_length} over {radix - 1} relations exceed 64-bit keys"
        )
    edges = edges_by_entity(graph)
    found: list[tuple[Rule, int]] = []

    def search_relation(relation: int) -> list[tuple[tuple[int, ...], int]]:
        return _search_relation(graph, edges, relation, search, seed, banned)

    relations = range(graph.num_relations)
    for relation, bodies in enumerate(in_order(search_relation, relations, threads, len, 10**7)):
        inverse = graph.inverse(relation)
        for body, joined in bodies:
            backwards = tuple(graph.inverse(step) for step in reversed(body))
            found += [(Rule(relation, body), joined), (Rule(inverse, backwards), joined)]
        if progress is not None:
            progress(relation + 1, graph.num_relations)
    kept = {rule: joined for rule, joined in found if not rule.is_trivial}
    order = sorted(kept, key=lambda rule: (rule.head, -kept[rule], rule.body))
    return Candidates(RuleSet.from_rules(order), np.array([kept[rule] for rule in order], np.int64))


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


def _search_relation(
    graph: Graph, edges: EntityEdges, relation: int, search: PathSearch, seed: int, banned: Banned | None
) -> list[tuple[tuple[int, ...], int]]:
    """Bodies for one relation with the number of sampled facts they join, most first."""
    rng = np.random.default_rng([seed, relation])
    heads, tails = graph.edges(relation)
    picked = np.sort(rng.permutation(len(heads))[: search.facts_per_relation])
    radix, inverse = 2 * graph.num_relations + 1, graph.inverse(relation)
    distance = np.full(graph.num_entities, -1, np.int64)
    queue = np.empty(graph.num_entities, np.int64)
    back = max(1, (search.max_length - 1) // 2)
    keys = [
        np.unique(
            bodies_between(
                edges,
                int(heads[i]),
                relation,
                int(tails[i]),
                inverse,
                search.max_length,
                back,
                search.fanout,
                search.walks_per_fact,
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
    if banned:
        rules = RuleSet.from_rules(Rule(relation, _decode(int(bodies[i]), radix)) for i in order)
        order = order[~banned.mask(rules)]
    return [(_decode(int(bodies[i]), radix), int(joined[i])) for i in order[: search.candidates]]


def _decode(key: int, radix: int) -> tuple[int, ...]:
    body = []
    while key:
        key, digit = divmod(key, radix)
        body.append(digit - 1)
    return tuple(body)
