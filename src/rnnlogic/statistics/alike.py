"""Rules that say the same in other words: they predict the same pairs on a graph, or nearly.

All rules start from the same random blocks of entities, and a rule stops once it has predicted enough pairs.
Two rules are compared on the blocks that both have seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.amie import by_body, groundings
from rnnlogic.statistics.figures import random_blocks

ALIKE = 0.9  # Jaccard similarity of the predicted pairs
PAIRS = 5_000  # of a rule, to compare it by
MOST = 100  # rules compared with each other
TOGETHER = 500  # rules grounded together; this bounds the pairs held at a time
FIRST = 16  # entities to begin with

Keys = NDArray[np.int64]  # x * entities + y, ascending


@dataclass
class _Pairs:
    """What a rule predicts, block by block."""

    blocks: list[Keys] = field(default_factory=list)
    size: int = 0

    def add(self, keys: Keys) -> None:
        self.blocks.append(keys)
        self.size += len(keys)


def alike_rules(
    graph: Graph, rules: RuleSet, least: float = ALIKE, threads: int | None = None, seed: int = 0
) -> list[int]:
    """For every rule the first one that says the same, or its own number if none before it does.

    Rules for other heads differ. Only the first rules of each head are compared, so the work is bounded.
    """
    found = list(range(len(rules)))
    for batch in _batches(rules):
        pairs = iter(_predicted(graph, rules[np.concatenate(batch)], threads, seed))
        for ids in batch:
            own = dict(zip(ids.tolist(), pairs, strict=False))
            leaders: list[int] = []
            for rule in own:
                same = (i for i in leaders if _similarity(own[i], own[rule], least) >= least)
                found[rule] = next(same, rule)
                leaders += [rule] if found[rule] == rule else []
    return found


def _batches(rules: RuleSet) -> Iterator[list[NDArray[np.int64]]]:
    """Ids of the first rules of every head that has several, some heads at a time."""
    batch: list[NDArray[np.int64]] = []
    named = rules.are_features  # which predict nothing by itself
    for head in rules.head_relations().tolist():
        ids = rules.by_head(head)
        ids = ids[~named[ids]][:MOST]
        if len(ids) > 1:
            batch.append(ids)
        if sum(map(len, batch)) >= TOGETHER:
            yield batch
            batch = []
    if batch:
        yield batch


def _predicted(graph: Graph, rules: RuleSet, threads: int | None, seed: int) -> list[_Pairs]:
    """The pairs of each rule; rules with the same body share theirs."""
    order, bodies, ptr = by_body(rules)
    pairs = [_Pairs() for _ in bodies]
    left = list(range(len(bodies)))
    for starts in random_blocks(graph.num_entities, FIRST, seed):
        keys: list[list[Keys]] = [[] for _ in left]
        for first, part in groundings(graph, [bodies[i] for i in left], starts, threads):
            sizes = np.diff(part.ptr)
            heads = np.repeat(np.tile(starts[part.queries], len(part.rules)), sizes)
            ends = np.cumsum(sizes.reshape(len(part.rules), -1).sum(axis=1))
            joined = heads * graph.num_entities + part.entity
            for k, own in enumerate(np.split(joined, ends[:-1])):
                keys[first + k].append(own)
        for i, parts in zip(left, keys, strict=True):
            pairs[i].add(np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64))
        left = [i for i in left if pairs[i].size < PAIRS]
        if not left:
            break
    body_of = np.repeat(np.arange(len(bodies)), np.diff(ptr))[np.argsort(order)]
    return [pairs[i] for i in body_of.tolist()]


def _similarity(one: _Pairs, other: _Pairs, least: float) -> float:
    """Jaccard similarity on the blocks that both have seen; 0 if it is surely less than `least`."""
    blocks = list(zip(one.blocks, other.blocks, strict=False))
    sizes = [sum(map(len, side)) for side in zip(*blocks, strict=True)]
    if not sizes or min(sizes) < least * max(sizes) or not min(sizes):
        return 0.0
    shared = sum(len(np.intersect1d(a, b, assume_unique=True)) for a, b in blocks)
    return shared / (sum(sizes) - shared)
