"""Exclusions as a source: an answer that is linked to X already, or is X."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rnnlogic.features.base import Answers, Batch, Mask, Place, Rows, Source, Stage
from rnnlogic.features.chains.scratch import zeros
from rnnlogic.features.names import owned, places_of
from rnnlogic.features.ops.kernels import describe_links
from rnnlogic.rules.ruleset import RuleSet

EXCLUSIONS = ("reversed", "linked", "linked_back", "itself")  # in the order of the kernel


class Exclusions(Source):
    """What may rule answers out that others have found."""

    stage = Stage.DESCRIBES
    counts_paths = False

    def owns(self, rules: RuleSet) -> Mask:
        """The exclusions."""
        return owned(rules, EXCLUSIONS)

    def on(self, place: Place) -> ReadyExclusions:
        """The exclusions that the rules name."""
        wanted, places = places_of(place, EXCLUSIONS)
        return ReadyExclusions(place._replace(place=places), wanted)


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
