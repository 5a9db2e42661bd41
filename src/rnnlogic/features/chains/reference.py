"""Plain-Python twins of the kernels: same signatures and results, written to be read."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.base import Batch, Budget
from rnnlogic.features.chains.kernels import Paths, Trie


def ground_counts(
    graph: GraphArrays,
    trie: Trie,
    batch: Batch,
    sums: NDArray[Any],
    limit: int,
    paths: Paths,
    weights: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Counts of the simple paths, or of all walks, along every body of the trie from every query head."""
    count_paths = simple_counts if paths.is_simple else walk_counts
    cells = []  # per body, per query: entity -> number of paths
    for body in bodies_of(trie):
        for head, tail in zip(batch.heads.tolist(), batch.hidden.tolist(), strict=True):
            own_fact = hidden_facts(graph, head, batch.relation, tail)
            cells.append(count_paths(graph, head, body, own_fact, weights))
    ptr = np.append(0, np.cumsum([len(cell) for cell in cells], dtype=np.int64))
    if ptr[-1] > limit and len(batch.heads) > 1:
        return np.empty(0, np.int32), np.empty(0, sums.dtype), ptr[:0]
    entity = np.array([e for cell in cells for e in cell], np.int32)
    count = np.array([c for cell in cells for c in cell.values()], sums.dtype)
    return entity, count, ptr


def walk_counts(
    graph: GraphArrays,
    head: int,
    body: tuple[int, ...],
    own_fact: set[tuple[int, int, int]],
    weights: NDArray[np.int64] | None = None,
) -> dict[int, int]:
    """Number of walks along `body` from `head` to each entity reached; none uses an edge in `own_fact`.

    With weights a walk counts the product of those of its edges.
    """
    reached = {head: 1}
    for relation in body:
        following: dict[int, int] = {}
        for entity, count in reached.items():
            for tail in tails_of(graph, relation, entity):
                if (entity, relation, tail) not in own_fact:
                    more = count * weight_of(graph, weights, (entity, relation, tail))
                    following[tail] = following.get(tail, 0) + more
        reached = following
    return reached


def simple_counts(
    graph: GraphArrays,
    head: int,
    body: tuple[int, ...],
    own_fact: set[tuple[int, int, int]],
    weights: NDArray[np.int64] | None = None,
) -> dict[int, int]:
    """The same for simple paths, each written out; in the order in which the kernel reaches their ends."""
    found: list[tuple[tuple[int, ...], int]] = [((head,), 1)]
    reached = {head: 1}
    for relation in body:
        edges = {
            (entity, tail)
            for entity in reached
            for tail in tails_of(graph, relation, entity)
            if (entity, relation, tail) not in own_fact
        }
        found = [
            ((*path, tail), worth * weight_of(graph, weights, (e, relation, tail)))
            for path, worth in found
            for e, tail in edges
            if e == path[-1] and may_go_on(path, tail)
        ]
        number = Counter[int]()
        for path, worth in found:
            number[path[-1]] += worth
        in_order = [tail for entity in reached for e, tail in sorted(edges) if e == entity and tail != entity]
        reached = {tail: number[tail] for tail in dict.fromkeys(in_order) if number[tail]}
    return reached


def weight_of(graph: GraphArrays, weights: NDArray[np.int64] | None, edge: tuple[int, int, int]) -> int:
    """The weight of an edge (head, relation, tail) of the graph; 1 if edges have none."""
    head, relation, tail = edge
    if weights is None:
        return 1
    for row in range(graph.relation_rows[relation], graph.relation_rows[relation + 1]):
        for place in range(graph.row_edges[row], graph.row_edges[row + 1]):
            if graph.row_head[row] == head and graph.tails[place] == tail:
                return int(weights[place])
    raise KeyError(edge)


def may_go_on(path: tuple[int, ...], tail: int) -> bool:
    """Whether a simple path may take a step to an entity: it is new, as far as the last steps tell.

    Of the first three steps that is the whole path.
    """
    return tail != path[0] and tail not in path[-2:]


