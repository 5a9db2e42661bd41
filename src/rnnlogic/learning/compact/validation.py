"""How well the models of a path answer validation queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.evaluation.metrics import query_metrics
from rnnlogic.evaluation.ranks import Ranks
from rnnlogic.grounding.ground import Grounder
from rnnlogic.learning.compact.ground import grounded_heads, known_candidates, query_of
from rnnlogic.learning.compact.kernels import add_scores, mark_reached, rank_queries
from rnnlogic.learning.compact.types import Floats, Grounded, Ids, Model, Path, Teacher


def judged(teacher: Teacher, grounder: Grounder, relation: int, models: list[Model]) -> Path:
    """The path with the reciprocal ranks of validation answers."""
    asked = teacher.asked[teacher.asked[:, 1] == relation]
    if not len(asked):
        return Path(relation, models, np.zeros(0), np.zeros((len(models) + 1, 0)))
    ids = teacher.rules.by_head(relation)
    used = np.isin(ids, np.concatenate([model.rules for model in models] or [ids[:0]]))
    heads, query = np.unique(asked[:, 0], return_inverse=True)
    grounded = grounded_heads(grounder, relation, heads, teacher, used)
    judge = _Judge(teacher, relation, grounded, query, asked[:, 2])
    everything = np.ones(len(grounded.entity), bool)
    reciprocal = [judge.reciprocal_ranks(*_scored(grounded, ids[used], model)) for model in models]
    reciprocal.append(judge.reciprocal_ranks(grounded.score, ~everything))
    return Path(relation, models, judge.reciprocal_ranks(grounded.score, everything), np.stack(reciprocal))


def _scored(grounded: Grounded, ids: Ids, model: Model) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores [c] by a model, and which candidates [c] it reaches; ids: the rules of the columns."""
    active = np.searchsorted(ids, model.rules)
    scores = np.zeros(len(grounded.entity))
    add_scores(*grounded.columns, active, model.weights, scores)
    return scores, mark_reached(grounded.columns.ptr, grounded.columns.candidate, active, len(scores))


class _Judge:
    """Ranks the answers of validation queries of one relation by any scores of the candidates."""

    def __init__(
        self, teacher: Teacher, relation: int, grounded: Grounded, query: Ids, answers: NDArray[np.int32]
    ) -> None:
        self._query_ptr, self._query = grounded.query_ptr, query
        self._known = known_candidates(teacher.known, relation, grounded)
        self._candidate = _candidate_of(grounded, query, answers)
        known_answers = [len(teacher.known.neighbours(int(h), relation)) for h in grounded.heads]
        self._unknown = teacher.graph.num_entities - np.array(known_answers, np.int64)[query] + 1

    def reciprocal_ranks(self, scores: Floats, is_reached: NDArray[np.bool_]) -> Floats:
        """Expected reciprocal rank of every answer [a]."""
        better, tied = rank_queries(
            self._query_ptr, scores, is_reached, self._known, self._query, self._candidate, self._unknown
        )
        return query_metrics(Ranks(better, tied, self._unknown))["mrr"]


def _candidate_of(grounded: Grounded, query: Ids, answers: NDArray[np.int32]) -> Ids:
    """Which candidate each query's answer [a] is; -1 if none."""
    width = int(max(grounded.entity.max(initial=0), answers.max(initial=0))) + 1
    keys = query_of(grounded.query_ptr) * width + grounded.entity  # ascending
    wanted = query * width + answers
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    found = keys[place] == wanted if len(keys) else np.zeros(len(wanted), bool)
    return np.where(found, place, -1)
