"""What grounding finds, by candidate answer: the one structure that predictors learn and answer from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rnnlogic.base.types import Feature
from rnnlogic.data.graph import Graph
from rnnlogic.features.aggregates import Fold
from rnnlogic.features.base import NO_CUTS, joined_ptr
from rnnlogic.features.kernels import features_of, label_candidates

NO_COUNTS: NDArray[np.int32] = np.empty(0, np.int32)
NO_VALUES: NDArray[np.float32] = np.empty(0, np.float32)
NO_LABELS: NDArray[np.int8] = np.empty(0, np.int8)


class Examples(NamedTuple):
    """The input of training kernels: queries with candidates, and the rules that reach each candidate."""

    query_ptr: NDArray[np.int64]  # [q+1] candidates of query i: query_ptr[i]:query_ptr[i+1]
    candidate_ptr: NDArray[np.int64]  # [c+1] rules of candidate i: candidate_ptr[i]:candidate_ptr[i+1]
    rule: NDArray[Any]  # [n] position among the rules of the relation
    value: NDArray[np.float32]  # [n] what the weight multiplies
    label: NDArray[np.int8]  # [c] WRONG, ANSWER or LEFT_OUT


@dataclass(frozen=True, eq=False)
class Candidates:
    """Queries of one relation, the answers that its rules reach, and the rules that reach each of them.

    Candidates ascend by query and entity; the rules of one candidate have a fixed order. A rule has two ids:
    `rule` is its position among the rules of the relation, `rule_id` its place in the rule set.
    """

    relation: int
    queries: NDArray[np.int64]  # [q] positions in the batch
    heads: NDArray[np.int32]  # [q]
    query_ptr: NDArray[np.int64]  # [q+1] candidates of query i: query_ptr[i]:query_ptr[i+1]
    entity: NDArray[np.int32]  # [c]
    candidate_ptr: NDArray[np.int64]  # [c+1] rules of candidate i: candidate_ptr[i]:candidate_ptr[i+1]
    rule: NDArray[np.integer]  # [n] position among the rules of the relation
    count: NDArray[Any]  # [n] paths, or the value of a feature; empty once replaced by values
    ids: NDArray[np.int64]  # [k] ids of the relation's rules, ascending
    counts_paths: NDArray[np.bool_]  # [k] whether `count` is a number of paths; else the value of a feature
    value: NDArray[np.float32] = field(
        default_factory=lambda: NO_VALUES
    )  # [n] what the weight multiplies; empty until computed
    label: NDArray[np.int8] = field(
        default_factory=lambda: NO_LABELS
    )  # [c] WRONG, ANSWER or LEFT_OUT; empty until assigned
    multiplicity: NDArray[np.float32] = field(
        default_factory=lambda: NO_VALUES
    )  # [c] candidates that each stands for in a sample; empty if each stands for itself
    folds: Sequence[Fold] = ()  # the aggregates among the rules
    importance: NDArray[np.float64] | None = None  # [q] weights of the queries' facts; None: all are 1

    def __len__(self) -> int:
        """Number of candidates."""
        return len(self.entity)

    @property
    def rule_id(self) -> NDArray[np.int64]:
        """Ids [n] in the rule set."""
        ids: NDArray[np.int64] = self.ids[self.rule]
        return ids

    @property
    def query(self) -> NDArray[np.int64]:
        """Position in the batch of each candidate's query [c]."""
        return np.repeat(self.queries, np.diff(self.query_ptr))

    @property
    def num_queries(self) -> int:
        """Number of queries."""
        return len(self.queries)

    @property
    def examples(self) -> Examples:
        """The input of training kernels."""
        return Examples(self.query_ptr, self.candidate_ptr, self.rule, self.value, self.label)

    def labelled(self, graph: Graph, answers: NDArray[np.int32], leave_out: bool) -> Candidates:
        """With labels, given the answers [q]; other known answers are LEFT_OUT if `leave_out`, else WRONG."""
        heads, answers = np.ascontiguousarray(self.heads), np.ascontiguousarray(answers)
        query = graph.arrays, self.relation, heads, answers, self.query_ptr, self.entity
        return replace(self, label=label_candidates(*query, leave_out))

    def weighed(self, graph: Graph, answers: NDArray[np.int32]) -> Candidates:
        """With the weights of the queries' facts, given the answers [q]."""
        if graph.weights is None:
            return self
        weights = graph.weights_of(self.heads, np.full(len(self.heads), self.relation), answers)
        return replace(self, importance=weights)

    def valued(self, value: NDArray[np.float32]) -> Candidates:
        """With values instead of walk counts."""
        return replace(self, value=value, count=NO_COUNTS)

    def at(self, entity: int) -> Candidates:
        """The candidate `entity` of the only query; none if no rule reaches it."""
        place = int(np.searchsorted(self.entity, entity))
        found = place < len(self.entity) and self.entity[place] == entity
        chosen = slice(place, place + int(found))
        first, last = (int(self.candidate_ptr[i]) for i in (chosen.start, chosen.stop))
        return replace(
            self,
            query_ptr=np.array([0, int(found)]),
            entity=self.entity[chosen],
            candidate_ptr=self.candidate_ptr[chosen.start : chosen.stop + 1] - first,
            rule=self.rule[first:last],
            count=self.count[first:last],
        )


