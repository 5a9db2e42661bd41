"""How often a rule was right where it decided: first places of validation queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Queries, Tick, no_tick
from rnnlogic.data.dataset import Dataset
from rnnlogic.predictors.loglinear.scorer import AnswerScorer

QUERIES = 2000  # at most so many are asked


@dataclass(frozen=True, eq=False)
class Decisions:
    """Of each rule: first places that it decided by adding most to their score, and how many were right."""

    decided: NDArray[np.int64]  # [rules]
    right: NDArray[np.int64]  # [rules]
    queries: int  # asked
    of: int  # there are

    def text(self, rule: int) -> str:
        """In words, such as "right in 34 of 40 first places it decided"."""
        if not self.decided[rule]:
            return "decided no first place"
        places = "first place" if self.decided[rule] == 1 else "first places"
        return f"right in {self.right[rule]:,} of {self.decided[rule]:,} {places} it decided"


def decisions(
    dataset: Dataset, scorer: AnswerScorer, most: int = QUERIES, seed: int = 0, tick: Tick = no_tick
) -> Decisions:
    """Ask a sample of validation queries, evidence train, and see which rule decided the first place.

    As in an evaluation, other known answers of a query are left out. A first place that several entities
    share counts for none of them.
    """
    queries = _queries(dataset, most, seed)
    graph, known = dataset.graph("train"), dataset.graph("all")
    decided, right = np.zeros((2, len(scorer.rules)), np.int64)
    done = 0
    for chunk in scorer.scored(graph, queries[:, 0], queries[:, 1]):
        for i, position in enumerate(chunk.queries.tolist()):
            head, relation, answer = queries[position].tolist()
            part = slice(chunk.ptr[i], chunk.ptr[i + 1])
            others = known.neighbours(head, relation)
            first = _first(chunk.entity[part], chunk.values[part], others[others != answer])
            if first is None:
                continue
            parts = scorer.contributions(graph, head, relation, first)
            if len(parts.rule):
                rule = parts.rule[np.argmax(parts.values)]
                decided[rule] += 1
                right[rule] += first == answer
        done += len(chunk.queries)
        tick(done, len(queries))
    return Decisions(decided, right, len(queries), 2 * len(dataset.valid))


def _queries(dataset: Dataset, most: int, seed: int) -> Queries:
    """Validation queries in both directions, or a random sample of them."""
    head, relation, tail = dataset.valid.T
    back = np.stack([tail, relation + dataset.vocab.num_relations, head], axis=1)
    both = np.concatenate([dataset.valid, back]).astype(np.int32)
    return both[np.sort(np.random.default_rng(seed).permutation(len(both))[:most])]


def _first(entity: NDArray[np.int32], values: NDArray[np.float64], left_out: NDArray[np.int32]) -> int | None:
    """The entity of the highest score, if there is one alone."""
    kept = ~np.isin(entity, left_out)
    entity, values = entity[kept], values[kept]
    best = np.flatnonzero(values == values.max(initial=-np.inf))
    return int(entity[best[0]]) if len(best) == 1 else None
