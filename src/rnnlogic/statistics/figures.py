"""The figures of rules that people see: AMIE's, exact where that is quick, else from a sample that says so.

Rules start from random entities x, first a few, then twice as many each time. A rule that has predicted
enough pairs is done, and its figures are estimates; a rule that has not goes on to the last entity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import TimeIsUp
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.amie import amie_statistics

ENOUGH = 20_000  # pairs that a rule predicts; its confidence is then known to about half a percent
FIRST = 64  # entities to begin with
NAMES = ("predictions", "support", "confidence", "pca_confidence", "head_coverage")


@dataclass(frozen=True, eq=False)
class RuleFigures:
    """AMIE's figures per rule; counts from a sample are scaled to all entities."""

    predictions: NDArray[np.int64]  # [n]
    support: NDArray[np.int64]  # [n]
    confidence: NDArray[np.float64]  # [n]
    pca_confidence: NDArray[np.float64]  # [n]
    head_coverage: NDArray[np.float64]  # [n]
    share: NDArray[np.float64]  # [n] of the entities x that were looked at; 1: the figures are exact

    def row(self, i: int) -> dict[str, Any]:
        """The figures of rule i by name."""
        return {name: getattr(self, name)[i].item() for name in NAMES}


def rule_figures(
    graph: Graph,
    rules: RuleSet,
    threads: int | None = None,
    enough: int = ENOUGH,
    seed: int = 0,
    tick: Tick = no_tick,
) -> RuleFigures:
    """AMIE's figures of every rule, from a sample for those that predict more than `enough` pairs.

    If the time that is enforced is up, they rest on what was looked at; the share is 0 if that is nothing.
    """
    number, entities = len(rules), graph.num_entities
    counts, looked = np.zeros((3, number), np.int64), np.zeros(number, np.int64)
    left, facts = np.arange(number), graph.num_edges[rules.heads]
    for starts in random_blocks(entities, max(FIRST, enough // max(entities, 1)), seed):
        try:
            found = amie_statistics(graph, rules[left], threads, examples=0, starts=starts)
        except TimeIsUp:
            break
        counts[:, left] += np.stack([found.predictions, found.support, found.pca_predictions])
        looked[left] += len(starts)
        left = left[counts[0, left] < enough]
        tick(number - len(left), number)
        if not len(left):
            break
    tick(number, number)
    seen, share = np.maximum(looked, 1) / max(entities, 1), looked / max(entities, 1)
    predictions, support, pca = counts
    return RuleFigures(
        np.rint(predictions / seen).astype(np.int64),
        np.rint(support / seen).astype(np.int64),
        support / np.maximum(predictions, 1),
        support / np.maximum(pca, 1),
        np.minimum(support / seen / np.maximum(facts, 1), 1.0),
        share,
    )


def random_blocks(entities: int, first: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """All entities in random blocks, each as large as all before it; ascending within a block."""
    order, done = np.random.default_rng(seed).permutation(entities), 0
    while done < entities:
        block = order[done : done + max(done, first)]
        done += len(block)
        yield np.sort(block)
