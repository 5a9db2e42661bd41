"""The records of rules: how often each is right on the training facts, counted once and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rnnlogic.data.graph import Graph
from rnnlogic.explain.reasons import Record
from rnnlogic.features.evidence.kernels import UNSEEN
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.figures import rule_figures


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a model's rules on one graph; pairs (X, Y) are counted as `rules` shows them."""

    graph: Graph
    rules: RuleSet
    known: dict[int, Record | None] = field(default_factory=dict)  # by place in the rules; grows with use

    def of(self, places: Sequence[int]) -> list[Record | None]:
        """The records of some rules [n]; None where a rule predicts nothing.

        Rules that were not counted before are counted now, together.
        """
        new = sorted({place for place in places if place not in self.known})
        if new:
            figures = rule_figures(self.graph, self.rules[new])
            for i, place in enumerate(new):
                self.known[place] = record_of(int(figures.support[i]), int(figures.predictions[i]))
        return [self.known[place] for place in places]


def record_of(right: int, cases: int) -> Record | None:
    """The record of a rule that is right in some of its cases; None without a case."""
    return Record(right, cases, right / (cases + UNSEEN)) if cases > 0 else None


def without_one(record: Record | None) -> Record | None:
    """The record without the case that is asked about, which is a known fact."""
    return None if record is None else record_of(max(record.right - 1, 0), record.cases - 1)
