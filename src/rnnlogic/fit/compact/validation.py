"""How well the models of a path answer validation queries, and which of them is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Queries
from rnnlogic.evaluation.kernels import Known, Reached, rank_candidates
from rnnlogic.evaluation.ranks import Ranks, query_metrics, rank_answers
from rnnlogic.features.aggregates import Fold, folds_of
from rnnlogic.features.ground import Grounder
from rnnlogic.fit.compact.aggregates import add_aggregates, rows_of
from rnnlogic.fit.compact.fit import Sparse
from rnnlogic.fit.compact.ground import grounded_heads
from rnnlogic.fit.compact.kernels import add_scores
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
    everything = np.ones(len(grounded.entity), bool)
    reaching = np.isin(columns, ids[used]) & teacher.rules.make_candidates[columns]
    folds = folds_of(teacher.rules, columns, teacher.paths_as)
    scored = [_scored(grounded, columns, model, reaching, folds) for model in models]
    ways = [(grounded.score, everything), *scored, (grounded.rest, ~everything)]
    has_rest = teacher.rest is not None and teacher.rest(teacher.graph, asked[:1, 0], relation) is not None
    ranks = (_ranks_of_all if has_rest else _ranks_of_reached)(teacher, grounded, asked, query, ways)
    full, *reciprocal = (query_metrics(each)["mrr"] for each in ranks)
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
    is_reached = np.zeros(len(scores), bool)
    is_reached[rows_of(grounded.columns, active)[0]] = True
    return scores, is_reached


def _ranks_of_reached(
    teacher: Teacher, grounded: Grounded, asked: Queries, query: Ids, scored: Sequence[_Scored]
) -> Iterator[Ranks]:
    """Ranks of the answers [a] by each way to score where only rules have a say."""
    rows, known = teacher.known.pairs(*np.ascontiguousarray(asked[:, :2].T))
    ptr = np.searchsorted(rows, np.arange(len(asked) + 1)).astype(np.int64)
    others, answers = Known(ptr, known.astype(np.int32, copy=False)), np.ascontiguousarray(asked[:, 2])
    for scores, is_reached in scored:
        reached = Reached(grounded.query_ptr, grounded.entity, np.where(is_reached, scores, -np.inf))
        yield Ranks(*rank_candidates(reached, query, answers, others, teacher.graph.num_entities))


def _ranks_of_all(
    teacher: Teacher, grounded: Grounded, asked: Queries, query: Ids, scored: Sequence[_Scored]
) -> list[Ranks]:
    """The same where all entities are candidates, as something besides rules has a say."""
    assert teacher.rest is not None
    parts: list[list[Ranks]] = [[] for _ in scored]
    by_query = np.argsort(query, kind="stable")
    for q, head in enumerate(grounded.heads):
        own = by_query[slice(*np.searchsorted(query[by_query], (q, q + 1)))]
        part = slice(grounded.query_ptr[q], grounded.query_ptr[q + 1])
        rest = teacher.rest(teacher.graph, np.array([head], np.int32), int(asked[0, 1]))
        assert rest is not None
        filtered = teacher.known.pairs(*np.ascontiguousarray(asked[own, :2].T))
        for (scores, _), found in zip(scored, parts, strict=True):
            row = rest[0].copy()
            row[grounded.entity[part]] = scores[part]
            found.append(rank_answers(np.tile(row, (len(own), 1)), asked[own, 2], filtered))
    back = np.argsort(by_query)
    return [Ranks.concatenate(found).select(back) for found in parts]


class Level(NamedTuple):
    """One point of the frontier: a choice of a model from each path."""

    price: float
    chosen: list[int]  # [paths] which model, len(models) for none; empty for the full model
    rules: int  # in all
    mrr: float  # on validation queries
    drop: float  # MRR lost against the full model
    error: float  # standard error of the drop


def level_at(paths: Sequence[Path], price: float, most: int | None = None) -> Level:
    """Of each path the largest model whose rules are all worth the price, with at most `most` rules.

    Without such a limit, only models that have the rules people would name.
    """
    chosen = [_first_model(path, price, most) for path in paths]
    full = np.concatenate([path.full for path in paths])
    now = np.concatenate([path.reciprocal[i] for path, i in zip(paths, chosen, strict=True)])
    drop = full - now
    rules = sum(
        len(path.models[i].rules) for path, i in zip(paths, chosen, strict=True) if i < len(path.models)
    )
    error = float(drop.std() / np.sqrt(max(len(drop), 1)))
    return Level(price, chosen, rules, float(now.mean()), float(drop.mean()), error)


def _first_model(path: Path, price: float, most: int | None) -> int:
    has_readable = any(model.is_readable for model in path.models)
    if most is None:
        are_allowed = [model.is_readable or not has_readable for model in path.models]
    else:
        are_allowed = [len(model.rules) <= most for model in path.models]
    allowed = [i for i, is_allowed in enumerate(are_allowed) if is_allowed]
    worth = [i for i in allowed if path.models[i].price >= price]
    fewest = max(len(path.models) - 1, 0)  # more than `most` only where more rules are pinned
    return (worth or allowed[-1:] or [fewest])[0]


def full_level(paths: Sequence[Path], rules: int) -> Level:
    """The full model as a level."""
    return Level(0.0, [], rules, float(np.concatenate([path.full for path in paths]).mean()), 0.0, 0.0)


def frontier(paths: Sequence[Path], most: int | None = None, points: int = 40) -> list[Level]:
    """Levels from many rules to few."""
    prices = np.array([model.price for path in paths for model in path.models if model.price > 0])
    if not len(prices):
        return [level_at(paths, 0.0, most)]
    grid = np.unique(np.quantile(prices, np.linspace(0, 1, points)))
    return [level_at(paths, price, most) for price in (0.0, *grid)]


def chosen_level(levels: Sequence[Level], tolerance: float) -> Level:
    """The smallest level that loses no more than the tolerance, a share of the full model's MRR, against it.

    By a standard error if one does, else by none. If no level is so good, the full model is
    taken, or, where it is none of the levels (as with a limit on the rules), one close to the best.
    """
    full = levels[0].mrr + levels[0].drop
    small = [level for level in levels if level.chosen]
    for errors in (1, 0):
        good = [level for level in small if level.mrr - errors * level.error >= full * (1 - tolerance)]
        if good:
            return min(good, key=lambda level: (level.rules, -level.mrr))
    return _near_best(small, tolerance) if len(small) == len(levels) else levels[0]


def _near_best(levels: Sequence[Level], tolerance: float) -> Level:
    """The smallest level close to the best: it may lose the tolerated share times what it saves.

    A limit already costs accuracy, so a level that saves half of the largest one's rules may lose half of the
    tolerance more, and one that hardly saves any rules hardly anything.
    """
    best, most = max(level.mrr for level in levels), max(level.rules for level in levels)
    good = [level for level in levels if level.mrr >= best * (1 - tolerance * _saved(level, most))]
    fallback = max(levels, key=lambda level: (level.mrr, -level.rules))
    return min(good, key=lambda level: (level.rules, -level.mrr), default=fallback)


def _saved(level: Level, most: int) -> float:
    """The share of the largest level's rules that a level does without."""
    return 1 - level.rules / max(most, 1)


def model_at(paths: Sequence[Path], level: Level, num_rules: int) -> tuple[Ids, Floats]:
    """Rule ids, ascending, and weights of the compact model."""
    weights = np.zeros(num_rules)
    kept = np.zeros(num_rules, bool)
    for path, i in zip(paths, level.chosen, strict=True):
        if i < len(path.models):
            weights[path.models[i].rules] = path.models[i].weights
            kept[path.models[i].rules] = True
    ids = np.flatnonzero(kept)
    return ids, weights[ids]
