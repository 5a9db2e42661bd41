"""The base rate as a source: how common an entity is as an answer of the relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.base import Answers, Batch, Ids, Mask, Place, Rows, Stage
from rnnlogic.features.chains.scratch import zeros
from rnnlogic.features.names import NamedSource
from rnnlogic.features.ops.kernels import Counted, describe_rates

RATES = ("seen", "frequency", "degree")  # in the order of the kernel
FREQUENT_ANSWERS = 1000  # of a relation that are answers of all its queries, at most: bounds the work


class BaseRate(NamedSource):
    """How common answers are. The frequent ones are answers of every query."""

    stage = Stage.ADDS
    names = RATES

    def on(self, place: Place) -> ReadyBaseRate:
        """The answers of the relation, counted."""
        wanted, place = self.wanted(place)
        answers, times = answers_of(place.graph, place.relation)
        first = np.argsort(-times, kind="stable")[:FREQUENT_ANSWERS]  # ties by id
        return ReadyBaseRate(place, wanted, answers, times, answers[first])


def answers_of(graph: Graph, relation: int) -> tuple[NDArray[np.int32], Ids]:
    """The answers [n] of a relation, ascending, and how many of its facts lead to each."""
    arrays, inverse = graph.arrays, graph.inverse(relation)
    first, last = arrays.relation_rows[inverse], arrays.relation_rows[inverse + 1]
    return arrays.row_head[first:last], np.diff(arrays.row_edges[first : last + 1])


@dataclass(frozen=True, eq=False)
class ReadyBaseRate:
    """The base rates of one relation on one graph."""

    place: Place
    wanted: Mask  # [RATES]
    answers: NDArray[np.int32]  # [n] of the relation
    times: Ids  # [n] facts of the relation that lead to each
    frequent: NDArray[np.int32]  # the most frequent answers first

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """How common the answers are, and the frequent ones of other heads."""
        del most
        graph, items = self.place.graph, self.place.items()
        with (
            zeros("found", graph.num_entities, np.bool_) as is_found,
            zeros("times", graph.num_entities, np.int64) as times,
        ):
            times[self.answers] = self.times
            counted = Counted(self.frequent, times)
            rows = describe_rates(graph.arrays, items, counted, self.wanted, batch, answers, is_found)
            times[self.answers] = 0
        return Rows(self.place.place, *rows)
