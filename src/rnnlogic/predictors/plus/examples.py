"""What RNNLogic+ learns from: training queries with some of their candidates, cut into batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.executor import in_order
from rnnlogic.base.types import Queries
from rnnlogic.config import PlusSettings
from rnnlogic.data.graph import Graph
from rnnlogic.grounding.features import Feature
from rnnlogic.grounding.ground import Grounder, Grounding
from rnnlogic.mining.statistics import training_queries
from rnnlogic.predictors.loglinear.kernels import ANSWER, LEFT_OUT, WRONG, label_candidates
from rnnlogic.predictors.paths.scores import PathModel, Results
from rnnlogic.predictors.plus.scorer import RuleValues
from rnnlogic.rules.ruleset import RuleSet


class Batch(NamedTuple):
    """Queries of one relation, and candidates of each with the rules that reach them.

    A candidate that no rule reaches stands for all such entities.
    """

    relation: int
    query_ptr: NDArray[np.int64]  # [q+1] candidates of each query
    candidate_ptr: NDArray[np.int64]  # [c+1] rules of each candidate
    rule: NDArray[np.integer]  # [n] position among the rules of the relation; 16 bits where they suffice
    value: NDArray[np.float32]  # [n] the rule's feature, for the network
    offset: NDArray[np.float32]  # [c] log of how many entities a candidate stands for
    target: NDArray[np.float32]  # [c] sums to 1 over the candidates of a query
    linear: NDArray[np.float32]  # [c] score by RNNLogic; zeros if psi is trained or has no part

    @property
    def num_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ptr) - 1


class _Chosen(NamedTuple):
    """Candidates of one query: positions [c], -1 for those that no rule reaches; and see `Batch`."""

    candidate: NDArray[np.int64]
    offset: NDArray[np.float32]
    target: NDArray[np.float32]


@dataclass(frozen=True)
class Examples:
    """Makes batches of the training queries."""

    graph: Graph
    rules: RuleSet
    psi: NDArray[np.float64]  # [rules] tells which candidates are strong
    feature: Feature
    settings: PlusSettings
    seed: int
    paths: PathModel | None = None

    @cached_property
    def _places(self) -> NDArray[np.integer]:
        """Position [rules] of every rule among those of its relation."""
        most = np.bincount(self.rules.heads).max(initial=0)
        kind: Any = np.uint16 if most < 1 << 16 else np.int32
        places: NDArray[np.integer] = np.empty(len(self.rules), kind)
        for relation in self.rules.head_relations():
            ids = self.rules.by_head(int(relation))
            places[ids] = np.arange(len(ids))
        return places

    def batches(self, threads: int, progress: Callable[[int, int], None] | None = None) -> list[Batch]:
        """Batches of all relations that have rules; the same for any number of threads."""
        queries = training_queries(self.graph, self.settings.queries_per_relation, self.seed)
        starts = np.flatnonzero(np.diff(queries[:, 1], prepend=-1))
        blocks = [block for block in np.split(queries, starts[1:]) if len(block)]
        blocks = [block for block in blocks if len(self.rules.by_head(int(block[0, 1])))]
        grounder = Grounder(self.graph, self.rules, threads=1, chunk_queries=self.settings.batch_queries)
        values = RuleValues(self.rules, self.feature, self.paths)
        batches: list[Batch] = []
        work = in_order(lambda block: self.batches_of(grounder, values, block), blocks, threads, len, 10**6)
        for done, made in enumerate(work, start=1):
            batches += made
            if progress is not None:
                progress(done, len(blocks))
        return batches

    def batches_of(self, grounder: Grounder, values: RuleValues, queries: Queries) -> list[Batch]:
        """The batches of queries of one relation."""
        relation = int(queries[0, 1])
        rng = np.random.default_rng([self.seed, relation])
        queries = queries[rng.permutation(len(queries))]
        made = []
        for grounding in grounder.ground(queries[:, 0], relation, queries[:, 2]):
            batch = self._batch(grounding, values, queries[grounding.queries], rng)
            if batch.num_queries:
                made.append(batch)
        return made

    def _batch(
        self, grounding: Grounding, values: RuleValues, queries: Queries, rng: np.random.Generator
    ) -> Batch:
        found, relation = grounding.candidates(), int(queries[0, 1])
        heads, answers = np.ascontiguousarray(queries[:, 0]), np.ascontiguousarray(queries[:, 2])
        query_ptr = np.append(np.searchsorted(found.query, grounding.queries), len(found.query))
        label = label_candidates(self.graph.arrays, relation, heads, answers, query_ptr, found.entity, True)
        results = Results(heads, query_ptr, found.entity, found.ptr, found.rule)
        value, phi = values(relation, found.count, results)
        weighted = self.psi[found.rule] * (value if phi is None else value * phi)
        sums = np.add.reduceat(weighted, found.ptr[:-1]) if len(value) else np.empty(0)
        parts = [
            self._choose(int(first), label[first:last], sums[first:last], rng)
            for first, last in pairwise(query_ptr)
        ]
        parts = [part for part in parts if part.target.any()]
        chosen = np.concatenate([np.empty(0, np.int64), *(part.candidate for part in parts)])
        taken, ptr = gather_segments(found.ptr, chosen)
        place = self._places[found.rule[taken]]
        return Batch(
            relation,
            np.cumsum([0, *(len(part.candidate) for part in parts)]),
            ptr,
            place,
            value[taken],
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
        """Answers, the strongest wrong candidates, others at random, and the unreached if so wanted."""
        answer, wrong = np.flatnonzero(label == ANSWER), np.flatnonzero(label == WRONG)
        if self.settings.loss == "multi":
            answer = np.append(answer, np.flatnonzero(label == LEFT_OUT)[: self.settings.strongest])
        strongest, drawn = _split(wrong, sums[wrong], self.settings.strongest, self.settings.random, rng)
        others = len(wrong) - len(strongest)
        candidate = first + np.concatenate([answer, strongest, drawn])
        offset, target = np.zeros(len(candidate), np.float32), np.zeros(len(candidate), np.float32)
        offset[len(candidate) - len(drawn) :] = np.log(others / len(drawn)) if len(drawn) else 0
        target[: len(answer)] = 1
        if self.settings.unreached:
            unreached = max(1, self.graph.num_entities - len(label))
            candidate = np.append(candidate, -1)
            offset = np.append(offset, np.float32(np.log(unreached)))
            target = np.append(target, np.float32(not (label == ANSWER).any()))
        return _Chosen(candidate, offset, self._shares(target))

    def _shares(self, target: NDArray[np.float32]) -> NDArray[np.float32]:
        """Targets that sum to 1, smoothed."""
        if not target.any():
            return target
        smoothing = self.settings.label_smoothing
        shares: NDArray[np.float32] = (1 - smoothing) * target / target.sum()
        return shares + np.float32(smoothing / len(target))


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
