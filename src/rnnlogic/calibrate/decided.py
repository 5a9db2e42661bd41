"""Probabilities set right by a review: a shift of the log-odds for each relation that people decided about.

Held-out facts show how true missing facts look, and nothing shows how many are missing: that is assumed, or
estimated for the whole graph. People who look at proposals see it. Where they reject more than the
probabilities say, those of the relation fall; where they accept more, they rise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rnnlogic.calibrate.level import Level
from rnnlogic.calibrate.probability import AS_THEY_ARE, Values, stretched
from rnnlogic.calibrate.standing import two_way
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.predictors.base import AnswerScorer

FARTHEST = 10.0


def with_decisions(level: Level, dataset: Dataset, graph: Graph, scorer: AnswerScorer) -> Level:
    """The level with the log-odds of each relation shifted to suit what was accepted and rejected.

    Accepted facts are in the graph by now; each is hidden while it is asked for, as held-out facts are.
    """
    facts = np.concatenate([dataset.accepted, dataset.rejected])
    is_true = np.arange(len(facts)) < len(dataset.accepted)
    if not len(facts):
        return level
    features, ways = two_way(graph, scorer, facts)
    plain = replace(level.both_ways, stretch=AS_THEY_ARE).logits(features, facts[:, 1])
    shifts = np.zeros(graph.num_relations)
    for relation in np.unique(facts[ways > 0, 1]).tolist():
        own = (facts[:, 1] == relation) & (ways > 0)
        shifts[relation] = _shift(plain[own], is_true[own], level.both_ways.stretch)
    both_ways, one_way = level.both_ways, level.one_way
    return replace(
        level,
        both_ways=replace(both_ways, offsets=both_ways.offsets + shifts),
        one_way=replace(one_way, offsets=one_way.offsets + np.tile(shifts, 2)),
    )


def _shift(logits: Values, is_true: NDArray[np.bool_], stretch: Values) -> float:
    """What to add to log-odds [n] before they are stretched, so that facts [n] are as true as they are."""
    from scipy.optimize import minimize_scalar

    signs = np.where(is_true, -1.0, 1.0)

    def loss(shift: float) -> float:
        found = stretched(logits + shift, stretch)
        # A shift costs about as much as two decisions against it
        return float(np.logaddexp(0, signs * found).sum()) + 0.5 * shift**2

    return float(minimize_scalar(loss, bounds=(-FARTHEST, FARTHEST), method="bounded").x)
