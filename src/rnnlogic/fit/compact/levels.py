"""The frontier: few rules against validation MRR, and which point of it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rnnlogic.fit.compact.types import Floats, Ids, Path


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
