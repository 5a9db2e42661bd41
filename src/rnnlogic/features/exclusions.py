"""Exclusions as a source: an answer that is linked to X already, or is X."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rnnlogic.features.base import Answers, Batch, Mask, Place, Rows, Stage
from rnnlogic.features.chains.scratch import zeros
from rnnlogic.features.names import NamedSource
from rnnlogic.features.ops.kernels import describe_links

EXCLUSIONS = ("reversed", "linked", "linked_back", "itself")  # in the order of the kernel


class Exclusions(NamedSource):
    """What may rule answers out that others have found."""

    stage = Stage.DESCRIBES
    names = EXCLUSIONS

    def on(self, place: Place) -> ReadyExclusions:
        """The exclusions that the rules name."""
        wanted, place = self.wanted(place)
        return ReadyExclusions(place, wanted)


@dataclass(frozen=True, eq=False)
class ReadyExclusions:
    """The exclusions of one relation on one graph."""

    place: Place
    wanted: Mask  # [EXCLUSIONS]

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """1 for each answer that an exclusion holds for."""
        del most
        graph, place = self.place.graph, self.place
        with zeros("marks", graph.num_entities, np.int8) as marks:
            return Rows(
                place.place, *describe_links(graph.arrays, place.items(), self.wanted, batch, answers, marks)
            )