class Scored(NamedTuple):
    """Scores of the candidates of some queries."""

    queries: NDArray[np.int64]  # [q] positions in the batch
    ptr: NDArray[np.int64]  # [q+1] candidates of query i: ptr[i]:ptr[i+1]
    entity: NDArray[np.int32]  # [c]
    values: NDArray[np.float64]  # [c]
    cuts: NDArray[np.int64] = NO_CUTS  # [3] what the budget left out

    def fill(self, dense: NDArray[np.float64]) -> None:
        """Write the scores into dense [batch, E]; other entries are left as they are."""
        dense[np.repeat(self.queries, np.diff(self.ptr)), self.entity] = self.values


def no_candidates(relation: int, head: int) -> Candidates:
    """One query without candidates: no rule answers it."""
    zero, ids = np.zeros(1, np.int64), np.empty(0, np.int64)
    heads, nothing = np.array([head], np.int32), np.empty(0, np.int32)
    told = np.zeros(2, np.int64), nothing, zero, nothing, nothing, ids
    return Candidates(relation, zero, heads, *told, np.empty(0, bool))


def joined(parts: Sequence[Candidates]) -> Candidates:
    """Chunks of queries of one relation, one after another."""
    first = parts[0]
    return Candidates(
        first.relation,
        np.concatenate([part.queries for part in parts]),
        np.concatenate([part.heads for part in parts]),
        joined_ptr([part.query_ptr for part in parts]),
        np.concatenate([part.entity for part in parts]),
        joined_ptr([part.candidate_ptr for part in parts]),
        np.concatenate([part.rule for part in parts]),
        np.concatenate([part.count for part in parts]),
        first.ids,
        first.counts_paths,
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.multiplicity for part in parts]),
        first.folds,
        None if first.importance is None else np.concatenate([one.importance for one in parts]),
    )


def sums_by_candidate(values: NDArray[np.float64], ptr: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums [c] of values [n]; every candidate has at least one."""
    return np.add.reduceat(values, ptr[:-1]) if len(values) else np.empty(0)


FEATURE_CODES: dict[Feature, int] = {"count": 0, "log1p": 1, "binary": 2}  # as kernels use them


def codes_of(counts_paths: NDArray[np.bool_], feature: Feature) -> NDArray[np.int8]:
    """The code of what becomes of each rule's value [k]: features that count no paths stay as they are."""
    return np.where(counts_paths, FEATURE_CODES[feature], FEATURE_CODES["count"]).astype(np.int8)


def transformed(found: Candidates, feature: Feature, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """What the weight of each rule multiplies at each candidate [n]."""
    values = np.empty(len(found.count), dtype)
    features_of(found.count, found.rule, codes_of(found.counts_paths, feature), values)
    return values
