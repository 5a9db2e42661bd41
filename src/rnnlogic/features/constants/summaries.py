"""Summaries of the rules with constants that the facts imply: the best ones, and what several say together.

A relation has many such rules, most of which no model holds. One kernel finds those that are true of a query
and folds them at once: best rule and noisy-or as in `aggregates.py`, whose shares split the value again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.features.aggregates import Best, NoisyOr
from rnnlogic.features.base import Answers, Batch, Mask, Place, Query, Rows, Stage, Term
from rnnlogic.features.constants.behind import implied_rules
from rnnlogic.features.constants.kernels import RelationTables, summarise
from rnnlogic.features.constants.tables import relation_tables
from rnnlogic.features.names import NamedSource

SUMMARIES: dict[str, Best | NoisyOr] = {  # in the order of the kernel
    "best_constant_of_x": Best(),
    "constants_of_x": NoisyOr(),
    "best_constant_of_y": Best(),
    "constants_of_y": NoisyOr(),
}


class Summaries(NamedSource):
    """What rules with constants say that no model holds."""

    stage = Stage.REACHES
    names = SUMMARIES

    def on(self, place: Place) -> ReadySummaries:
        """The rules that the facts imply, counted."""
        wanted, place = self.wanted(place)
        tables = relation_tables(place.graph, place.items(), place.relation)
        return ReadySummaries(place, wanted, tables)

    def terms(self, graph: Graph, name: str, query: Query) -> Sequence[Term]:
        """The rules that are true of a query, with their shares."""
        found = [] if name not in SUMMARIES else implied_rules(graph, query, about_x=name.endswith("_x"))
        if not found:
            return []
        aggregate = SUMMARIES[name]
        weights = aggregate.weights(aggregate.strength_of(np.array([one.confidence for one in found])))
        told = zip(found, weights.tolist(), strict=True)
        return [one._replace(weight=weight) for one, weight in told if weight > 0]


@dataclass(frozen=True, eq=False)
class ReadySummaries:
    """The summaries of one relation on one graph."""

    place: Place
    wanted: Mask  # [SUMMARIES]
    tables: RelationTables

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """What the rules say that are true of the heads, and of answers."""
        del answers, most
        place, size = self.place, self.place.graph.num_entities
        rows = summarise(place.graph.arrays, place.items(), self.tables, self.wanted, batch, size)
        return Rows(place.place, *rows)