def hidden_facts(graph: GraphArrays, head: int, relation: int, hidden: int) -> set[tuple[int, int, int]]:
    """The facts that no walk of a query may use."""
    relations = len(graph.relation_rows) - 1
    if hidden >= 0:
        return {(head, relation, hidden), (hidden, (relation + relations // 2) % relations, head)}
    if hidden == -1:
        return set()
    tail, links = -2 - hidden, range(relations)
    return {(a, r, b) for r in links for a, b in ((head, tail), (tail, head))}


def tails_of(graph: GraphArrays, relation: int, head: int) -> list[int]:
    """Tails of (head, relation), ascending."""
    for row in range(graph.relation_rows[relation], graph.relation_rows[relation + 1]):
        if graph.row_head[row] == head:
            return [int(tail) for tail in graph.tails[graph.row_edges[row] : graph.row_edges[row + 1]]]
    return []


def bodies_of(trie: Trie) -> list[tuple[int, ...]]:
    """The bodies of a trie, in the order in which they end."""
    bodies: list[tuple[int, ...]] = []
    path: list[int] = []
    for relation, depth, ends in zip(
        trie.relation.tolist(), trie.depth.tolist(), trie.ends.tolist(), strict=True
    ):
        if depth > 0:
            path = [*path[: depth - 1], relation]
        if ends >= 0:
            bodies.append(tuple(path))
    return bodies


MASK = (1 << 64) - 1


def _mixed(key: int, value: int) -> int:
    x = key ^ ((value + 1) * 0x9E3779B97F4A7C15 & MASK)
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def _uniform(key: int) -> float:
    return (key >> 11) * 2.0**-53


def _scaled(count: float, factor: float, key: int) -> float:
    whole = math.floor(count * factor)
    return float(whole + (_uniform(key) < count * factor - whole))


def _every(items: list[Any], most: int, key: int) -> tuple[list[Any], float]:
    """At most so many of the items, a fixed stride apart from a random one on, and the stride."""
    if len(items) <= most:
        return items, 1.0
    stride = len(items) / most
    return [items[min(int((k + _uniform(key)) * stride), len(items) - 1)] for k in range(most)], stride


def ground_within(
    graph: GraphArrays,
    trie: Trie,
    batch: Batch,
    sums: NDArray[np.float64],  # noqa: ARG001 - the kernel's memory
    limit: int,
    paths: Paths,
    budget: Budget,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Counts of paths within a budget; a prefix that bodies share is walked once."""
    cells: list[dict[int, float]] = []
    cuts: dict[tuple[int, tuple[int, ...]], tuple[int, int, int]] = {}
    for body in bodies_of(trie):
        for q, (head, tail) in enumerate(zip(batch.heads.tolist(), batch.hidden.tolist(), strict=True)):
            own_fact = hidden_facts(graph, head, batch.relation, tail)
            key = _mixed(_mixed(_mixed(budget.seed, batch.relation), head), tail)
            reached, is_whole = {head: 1.0}, True
            for depth, step in enumerate(body):
                if not reached:
                    break
                key = _mixed(key, step)
                reached, hubs = _followed(graph, reached, step, own_fact, paths.is_simple, budget, key)
                is_whole = is_whole and not hubs
                if paths.is_simple:
                    reached.pop(head, None)
                if paths.is_simple and is_whole:
                    simple = simple_counts(graph, head, body[: depth + 1], own_fact)
                    reached = {entity: float(simple[entity]) for entity in reached if entity in simple}
                reached, is_cut = _kept(reached, budget, key)
                is_whole = is_whole and not is_cut
                cuts[q, body[: depth + 1]] = (1, hubs, is_cut)
            cells.append(reached)
    ptr = np.append(0, np.cumsum([len(cell) for cell in cells], dtype=np.int64))
    entity = np.array([e for cell in cells for e in cell], np.int32)
    count = np.array([c for cell in cells for c in cell.values()], np.int64)
    total = np.array(list(cuts.values()), np.int64).reshape(-1, 3).sum(axis=0)
    if ptr[-1] > limit and len(batch.heads) > 1:
        return entity[:0], count[:0], ptr[:0], total
    return entity, count, ptr, total


def _followed(
    graph: GraphArrays,
    reached: dict[int, float],
    step: int,
    own_fact: set[tuple[int, int, int]],
    is_simple: bool,
    budget: Budget,
    key: int,
) -> tuple[dict[int, float], int]:
    """One step within a budget: what is reached, and hubs that were cut."""
    following: dict[int, float] = {}
    hubs = 0
    for entity, count in reached.items():
        own = _mixed(_mixed(key, -3), entity)
        tails, stride = _every(tails_of(graph, step, entity), budget.edges, own)
        hubs += stride > 1
        weight = count if stride == 1 else _scaled(count, stride, _mixed(own, 1))
        for tail in tails:
            if (entity, step, tail) not in own_fact and not (is_simple and tail == entity):
                following[tail] = following.get(tail, 0) + weight
    return following, hubs


def _kept(reached: dict[int, float], budget: Budget, key: int) -> tuple[dict[int, float], int]:
    """Results within a budget, and whether some were left out."""
    own = _mixed(key, -2)
    kept, stride = _every(list(reached.items()), budget.results, own)
    if stride == 1:
        return reached, 0
    return {e: _scaled(count, stride, _mixed(own, k)) for k, (e, count) in enumerate(kept)}, 1
