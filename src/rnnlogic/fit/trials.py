"""Tries some ways to learn weights on validation facts; queries are grounded once for all of them.

Some training queries of each relation are grounded with all rules that any way may use. A way is a part of
the rules and settings: its weights are learned on that part of the results, and validation answers are
ranked by that part of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.blas import one_blas_thread
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Queries
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.evaluation.evaluate import KnownAnswers, both_sides
from rnnlogic.evaluation.kernels import rank_candidates
from rnnlogic.evaluation.metrics import query_metrics
from rnnlogic.evaluation.ranks import Ranks
from rnnlogic.features.evidence.surest import SUREST, strengths
from rnnlogic.features.evidence.trust.kernels import largest_by_candidate
from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Candidates
from rnnlogic.mining.links import hidden_answers
from rnnlogic.predictors.base import Task
from rnnlogic.predictors.loglinear.fit import Job, Weights, blocks_of, only, problem_of, weights_of
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from rnnlogic.predictors.values import RuleValues

HELD = 60_000_000  # results of training queries that are kept in memory, for each way to hide links
Mask = NDArray[np.bool_]


class Variant(NamedTuple):
    """A part of the rules, and the settings to learn their weights with."""

    kept: Mask  # [rules]
    settings: LogLinearSettings


class _Unit(NamedTuple):
    """One relation: what is asked, and what its weights are learned from."""

    asked: Queries  # [m, 3] validation queries
    block: Queries | None  # [n, 4] training queries, and what is hidden of each; None: there are none
    problem: Candidates | None  # these grounded, if they were before


class _Shared(NamedTuple):
    job: Job
    variants: list[Variant]
    reaching: Mask  # [rules] which make candidates
    known: KnownAnswers
    surest: Mask  # [rules] which are about the most trusted rule
    strength: NDArray[np.float32]  # [rules] what each counts if it is that one


@dataclass(eq=False)
class Trials:
    """Validation facts, training queries of their relations, and all rules that a variant may keep."""

    task: Task
    values: RuleValues
    facts: Triples
    queries: Queries
    candidates: int  # of each training query, at most
    _problems: dict[bool, dict[int, Candidates]] = field(default_factory=dict, init=False)

    @property
    def graph(self) -> Graph:
        """The graph of training facts."""
        return self.task.dataset.graph("train")

    @cached_property
    def _asked(self) -> Queries:
        return both_sides(self.facts, self.graph.num_relations)

    @cached_property
    def _grounder(self) -> Grounder:
        return Grounder(self.graph, self.values.rules, threads=1)

    @cached_property
    def _reaching(self) -> Mask:
        return self.values.rules.make_candidates

    @cached_property
    def _known(self) -> KnownAnswers:
        return KnownAnswers(self.task.dataset.graph("all"))

    def reciprocal_ranks(self, variants: list[Variant], hides: bool) -> NDArray[np.float64]:
        """Expected reciprocal ranks [variants, answers] of the validation answers.

        `hides` says whether links of training queries are hidden as validation facts tell.
        """
        config = self.task.config
        settings = config.predictor.model_copy(update={"candidates_per_query": self.candidates})
        job = Job(self._grounder, settings, config.seed, self.values, None)
        rules, ids = self.values.rules, np.arange(len(self.values.rules))
        trust = rules.are_feature(SUREST), strengths(rules, ids)
        shared = _Shared(job, variants, self._reaching, self._known, *trust)
        units, found, parts = self._units(hides), self._problems.get(hides), []
        held: dict[int, Candidates] = {}
        with one_blas_thread():
            for problem, ranks in map_ordered(_tried, units, shared, self.task.threads):
                parts.append(ranks)
                if found is None and problem is not None:
                    held[problem.relation] = problem
                    if sum(len(one.rule) for one in held.values()) > HELD:
                        found = {}  # too many: they are grounded again each time
        self._problems.setdefault(hides, held if found is None else found)
        return np.concatenate(parts, axis=1)

    def _units(self, hides: bool) -> list[_Unit]:
        queries, valid = self.queries, self.task.dataset.valid
        hidden = hidden_answers(self.graph, valid, queries, self.task.config.seed) if hides else None
        blocks = {int(block[0, 1]): block for block in blocks_of(queries, self.values, hidden)}
        known = self._problems.get(hides, {})
        starts = np.flatnonzero(np.diff(self._asked[:, 1])) + 1
        return [
            _Unit(own, blocks.get(int(own[0, 1])), known.get(int(own[0, 1])))
            for own in np.split(self._asked, starts)
        ]


def _tried(shared: _Shared, unit: _Unit) -> tuple[Candidates | None, NDArray[np.float64]]:
    """The grounded training queries of a relation, and reciprocal ranks [variants, m] of what is asked."""
    job, variants, problem = shared.job, shared.variants, unit.problem
    if problem is None and unit.block is not None:
        problem = problem_of(job, unit.block)[0]
    own = problem
    if problem is not None:  # a part for all variants first: each of them then looks at less
        any_kept = np.logical_or.reduce([one.kept for one in variants])
        own = only(problem, any_kept[problem.ids], shared.reaching[problem.ids])
    learned = [_learned(shared, one, own) for one in variants]
    return problem, _ranked(shared, unit.asked, learned)


def _learned(shared: _Shared, variant: Variant, problem: Candidates | None) -> Weights:
    """psi [rules] of a variant for one relation, 0 for rules that it does not keep."""
    job, psi = shared.job, np.zeros(len(variant.kept))
    if problem is not None:
        known = _looked_again(shared, problem, variant.kept)
        own = only(known, variant.kept[problem.ids], shared.reaching[problem.ids])
        rng = np.random.default_rng([job.seed, problem.relation])
        psi[own.ids] = weights_of(own, variant.settings, rng, job.values.rules)[0]
    return psi


def _looked_again(shared: _Shared, found: Candidates, kept: Mask) -> Candidates:
    """Examples where the most trusted rule is one of those kept [rules]."""
    is_surest = shared.surest[found.ids]
    if not is_surest.any():
        return found
    strength = np.where(kept, shared.strength, np.float32(0))[found.ids]
    largest = largest_by_candidate(found.candidate_ptr, found.rule, strength)
    changed = np.flatnonzero(is_surest[found.rule])
    value = found.value.copy()
    value[changed] = largest[np.searchsorted(found.candidate_ptr, changed, side="right") - 1]
    return replace(found, value=value)


def _ranked(shared: _Shared, asked: Queries, learned: list[Weights]) -> NDArray[np.float64]:
    """Reciprocal ranks [variants, m] of the answers of one relation's queries [m, 3]."""
    grounder, values = shared.job.grounder, shared.job.values
    heads, question = np.unique(asked[:, 0], return_inverse=True)
    found: list[list[_Scores]] = [[_NO_SCORES] for _ in learned]
    for part in grounder.candidates(heads, int(asked[0, 1])):
        valued = part.valued(values.examples(part))
        for scores, psi, variant in zip(found, learned, shared.variants, strict=True):
            own = _looked_again(shared, valued, variant.kept)
            scores.append(_scores(own, psi, variant.kept, shared.reaching))
    rows, known = shared.known.pairs(*np.ascontiguousarray(asked[:, :2].T))
    ptr = np.searchsorted(rows, np.arange(len(asked) + 1)).astype(np.int64)
    answers, others = np.ascontiguousarray(asked[:, 2]), known.astype(np.int32, copy=False)
    told, size = question.astype(np.int64), grounder.graph.num_entities
    ranks = []
    for parts in found:
        starts, entity, value = _in_order(parts, len(heads))
        ranks.append(Ranks(*rank_candidates(starts, entity, value, told, answers, ptr, others, size)))
    return np.stack([query_metrics(one)["mrr"] for one in ranks])


class _Scores(NamedTuple):
    """Scores of candidates."""

    query: NDArray[np.int64]  # [c]
    entity: NDArray[np.int32]  # [c]
    value: NDArray[np.float64]  # [c]


_NO_SCORES = _Scores(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))


def _scores(found: Candidates, psi: Weights, kept: Mask, reaching: Mask) -> _Scores:
    """The scores of the candidates that the rules kept [rules] reach."""
    candidate = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
    parts = psi[found.ids][found.rule] * found.value
    total = np.bincount(candidate, parts, minlength=len(found)).astype(np.float64)
    is_reached = np.zeros(len(found), bool)
    is_reached[candidate[(kept & reaching)[found.ids][found.rule]]] = True
    return _Scores(found.query[is_reached], found.entity[is_reached], total[is_reached])


def _in_order(
    parts: list[_Scores], queries: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Where the candidates of each query begin [queries + 1], the candidates, their scores."""
    query, entity, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(query, kind="stable")
    return np.searchsorted(query[order], np.arange(queries + 1)), entity[order], value[order]
