"""How well the models of a path answer validation queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Queries
from rnnlogic.evaluation.ranks import Ranks, query_metrics
from rnnlogic.features.aggregates import Fold, folds_of
from rnnlogic.features.ground import Grounder
from rnnlogic.fit.compact.aggregates import add_aggregates
from rnnlogic.fit.compact.fit import Sparse
from rnnlogic.fit.compact.ground import grounded_heads, known_candidates, query_of
from rnnlogic.fit.compact.kernels import mark_reached, rank_queries
from rnnlogic.fit.compact.solving.kernels import add_scores
from rnnlogic.fit.compact.types import Floats, Grounded, Ids, Model, Path, Teacher

_Scored = tuple[Floats, NDArray[np.bool_]]  # scores of candidates [c], and which are reached


def judged(
    teacher: Teacher,
    grounder: Grounder,
    relation: int,
    models: list[Model],
    grounded: Grounded | None = None,
) -> Path:
    """The path with the reciprocal ranks of validation answers.

    `grounded`: all rules and all candidates of some heads but the known ones, if at hand. If the heads that
    validation asks about are among them, they are not grounded again.
    """
    asked = teacher.asked[teacher.asked[:, 1] == relation]
    if not len(asked):
        return Path(relation, models, np.zeros(0), np.zeros((len(models) + 1, 0)))
    ids = teacher.rules.by_head(relation)
    used = np.isin(ids, np.concatenate([model.rules for model in models] or [ids[:0]]))
    if grounded is not None and _holds(teacher, relation, grounded, asked):
        query, columns = _place_of(grounded.heads, asked[:, 0]), ids
    else:
        heads, query = np.unique(asked[:, 0], return_inverse=True)
        grounded, columns = grounded_heads(grounder, relation, heads, teacher, used), ids[used]
    judge = _Judge(teacher, relation, grounded, query, asked[:, 2])
    everything = np.ones(len(grounded.entity), bool)
    reaching = np.isin(columns, ids[used]) & teacher.rules.make_candidates[columns]
    folds = folds_of(teacher.rules, columns, teacher.paths_as)
    scored = [_scored(grounded, columns, model, reaching, folds) for model in models]
    full, *reciprocal = judge.reciprocal_ranks(
        [(grounded.score, everything), *scored, (grounded.rest, ~everything)]
    )
    return Path(relation, models, full, np.stack(reciprocal))


def _holds(teacher: Teacher, relation: int, grounded: Grounded, asked: Queries) -> bool:
    """Whether heads that are grounded without known answers suffice to rank those that are asked for."""
    if teacher.rest is not None or not np.isin(asked[:, 0], grounded.heads).all():
        return False
    neighbours = teacher.graph.neighbours
    return not any(tail in neighbours(int(head), relation) for head, _, tail in asked.tolist())


def _place_of(heads: NDArray[np.int32], wanted: NDArray[np.int32]) -> Ids:
    """Where each wanted head [a] stands among heads [q]."""
    order = np.argsort(heads, kind="stable")
    return order[np.searchsorted(heads[order], wanted)]


def _scored(
    grounded: Grounded, ids: Ids, model: Model, reaching: NDArray[np.bool_], folds: Sequence[Fold]
) -> _Scored:
    """Scores [c] by a model, and which candidates [c] it reaches; ids: the rules of the columns.

    `reaching` [ids] says which rules make candidates.
    """
    found, scores = Sparse(np.searchsorted(ids, model.rules), model.weights), grounded.rest.copy()
    found = add_aggregates(folds, grounded.columns, found, scores)
    add_scores(grounded.columns, *found, scores)
    active = found.active[reaching[found.active]]
    return scores, mark_reached(grounded.columns.ptr, grounded.columns.candidate, active, len(scores))


class _Judge:
    """Ranks the answers of validation queries of one relation by any scores of the candidates."""

    def __init__(
        self, teacher: Teacher, relation: int, grounded: Grounded, query: Ids, answers: NDArray[np.int32]
    ) -> None:
        self._teacher, self._relation, self._grounded = teacher, relation, grounded
        self._query, self._answers = query, answers
        self._known = known_candidates(teacher.known, relation, grounded)
        self._candidate = _candidate_of(grounded, query, answers)
        known_answers = [len(teacher.known.neighbours(int(h), relation)) for h in grounded.heads]
        self._unknown = teacher.graph.num_entities - np.array(known_answers, np.int64)[query] + 1

    def reciprocal_ranks(self, scored: Sequence[_Scored]) -> list[Floats]:
        """For each way to score, the expected reciprocal rank of every answer [a]."""
        if self._rest(0) is None:
            places = [self._places(*one) for one in scored]
        else:
            places = self._places_of_all(scored)
        return [query_metrics(Ranks(*place, self._unknown))["mrr"] for place in places]

    def _rest(self, query: int) -> Floats | None:
        """What all entities [E] score without any rule; None where only rules have a say."""
        teacher, heads = self._teacher, self._grounded.heads[query : query + 1]
        rows = None if teacher.rest is None else teacher.rest(teacher.graph, heads, self._relation)
        return None if rows is None else rows[0]

    def _places(self, scores: Floats, is_reached: NDArray[np.bool_]) -> tuple[Ids, Ids]:
        """Better and tied candidates of every answer [a]."""
        asked = self._query, self._candidate, self._unknown
        return rank_queries(self._grounded.query_ptr, scores, is_reached, self._known, *asked)

    def _places_of_all(self, scored: Sequence[_Scored]) -> list[tuple[Ids, Ids]]:
        """The same where all entities are candidates, as something besides rules has a say."""
        grounded, size = self._grounded, len(self._query)
        places = [(np.zeros(size, np.int64), np.zeros(size, np.int64)) for _ in scored]
        for q, head in enumerate(grounded.heads.tolist()):
            rest, own = self._rest(q), slice(grounded.query_ptr[q], grounded.query_ptr[q + 1])
            assert rest is not None
            asked = np.flatnonzero(self._query == q)
            known = self._teacher.known.neighbours(head, self._relation)
            for (scores, _), (better, tied) in zip(scored, places, strict=True):
                row = rest.copy()
                row[grounded.entity[own]] = scores[own]
                wanted = row[self._answers[asked]][:, None]
                row[known] = -np.inf
                better[asked] = (row > wanted).sum(axis=1)
                tied[asked] = (row == wanted).sum(axis=1) + 1  # the answer itself is known, too
        return places


def _candidate_of(grounded: Grounded, query: Ids, answers: NDArray[np.int32]) -> Ids:
    """Which candidate each query's answer [a] is; -1 if none."""
    width = int(max(grounded.entity.max(initial=0), answers.max(initial=0))) + 1
    keys = query_of(grounded.query_ptr) * width + grounded.entity  # ascending
    wanted = query * width + answers
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    found = keys[place] == wanted if len(keys) else np.zeros(len(wanted), bool)
    return np.where(found, place, -1)
