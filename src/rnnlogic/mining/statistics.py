"""How well rules fit the training facts, from one grounding pass with each query's own fact hidden."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Queries, Tick, no_tick
from rnnlogic.data.graph import Graph
from rnnlogic.grounding.ground import Batch, Grounder
from rnnlogic.grounding.sampling.budget import NO_CUTS
from rnnlogic.mining.kernels import count_hits
from rnnlogic.rules.ruleset import RuleSet


@dataclass(frozen=True, eq=False)
class RuleStatistics:
    """Counts per rule over training queries of its head relation.

    If a rule reaches other known answers of a query, they count neither for nor against it.
    """

    support: NDArray[np.int64]  # [n] queries whose answer the rule reaches
    wrong: NDArray[np.int64]  # [n] entities it reaches that are not known answers, over all queries
    cuts: NDArray[np.int64] = field(default_factory=lambda: NO_CUTS)  # [3] what the budget left out

    @property
    def confidence(self) -> NDArray[np.float64]:
        """support / (support + wrong)."""
        return self.quality(0.0)

    def quality(self, smoothing: float) -> NDArray[np.float64]:
        """support / (support + wrong + smoothing): confidence that distrusts rare rules."""
        denominator = self.support + self.wrong + smoothing
        return np.where(denominator > 0, self.support / np.maximum(denominator, 1e-300), 0.0)


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
) -> RuleStatistics:
    """Support and wrong results of every rule over the queries of its head relation."""
    support, wrong = np.zeros(len(rules), np.int64), np.zeros(len(rules), np.int64)
    grounder, done, cuts = Grounder(graph, rules, threads), 0, NO_CUTS.copy()
    batches = grounder.batches(queries[:, 0], queries[:, 1], queries[:, 2])
    for batch, found in zip(
        batches, map_ordered(_hits, batches, (grounder, queries), grounder.threads), strict=True
    ):
        for ids, hits, misses, left_out in found:
            support[ids] += hits
            wrong[ids] += misses
            cuts += left_out
        done += len(batch.positions)
        tick(done, len(queries))
    return RuleStatistics(support, wrong, cuts)


def _hits(
    shared: tuple[Grounder, Queries], batch: Batch
) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Rule ids, right and wrong results, and cuts of a batch of training queries, part by part."""
    grounder, queries = shared
    found = []
    for part in grounder.ground_batch(batch):
        answers = np.ascontiguousarray(queries[part.queries, 2])
        arrays, size = grounder.graph.arrays, grounder.graph.num_entities
        hits = count_hits(arrays, batch.relation, part.heads, answers, part.entity, part.ptr, size)
        found.append((part.rules, *hits, part.cuts))
    return found
