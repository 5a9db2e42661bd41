"""A sample of the facts that rules propose, each standing for a known number of them.

Most questions that can be asked of a graph have no missing answer. So some of the sample is drawn from all
questions, and more of it from the heads and from the tails of the edges that a relation has. How likely a
question was to be drawn is known exactly, and so is how many questions it stands for. No array here has the
size of all entities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rnnlogic.answering.calibration.probability import ProbabilityModel, Rows
from rnnlogic.answering.calibration.standing import (
    FEATURES,
    LIMIT,
    NEW,
    Values,
    new_answers,
    straight,
    two_way,
)
from rnnlogic.data.graph import Graph
from rnnlogic.predictors.base import AnswerScorer

LIKELY, OTHERS = 3.0, 1.0  # facts kept of a question: about so many by their softmax, and so many at random
ANYWHERE, BY_RELATION, BY_HEAD, BY_TAIL = SHARES = (0.25, 0.35, 0.2, 0.2)  # of the questions
LEAST = 1e-6  # a proposal counts as at least so probable when a few are chosen
Facts = NDArray[np.int32]  # [n, 3]


class Questions(NamedTuple):
    """Questions (head, relation, ?), each standing for `weight` questions."""

    head: NDArray[np.int32]  # [q]
    relation: NDArray[np.int64]  # [q] in 0..2R-1
    weight: Values  # [q]


class Proposals(NamedTuple):
    """New facts that rules propose, with their features and how many facts each stands for."""

    facts: Facts
    rows: Rows


def draw_questions(
    graph: Graph, relations: NDArray[np.integer], number: int, random: np.random.Generator
) -> Questions:
    """About so many of the questions of some relation ids (0..2R-1); all if there are no more."""
    total = len(relations) * graph.num_entities
    edges = _Edges(graph, relations)
    if total <= number or not edges.total:
        every = np.arange(total) if total <= number else random.permutation(total)[:number]
        heads = (every % graph.num_entities).astype(np.int32)
        weight = np.full(len(every), total / max(len(every), 1))
        return Questions(heads, relations[every // graph.num_entities].astype(np.int64), weight)
    numbers = [round(share * number) for share in SHARES]
    drawn = [
        (random.integers(0, graph.num_entities, numbers[0]), random.choice(relations, numbers[0])),
        (random.integers(0, graph.num_entities, numbers[1]), edges.draw(numbers[1], random, 0)[1]),
        edges.draw(numbers[2], random, 0),
        edges.draw(numbers[3], random, 1),
    ]
    keys = np.concatenate([relation.astype(np.int64) * graph.num_entities + head for head, relation in drawn])
    keys, times = np.unique(keys, return_counts=True)
    head, relation = (keys % graph.num_entities).astype(np.int32), keys // graph.num_entities
    begin, end = edges.degrees(head, relation)
    expected = numbers[0] / total + numbers[1] * edges.shares(relation) / graph.num_entities
    expected += (numbers[2] * begin + numbers[3] * end) / edges.total
    return Questions(head, relation, times / expected)


def draw_proposals(
    graph: Graph,
    scorer: AnswerScorer,
    relations: NDArray[np.integer],
    number: int,
    random: np.random.Generator,
) -> Proposals:
    """What rules propose for so many questions: facts as asked, relations in 0..2R-1, features one way."""
    asked = draw_questions(graph, relations, number, random)
    facts, features = [np.empty((0, 3), np.int32)], [np.empty((0, len(FEATURES)))]
    weights = [np.empty(0)]
    for block in new_answers(graph, scorer, asked.head, asked.relation):
        likely = expit(block.features[:, NEW]) - 1 / (1 + np.exp(LIMIT))
        chance = np.minimum(LIKELY * likely + OTHERS / block.answers, 1.0)
        kept = np.flatnonzero(random.random(len(chance)) < chance)
        question = block.question[kept]
        columns = (asked.head[question], asked.relation[question], block.entity[kept])
        facts.append(np.stack(columns, axis=1).astype(np.int32))
        features.append(block.features[kept])
        weights.append(asked.weight[question] / chance[kept])
    found = np.concatenate(facts)
    return Proposals(
        found, Rows(np.concatenate(features), found[:, 1].astype(np.int64), np.concatenate(weights))
    )


def look_twice(
    graph: Graph,
    scorer: AnswerScorer,
    proposals: Proposals,
    model: ProbabilityModel,
    number: int,
    random: np.random.Generator,
) -> Proposals:
    """About so many of the proposals, the probable ones first of all: relations < R, features both ways."""
    facts, rows = proposals
    mass = rows.weight * np.maximum(model.probabilities(rows.features, rows.relation), LEAST)
    chance = np.minimum(number * mass / max(float(mass.sum()), 1e-300), 1.0)
    kept = np.flatnonzero(random.random(len(chance)) < chance)
    found = straight(facts[kept], graph.num_relations)
    features, ways = two_way(graph, scorer, found)
    weight = rows.weight[kept] / chance[kept] / np.maximum(ways, 1)  # a fact may be drawn both ways
    return Proposals(found, Rows(features, found[:, 1].astype(np.int64), weight))


class _Edges:
    """The edges of some relation ids, to draw from without a list of them."""

    def __init__(self, graph: Graph, relations: NDArray[np.integer]) -> None:
        a = graph.arrays
        self._graph, self._relations = graph, relations
        self._first = a.row_edges[a.relation_rows[relations]]
        self._ends = np.cumsum(a.row_edges[a.relation_rows[relations + 1]] - self._first)
        self.total = int(self._ends[-1]) if len(relations) else 0

    def draw(
        self, number: int, random: np.random.Generator, end: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Heads (end 0) or tails (end 1) of random edges, and their relations."""
        a, place = self._graph.arrays, random.integers(0, self.total, number)
        which = np.searchsorted(self._ends, place, "right")
        edge = self._first[which] + place - np.where(which > 0, self._ends[which - 1], 0)
        entity = a.tails[edge] if end else a.row_head[np.searchsorted(a.row_edges, edge, "right") - 1]
        return entity.astype(np.int64), self._relations[which].astype(np.int64)

    def shares(self, relations: NDArray[np.int64]) -> Values:
        """The share of all edges that is of each of these relations [n]."""
        sizes = np.diff(self._ends, prepend=0)
        order = np.argsort(self._relations)
        place = order[np.searchsorted(self._relations, relations, sorter=order)]
        return np.asarray(sizes[place] / self.total)

    def degrees(self, heads: NDArray[np.int32], relations: NDArray[np.int64]) -> tuple[Values, Values]:
        """How many edges of its relation begin and how many end at each head [n]."""
        graph, pairs = self._graph, list(zip(heads.tolist(), relations.tolist(), strict=True))
        begin = [len(graph.neighbours(h, r)) for h, r in pairs]
        end = [len(graph.neighbours(h, graph.inverse(r))) for h, r in pairs]
        return np.array(begin, float), np.array(end, float)
