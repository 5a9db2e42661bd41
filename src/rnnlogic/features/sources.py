"""The table of sources: where the rows of a relation's rules come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.features.base import (
    Answers,
    Batch,
    Budget,
    Items,
    Mask,
    Place,
    Query,
    Ready,
    Rows,
    Source,
    Stage,
    Term,
    zeros,
)
from rnnlogic.features.chains.source import Chains
from rnnlogic.features.conditions import Conditions
from rnnlogic.features.constants.source import ConstantRules, Summaries
from rnnlogic.features.kernels import collect_answers
from rnnlogic.features.named import BaseRate, Exclusions, Reflexive
from rnnlogic.rules.ruleset import RuleSet

SOURCES: dict[str, Source] = {  # rows come in this order
    "chains": Chains(),
    "constants": ConstantRules(),
    "conditions": Conditions(),
    "exclusions": Exclusions(),
    "base_rate": BaseRate(),
    "reflexive": Reflexive(),
    "summaries": Summaries(),
}


@dataclass(frozen=True, eq=False)
class ReadySources:
    """All rules of a relation made ready for one graph."""

    sources: tuple[tuple[Stage, Ready], ...]  # in the order of the table
    num_entities: int
    likely: tuple[Graph | None, ...]  # what each source sees, if that is less than all facts

    @classmethod
    def of(
        cls, graph: Graph, relation: int, rules: RuleSet, items: Callable[[], Items], budget: Budget | None
    ) -> ReadySources:
        """The sources of some rules [k] of a relation."""
        ready, likely = [], []
        for source in SOURCES.values():
            own = np.flatnonzero(source.owns(rules))
            if len(own):
                seen = graph if source.weighs_facts else graph.likely
                place = Place(seen, relation, rules[own], own, items, budget)
                ready.append((source.stage, source.on(place)))
                likely.append(None if seen is graph else seen)
        return cls(tuple(ready), graph.num_entities, tuple(likely))

    def rows(self, batch: Batch, most: int) -> list[Rows] | None:
        """What each source gives; None if that is more than `most` results of more than one query."""
        found: dict[int, Rows] = {}
        answers = Answers(np.zeros(len(batch.heads) + 1, np.int64), np.empty(0, np.int32))
        new: list[Rows] = []  # rows whose answers are not collected
        for i in sorted(range(len(self.sources)), key=lambda i: self.sources[i][0]):
            stage, source = self.sources[i]
            if stage > Stage.REACHES:
                answers, new = self._collected(answers, new), []
            likely = self.likely[i]
            rows = source.rows(batch if likely is None else _seen(batch, likely), answers, most)
            if rows is None:
                return None
            most -= len(rows.entity)
            found[i] = rows
            new.append(rows)
        return [found[i] for i in range(len(self.sources))]

    def _collected(self, answers: Answers, new: list[Rows]) -> Answers:
        """The answers with those of further rows."""
        for rows in new:
            with zeros("found", self.num_entities, np.bool_) as is_found:
                answers = Answers(*collect_answers(*answers, rows.ptr, rows.entity, is_found))
        return answers


def _seen(batch: Batch, likely: Graph) -> Batch:
    """The queries as a graph of likely facts sees them: what it lacks it need not hide."""
    relations = np.full(len(batch.heads), batch.relation)
    is_there = likely.find(batch.heads, relations, batch.hidden) >= 0
    return batch._replace(hidden=np.where(is_there | (batch.hidden < 0), batch.hidden, -1).astype(np.int32))


def counts_paths(rules: RuleSet) -> Mask:
    """For which rules [n] a value is a number of paths."""
    found = np.zeros(len(rules), bool)
    for source in SOURCES.values():
        if source.counts_paths:
            found |= source.owns(rules)
    return found


def terms_of(graph: Graph, name: str, query: Query) -> Sequence[Term]:
    """The rules behind the value of a feature, which are no part of the model."""
    for source in SOURCES.values():
        if found := source.terms(graph if source.weighs_facts else graph.likely, name, query):
            return found
    return ()
