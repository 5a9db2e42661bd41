"""What RNNLogic+ learns from: training queries with some of their candidates, cut into batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.features.chains.kernels import ANSWER, WRONG
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Candidates, sums_by_candidate
from rnnlogic.mining.links import hidden_of
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.predictors.values import RuleValues
from rnnlogic.statistics.statistics import training_queries


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries of one relation with some of their candidates, and what the network shall make of them.

    A candidate that no rule reaches stands for all such entities.
    """

    candidates: Candidates  # rule: 16 bits where they suffice
    offset: NDArray[np.float32]  # [c] log of how many entities a candidate stands for
    target: NDArray[np.float32]  # [c] sums to 1 over the candidates of a query
    linear: NDArray[np.float32]  # [c] score by RNNLogic; zeros if it has no part

    @property
    def num_queries(self) -> int:
        """Number of queries."""
        return self.candidates.num_queries


class _Chosen(NamedTuple):
    """Candidates of one query: positions [c], -1 for those that no rule reaches; and see `Batch`."""

    candidate: NDArray[np.int64]
    offset: NDArray[np.float32]
    target: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Examples:
    """Makes batches of the training queries."""

    graph: Graph
    psi: NDArray[np.float64]  # [rules] tells which candidates are strong
    values: RuleValues
    settings: PlusSettings
    seed: int
    valid: Triples  # tell how often links between the ends of facts are hidden
    unreached: bool = False  # whether entities that no rule reaches take part, as one candidate

    def batches(self, threads: int, tick: Tick = no_tick, budget: Budget = UNLIMITED) -> list[Batch]:
        """Batches of all relations that have rules; the same for any number of threads.

        None are made once the time is up.
        """
        rules = self.values.rules
        queries = training_queries(self.graph, self.settings.queries_per_relation, self.seed)
        queries = np.column_stack([queries, hidden_of(rules, self.graph, self.valid, queries, self.seed)])
        starts = np.flatnonzero(np.diff(queries[:, 1], prepend=-1))
        blocks = [block for block in np.split(queries, starts[1:]) if len(block)]
        blocks = [block for block in blocks if len(rules.by_head(int(block[0, 1])))]
        grounder = Grounder(self.graph, rules, threads=1, chunk_queries=self.settings.batch_queries)
        batches: list[Batch] = []
        done = 0
        for made in budget.timely(map_ordered(_batches_of, blocks, (self, grounder), threads)):
            batches, done = batches + made, done + 1
            tick(done, len(blocks))
        if done < len(blocks):
            budget.cut("plus examples", f"of {done:,} of {len(blocks):,} relations")
        return batches

    def batches_of(self, grounder: Grounder, queries: NDArray[np.int32]) -> list[Batch]:
        """The batches of queries of one relation, in a random order; the last column says what is hidden."""
        relation = int(queries[0, 1])
        rng = np.random.default_rng([self.seed, relation])
        queries = queries[rng.permutation(len(queries))]
        found = grounder.candidates(queries[:, 0], relation, queries[:, -1])
        made = [self.batch(part, queries[part.queries, 2], rng) for part in found]
        return [batch for batch in made if batch.num_queries]

    def batch(self, found: Candidates, answers: NDArray[np.int32], rng: np.random.Generator) -> Batch:
        """A batch of grounded queries with these answers [q]."""
        label = found.labelled(self.graph, answers, True).label
        value, phi = self.values.features(found).astype(np.float32), self.values.phi(found)
        weighted = self.psi[found.rule_id] * (value if phi is None else value * phi)
        sums = sums_by_candidate(weighted, found.candidate_ptr)
        parts = [
            self._choose(int(first), label[first:last], sums[first:last], rng)
            for first, last in pairwise(found.query_ptr)
        ]
        used = np.array([bool(part.target.any()) for part in parts], bool)
        parts = [part for part, is_used in zip(parts, used, strict=True) if is_used]
        chosen = np.concatenate([np.empty(0, np.int64), *(part.candidate for part in parts)])
        taken, ptr = gather_segments(found.candidate_ptr, chosen)
        kept = replace(
            found,
            queries=found.queries[used],
            heads=found.heads[used],
            query_ptr=np.cumsum([0, *(len(part.candidate) for part in parts)]),
            entity=np.append(found.entity, np.int32(-1))[chosen],
            candidate_ptr=ptr,
            rule=found.rule[taken].astype(np.uint16 if len(found.ids) < 1 << 16 else np.int32),
        )
        return Batch(
            kept.valued(value[taken]),
            np.concatenate([np.empty(0, np.float32), *(part.offset for part in parts)]),
            np.concatenate([np.empty(0, np.float32), *(part.target for part in parts)]),
            self._linear(sums, chosen),
        )

    def _linear(self, sums: NDArray[np.float64], chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """RNNLogic's score [c] of chosen candidates, 0 for unreached ones, where it is part of the score."""
        if self.settings.linear != "fixed":
            return np.zeros(len(chosen), np.float32)
        return np.append(sums, 0.0)[chosen].astype(np.float32)

    def _choose(
        self, first: int, label: NDArray[np.int8], sums: NDArray[np.float64], rng: np.random.Generator
    ) -> _Chosen:
        """The answer, the strongest wrong candidates, others at random, and perhaps the unreached."""
        answer, wrong = np.flatnonzero(label == ANSWER), np.flatnonzero(label == WRONG)
        strongest, drawn = _split(wrong, sums[wrong], self.settings.strongest, self.settings.random, rng)
        others = len(wrong) - len(strongest)
        candidate = first + np.concatenate([answer, strongest, drawn])
        offset, target = np.zeros(len(candidate), np.float32), np.zeros(len(candidate), np.float32)
        offset[len(candidate) - len(drawn) :] = np.log(others / len(drawn)) if len(drawn) else 0
        target[: len(answer)] = 1
        if self.unreached:
            unreached = max(1, self.graph.num_entities - len(label))
            candidate = np.append(candidate, -1)
            offset = np.append(offset, np.float32(np.log(unreached)))
            target = np.append(target, np.float32(not (label == ANSWER).any()))
        return _Chosen(candidate, offset, target / max(1, target.sum()))


def _batches_of(shared: tuple[Examples, Grounder], queries: NDArray[np.int32]) -> list[Batch]:
    examples, grounder = shared
    return examples.batches_of(grounder, queries)


def gather_segments(
    ptr: NDArray[np.int64], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions [n] of what lies in segments [c] of `ptr`, one after another, and its own ptr [c+1].

    Segment -1 is empty.
    """
    start = np.where(chosen < 0, 0, ptr[chosen])
    size = np.where(chosen < 0, 0, ptr[chosen + 1] - ptr[chosen])
    own = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    return np.arange(own[-1]) - np.repeat(own[:-1] - start, size), own


def _split(
    wrong: NDArray[np.int64],
    sums: NDArray[np.float64],
    strongest: int,
    drawn: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The wrong candidates with the highest sums, and some of the others."""
    if len(wrong) <= strongest + drawn:
        return wrong, wrong[:0]
    order = np.argpartition(-sums, strongest) if strongest else np.arange(len(wrong))
    others = order[strongest:]
    return wrong[order[:strongest]], wrong[others[rng.permutation(len(others))[:drawn]]]
