"""Support and confidence of rules as AnyBURL and PyClause count them.

For a rule h(X,Y) <- body they count pairs (x, y), each once, that the body joins by a walk that visits no
entity twice (the variables of a rule stand for different entities):

    predictions   such pairs
    support       those of them that are facts h(x, y)
    confidence    support / predictions

A walk from x to y without repeated entities uses the fact h(x, y) itself only if the body is h; that body
predicts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.mining.anyburl.kernels import count_simple_pairs
from rnnlogic.rules.ruleset import RuleSet

BODIES = 256  # bodies of one unit of work
SEED = 0


@dataclass(frozen=True, eq=False)
class AnyburlStatistics:
    """Counts of pairs per rule."""

    predictions: NDArray[np.int64]  # [n]
    support: NDArray[np.int64]  # [n]
    is_sampled: NDArray[np.bool_]  # [n] whether only a sample of the x was looked at

    @property
    def confidence(self) -> NDArray[np.float64]:
        """support / predictions [n]; 0 where nothing is predicted."""
        return np.asarray(self.support / np.maximum(self.predictions, 1), np.float64)


def anyburl_statistics(
    graph: Graph,
    rules: RuleSet,
    threads: int | None = None,
    most_heads: int | None = None,
    tick: Tick = no_tick,
) -> AnyburlStatistics:
    """Figures of every rule; with `most_heads` from a random sample of so many x where there are more.

    A body is searched once for all the heads that have it.
    """
    by_body: dict[tuple[int, ...], list[int]] = {}
    for i, rule in enumerate(rules):
        if rule.body:  # an empty one leads from x to x
            by_body.setdefault(rule.body, []).append(i)
    bodies = sorted(by_body)
    units = [bodies[start : start + BODIES] for start in range(0, len(bodies), BODIES)]
    predictions, support = np.zeros((2, len(rules)), np.int64)
    is_sampled = np.zeros(len(rules), bool)
    shared = graph, rules.heads, by_body, most_heads
    for done, (unit, found) in enumerate(
        zip(units, map_ordered(_count, units, shared, threads), strict=True), 1
    ):
        for body, (pairs, supports, sampled) in zip(unit, found, strict=True):
            ids = by_body[body]
            predictions[ids], support[ids], is_sampled[ids] = pairs, supports, sampled
        tick(done, len(units))
    return AnyburlStatistics(predictions, support, is_sampled)


_Shared = tuple[Graph, NDArray[np.int32], dict[tuple[int, ...], list[int]], int | None]
_Found = tuple[NDArray[np.int64], NDArray[np.int64], bool]


def _count(shared: _Shared, bodies: list[tuple[int, ...]]) -> list[_Found]:
    """Predictions and support of the rules of each body."""
    graph, rule_heads, by_body, most_heads = shared
    seen, mark, found = np.zeros(graph.num_entities, np.int64), 0, []
    for body in bodies:
        heads = rule_heads[by_body[body]].astype(np.int64)
        starts, sampled = _starts(graph, body[0], most_heads)
        support = np.zeros(len(heads), np.int64)
        steps = np.array(body, np.int64)
        pairs, mark = count_simple_pairs(graph.arrays, steps, heads, starts, seen, mark, support)
        is_itself = (heads == body[0]) & (len(body) == 1)
        found.append((np.where(is_itself, 0, pairs), np.where(is_itself, 0, support), sampled))
    return found


def _starts(graph: Graph, relation: int, most: int | None) -> tuple[NDArray[np.int32], bool]:
    """The entities from which a body that begins with this relation can start, or a sample of them."""
    a = graph.arrays
    starts = a.row_head[a.relation_rows[relation] : a.relation_rows[relation + 1]]
    if most is None or len(starts) <= most:
        return starts, False
    picked = np.random.default_rng([SEED, relation]).permutation(len(starts))[:most]
    return starts[np.sort(picked)], True
