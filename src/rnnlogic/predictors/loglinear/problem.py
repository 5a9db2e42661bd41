"""The training queries of one head relation, grounded: what the log-linear predictor learns from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Queries
from rnnlogic.grounding.features import Feature, feature_values
from rnnlogic.grounding.ground import Candidates, Grounder
from rnnlogic.predictors.loglinear.kernels import label_candidates
from rnnlogic.predictors.paths.scores import PathModel, Results


class Problem(NamedTuple):
    """Queries with candidate answers, and for each candidate the rules that reach it."""

    query_ptr: NDArray[np.int64]  # [q+1] candidates of each query
    candidate_ptr: NDArray[np.int64]  # [c+1] rules of each candidate
    rule: NDArray[np.int32]  # [n] position among the rules of the relation
    value: NDArray[np.float32]  # [n] the rule's feature, times phi if paths are scored
    label: NDArray[np.int8]  # [c] WRONG, ANSWER or LEFT_OUT

    @property
    def num_queries(self) -> int:
        """Number of training queries."""
        return len(self.query_ptr) - 1


def build_problem(
    grounder: Grounder,
    queries: Queries,
    feature: Feature,
    leave_out: bool,
    most_results: int,
    paths: PathModel | None = None,
) -> Problem:
    """Ground training queries of one relation, each with its own fact hidden.

    Queries are taken in the order given until `most_results` (query, entity, rule) results are there.
    `leave_out` keeps other known answers of a query out of its candidates' softmax. With `paths`, values are
    multiplied with phi.
    """
    relation = int(queries[0, 1])
    rule_ids = grounder.rules.by_head(relation)
    parts: list[Candidates] = []
    results, used = 0, 0
    for grounding in grounder.ground(queries[:, 0], relation, queries[:, 2]):
        parts.append(grounding.candidates())
        results += len(grounding)
        used = int(grounding.queries[-1]) + 1
        if results >= most_results:
            break
    query = np.concatenate([part.query for part in parts])
    entity = np.concatenate([part.entity for part in parts])
    query_ptr = np.searchsorted(query, np.arange(used + 1)).astype(np.int64)
    taken = np.ascontiguousarray(queries[:used])
    label = label_candidates(
        grounder.graph.arrays,
        relation,
        np.ascontiguousarray(taken[:, 0]),
        np.ascontiguousarray(taken[:, 2]),
        query_ptr,
        entity,
        leave_out,
    )
    place = np.empty(len(grounder.rules), np.int32)  # of a rule among those of the relation
    place[rule_ids] = np.arange(len(rule_ids))
    rule = np.concatenate([place[part.rule] for part in parts])
    value = np.concatenate([feature_values(part.count, feature).astype(np.float32) for part in parts])
    candidate_ptr = _joined_ptr(parts)
    if paths is not None:
        reached = Results(np.ascontiguousarray(taken[:, 0]), query_ptr, entity, candidate_ptr, rule)
        value = value * paths.phi(paths.turns(grounder.rules, relation), reached)
    return Problem(query_ptr, candidate_ptr, rule, value, label)


def _joined_ptr(parts: list[Candidates]) -> NDArray[np.int64]:
    ends = np.cumsum([0, *(part.ptr[-1] for part in parts)])
    pieces = [part.ptr[1:] + start for part, start in zip(parts, ends, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *pieces])
