"""Entities that are their own answers as a source: no simple path leads back to X."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rnnlogic.features.base import Answers, Batch, Place, Rows, Stage
from rnnlogic.features.names import NamedSource


class Reflexive(NamedSource):
    """X as its own answer, where the graph knows a fact of the relation that leads back."""

    stage = Stage.REACHES
    names = ("reflexive",)

    def on(self, place: Place) -> ReadyReflexive:
        """How many facts of the relation lead back."""
        heads, tails = place.graph.edges(place.relation)
        return ReadyReflexive(place, int((heads == tails).sum()))


@dataclass(frozen=True, eq=False)
class ReadyReflexive:
    """The own answers of one relation on one graph."""

    place: Place
    loops: int

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """1 for the head of each query, where a fact that is not hidden leads back."""
        del answers, most
        is_own = (batch.hidden == batch.heads) | (batch.hidden == -2 - batch.heads)
        is_found = self.loops > is_own
        entity = batch.heads[is_found]
        ptr = np.append(0, np.cumsum(is_found, dtype=np.int64))
        return Rows(self.place.place, ptr, entity, np.ones(len(entity), np.float32))
