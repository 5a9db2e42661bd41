"""The plain twin of the kernel in `kernels.py`: same signature and results, written to be read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.reference import bodies_of, hidden_facts, simple_counts, tails_of
from rnnlogic.features.chains.sampling.budget import Budget
from rnnlogic.features.chains.trie import Trie

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
    heads: NDArray[np.int32],
    hidden: NDArray[np.int32],
    relation: int,
    inverse: int,
    sums: NDArray[np.float64],  # noqa: ARG001 - the kernel's memory
    limit: int,
    is_simple: bool,
    may_turn: NDArray[np.bool_],  # noqa: ARG001 - spares the kernel work
    budget: Budget,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Counts of paths within a budget; a prefix that bodies share is walked once."""
    cells: list[dict[int, float]] = []
    cuts: dict[tuple[int, tuple[int, ...]], tuple[int, int, int]] = {}
    for body in bodies_of(trie):
        for q, (head, tail) in enumerate(zip(heads.tolist(), hidden.tolist(), strict=True)):
            own_fact = hidden_facts(graph, head, relation, inverse, tail)
            key = _mixed(_mixed(_mixed(budget.seed, relation), head), tail)
            reached, is_whole = {head: 1.0}, True
            for depth, step in enumerate(body):
                if not reached:
                    break
                key = _mixed(key, step)
                reached, hubs = _followed(graph, reached, step, own_fact, is_simple, budget, key)
                is_whole = is_whole and not hubs
                if is_simple:
                    reached.pop(head, None)
                if is_simple and is_whole:
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
    if ptr[-1] > limit and len(heads) > 1:
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
