"""Weighted rules as something that scores answers, and that can say what each rule adds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.grounding.features import Feature, feature_values
from rnnlogic.grounding.ground import Candidates, Grounder
from rnnlogic.rules.ruleset import RuleSet


class Scored(NamedTuple):
    """Scores of the candidates of some queries."""

    queries: NDArray[np.int64]  # [q] positions in the batch
    ptr: NDArray[np.int64]  # [q+1] candidates of query i: ptr[i]:ptr[i+1]
    entity: NDArray[np.int32]  # [c]
    values: NDArray[np.float64]  # [c]

    def fill(self, dense: NDArray[np.float64]) -> None:
        """Write the scores into dense [batch, E]; other entries stay."""
        dense[np.repeat(self.queries, np.diff(self.ptr)), self.entity] = self.values


@dataclass(frozen=True, eq=False)
class Contributions:
    """The score of one answer in parts: `values` and `rest` sum to it, unless each rule was left out."""

    rule: NDArray[np.int64]  # [n] ids of the rules that reach the answer
    count: NDArray[Any]  # [n] walks
    weight: NDArray[np.float64]  # [n]
    phi: NDArray[np.float32] | None  # [n] path scores; None where all are 1
    values: NDArray[np.float64]  # [n] what each rule adds
    rest: float | None  # what the embedding adds by itself; None where it has no say
    kind: Literal["sum", "leave-one-out"] = (
        "sum"  # values: summands, or the score minus that without the rule
    )


class AnswerScorer(ABC):
    """Rules that answer queries: all that evaluation, answers and explanations need to know of them."""

    rules: RuleSet

    @abstractmethod
    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of all candidates of (head, relation, ?), some queries at a time, in any order.

        The facts (head, relation, hidden) are not looked at, in both directions, where `hidden` is given.
        """

    @abstractmethod
    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """The score of one answer in parts; the fact itself may be hidden."""

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] of all entities as answers of (head, relation, ?); -inf for those that are none."""
        scores = np.full((len(heads), graph.num_entities), -np.inf)
        for chunk in self.scored(graph, heads, relations):
            chunk.fill(scores)
        return scores


@dataclass(eq=False)
class RuleScorer(AnswerScorer):
    """Score of an answer: the sum of weight times feature over all rules that reach it; -inf if none does."""

    rules: RuleSet
    weights: NDArray[np.float64]  # [rules]
    feature: Feature = "log1p"
    threads: int | None = None
    _grounder: Grounder | None = field(default=None, init=False, repr=False)

    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of the entities that a rule reaches."""
        for chunk in self.on(graph).scores(heads, relations, self.weights, hidden, self.feature):
            yield Scored(chunk.queries, chunk.ptr, chunk.entity, chunk.values)

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """Each rule adds its weight times its feature."""
        rule, count = reaching(self.on(graph), head, relation, tail, is_hidden)
        weight = self.weights[rule]
        return Contributions(rule, count, weight, None, weight * feature_values(count, self.feature), None)

    def on(self, graph: Graph) -> Grounder:
        """The rules made ready for a graph; the last one is kept."""
        if self._grounder is None or self._grounder.graph is not graph:
            self._grounder = Grounder(graph, self.rules, self.threads)
        return self._grounder


def reaching(
    grounder: Grounder, head: int, relation: int, tail: int, is_hidden: bool
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Ids [n] of the rules that lead from head to tail, and their numbers of walks [n]."""
    for grounding in grounder.ground([head], relation, tail if is_hidden else None):
        return _at(grounding.candidates(), tail)
    return np.empty(0, np.int64), np.empty(0, np.int64)


def _at(candidates: Candidates, tail: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    place = np.searchsorted(candidates.entity, tail)
    if place == len(candidates.entity) or candidates.entity[place] != tail:
        return candidates.rule[:0], candidates.count[:0]
    part = slice(candidates.ptr[place], candidates.ptr[place + 1])
    return candidates.rule[part], candidates.count[part]
