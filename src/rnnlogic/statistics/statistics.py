"""How well rules fit the training facts, from one grounding pass with each query's own fact hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, Budget, passes
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Queries, Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.features.base import NO_CUTS, UNSEEN, Batch
from rnnlogic.features.ground import Grounder, Grounding
from rnnlogic.mining.kernels import Reached, Weighed, count_hits
from rnnlogic.rules.ruleset import RuleSet

FIRST = 16  # queries of each relation in the first pass under a budget
STRIDE = 7919  # a prime, so that steps of it visit every query


@dataclass(frozen=True, eq=False)
class RuleStatistics:
    """Counts per rule over training queries of its head relation.

    If a rule reaches other known answers of a query, they count neither for nor against it. Where facts have
    weights, what they support counts by these, and counts are fractions.
    """

    support: NDArray[Any]  # [n] queries whose answer the rule reaches
    wrong: NDArray[Any]  # [n] entities it reaches that are not known answers, over all queries
    looked_at: NDArray[np.float64] | None = None  # [n] share of the queries, where a budget cut them short
    cuts: NDArray[np.int64] = field(default_factory=lambda: NO_CUTS)  # [3] what sampling at hubs left out

    @property
    def whole_support(self) -> NDArray[np.int64]:
        """The support in whole queries."""
        return np.asarray(np.rint(self.support), np.int64)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """support / (support + wrong)."""
        return self.quality(0.0)

    def quality(self, smoothing: float) -> NDArray[np.float64]:
        """support / (support + wrong + smoothing): confidence that distrusts rare rules."""
        scaled = smoothing if self.looked_at is None else smoothing * self.looked_at
        denominator = self.support + self.wrong + scaled
        return np.where(denominator > 0, self.support / np.maximum(denominator, 1e-300), 0.0)

    def __add__(self, other: RuleStatistics) -> RuleStatistics:
        """The counts over the queries of both, each looked at as a whole."""
        counts = self.support + other.support, self.wrong + other.wrong
        return RuleStatistics(*counts, cuts=self.cuts + other.cuts)

    def of(self, chosen: NDArray[np.int64]) -> RuleStatistics:
        """The statistics of some of the rules."""
        looked_at = None if self.looked_at is None else self.looked_at[chosen]
        return RuleStatistics(self.support[chosen], self.wrong[chosen], looked_at, self.cuts)


def trust_of(support: NDArray[np.int64], confidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each rule [n] is trusted: its confidence with one right result less and five wrong ones more.

    So the fact that a training query asks about is not what makes its rules trusted.
    """
    wrong = support * (1 / np.where(confidence > 0, confidence, 1.0) - 1)
    others = np.maximum(support - 1, 0)
    trust: NDArray[np.float64] = others / (others + wrong + UNSEEN)
    return trust


def training_queries(graph: Graph, per_relation: int | None, seed: int) -> Queries:
    """(h, r, t) and (t, r^-1, h) of all facts, by relation; a random sample for frequent relations."""
    blocks = []
    for relation in range(2 * graph.num_relations):
        heads, tails = graph.edges(relation)
        if per_relation is not None and len(heads) > per_relation:
            picked = np.sort(np.random.default_rng([seed, relation]).permutation(len(heads))[:per_relation])
            heads, tails = heads[picked], tails[picked]
        blocks.append(np.stack([heads, np.full_like(heads, relation), tails], axis=1))
    return np.concatenate(blocks) if blocks else np.empty((0, 3), np.int32)


def rule_statistics(
    graph: Graph,
    rules: RuleSet,
    queries: Queries,
    threads: int | None = None,
    tick: Tick = no_tick,
    budget: Budget = UNLIMITED,
) -> RuleStatistics:
    """Support and wrong results of every rule over the queries of its head relation.

    With a budget the queries come in passes over all relations, until the time is up.
    """
    support, wrong = np.zeros((2, len(rules)), np.int64 if graph.weights is None else np.float64)
    looked_at = np.zeros(2 * graph.num_relations, np.int64)
    wanted = np.bincount(queries[:, 1], minlength=2 * graph.num_relations)
    grounder, done, cuts = Grounder(graph, rules, threads), 0, NO_CUTS.copy()
    for block in _passes(queries) if budget.is_limited else [queries]:
        batches = grounder.batches(block[:, 0], block[:, 1], block[:, 2])
        counted = map_ordered(_hits, batches, (grounder, block), grounder.threads)
        for batch, found in zip(batches, budget.timely(counted), strict=False):
            for ids, hits, misses, left_out in found:
                support[ids] += hits
                wrong[ids] += misses
                cuts += left_out
            looked_at[batch.relation] += len(batch.positions)
            done += len(batch.positions)
            tick(done, len(queries))
        if budget.is_over and done < wanted[rules.head_relations()].sum():
            budget.cut("statistics", f"counted on {done:,} of {len(queries):,} training queries")
            share = (looked_at / np.maximum(wanted, 1))[rules.heads]
            return RuleStatistics(support, wrong, share, cuts)
    tick(len(queries), len(queries))  # those of relations without rules, too
    return RuleStatistics(support, wrong, cuts=cuts)


def _passes(queries: Queries) -> list[Queries]:
    """Queries, ordered by relation, as ever longer parts of every relation."""
    starts = np.flatnonzero(np.diff(queries[:, 1], prepend=-1))
    sizes = np.diff(np.append(starts, len(queries)))
    place = np.arange(len(queries)) - np.repeat(starts, sizes)
    spread = (place * STRIDE) % np.repeat(sizes, sizes)  # queries are sorted by head: take some of everywhere
    return [queries[(spread >= a) & (spread < b)] for a, b in passes(FIRST, int(sizes.max(initial=0)))]


def _hits(shared: tuple[Grounder, Queries], batch: Batch) -> list[tuple[NDArray[Any], ...]]:
    """Rule ids, right and wrong results, and cuts of a batch of training queries, part by part."""
    grounder, queries = shared
    found = []
    for part in grounder.ground_batch(batch):
        answers = np.ascontiguousarray(queries[part.queries, 2])
        found.append((part.rules, *_matches(grounder.graph, part, answers), part.cuts))
    return found


def _matches(graph: Graph, part: Grounding, answers: NDArray[np.int32]) -> tuple[NDArray[Any], ...]:
    """Right and wrong results of the rules [k] of some queries, whose answers are told."""
    weighed = None
    if graph.weights is not None:
        importance = graph.weights_of(part.heads, np.full(len(answers), part.relation), answers)
        weighed = Weighed(part.count.astype(np.float64, copy=False), importance)
    reached = Reached(part.heads, part.entity, part.ptr)
    counts = count_hits(graph.arrays, part.relation, reached, answers, weighed, graph.num_entities)
    return counts if weighed else tuple(part.astype(np.int64) for part in counts)
