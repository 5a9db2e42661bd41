"""The usual protocol for new graphs: each answer is ranked among a few sampled entities instead of all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.evaluation.ranks import Pairs, Ranks, refuse_nan


class NegativeSampler:
    """Draws distinct entities that are not known answers, all equally likely.

    One generator serves the queries in order, so results depend on that order but not on chunks.
    """

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.random = count, np.random.default_rng(seed)

    def draw(self, known: NDArray[np.integer], num_entities: int) -> NDArray[np.int64]:
        """`count` entities that are not in `known` (ascending), or all of those if there are fewer."""
        left = num_entities - len(known)
        places = self.random.choice(left, min(self.count, left), replace=False)  # among the others
        return np.asarray(places + np.searchsorted(known - np.arange(len(known)), places, side="right"))

    def rank(self, scores: NDArray[np.floating], answers: NDArray[np.integer], known: Pairs) -> Ranks:
        """Compare each row's answer [B] with entities drawn for it; scores [B, E], known (row, entity) pairs.

        Every answer is among the known answers of its row, and pairs ascend.
        """
        refuse_nan(scores)
        ends = np.searchsorted(known[0], np.arange(len(answers) + 1))
        better, tied, candidates = np.zeros((3, len(answers)), np.int64)
        for row, answer in enumerate(answers):
            drawn = self.draw(known[1][ends[row] : ends[row + 1]], scores.shape[1])
            theirs, mine = scores[row, drawn], scores[row, answer]
            better[row] = np.count_nonzero(theirs > mine)
            tied[row] = np.count_nonzero(theirs == mine) + 1
            candidates[row] = len(drawn) + 1
        return Ranks(better, tied, candidates)
