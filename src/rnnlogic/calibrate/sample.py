"""A sample of the facts that rules propose, each standing for a known number of them.

Most questions that can be asked of a graph have no missing answer. So more are drawn of the kinds that have
some, by the cases. How likely a question was to be drawn is known exactly, and so is how many questions it
stands for. No array here has the size of all entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.chances import expit
from rnnlogic.calibrate.probability import ProbabilityModel, Rows
from rnnlogic.calibrate.standing import (
    FEATURES,
    NEW,
    Standing,
    Values,
    are_known,
    chosen,
    new_answers,
    one_way,
    straight,
    together,
    turned,
)
from rnnlogic.data.graph import Graph
from rnnlogic.predictors.base import AnswerScorer

LIKELY, OTHERS = 3.0, 1.0  # facts kept of a question: about so many by their softmax, and so many at random
DEGREES = np.array([1, 2, 4, 8])  # edges at a head: where another kind begins
KINDS = (len(DEGREES) + 1) ** 2
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
    answers: NDArray[np.int64]  # [n] new answers of the question that proposed it


@dataclass(frozen=True, eq=False)
class Design:
    """How many questions of each kind are drawn.

    A kind is a relation and about how many edges of it begin and end at the head. Of N questions with T true
    answers, sqrt(N * T) is the best number to draw: the estimates of all kinds together vary least.
    """

    graph: Graph
    relations: NDArray[np.integer]  # ids in 0..2R-1
    kinds: NDArray[np.int64]  # [relations, KINDS] how many questions there are
    drawn: Values  # [relations, KINDS] how many are drawn, in the mean

    @staticmethod
    def of(graph: Graph, relations: NDArray[np.integer], number: int, cases: Facts) -> Design:
        """About so many questions, all if there are no more; by facts [n, 3] that look like missing ones."""
        kinds = np.array([_sizes(graph, int(r)) for r in relations], np.int64).reshape(-1, KINDS)
        true = np.ones(kinds.shape)
        for facts in (cases, turned(cases, graph.num_relations)):
            place = _places(relations, facts[:, 1])
            facts, place = facts[place >= 0], place[place >= 0]
            begin, end = _degrees(graph, facts[:, 0], facts[:, 1])
            begin -= are_known(graph, facts)  # hidden when asked
            np.add.at(true, (place, _kinds(begin, end)), 1.0)
        return Design(graph, relations, kinds, _shared_out(number, np.sqrt(kinds * true), kinds))

    def draw(self, random: np.random.Generator) -> Questions:
        """Some questions."""
        heads, relations = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for place, relation in enumerate(self.relations.tolist()):
            numbers = np.floor(self.drawn[place] + random.random(KINDS)).astype(np.int64)
            numbers = np.minimum(numbers, self.kinds[place])
            if numbers.any():
                heads.append(_draw(self.graph, relation, numbers, random))
                relations.append(np.full(len(heads[-1]), relation))
        head, relation = np.concatenate(heads), np.concatenate(relations)
        return Questions(head, relation, 1 / self.expected(head, relation))

    def expected(self, head: NDArray[np.int32], relation: NDArray[np.int64]) -> Values:
        """How often questions [n] are drawn in the mean; 0 for other relations."""
        place, result = _places(self.relations, relation), np.zeros(len(head))
        is_asked = place >= 0
        head, relation, place = head[is_asked], relation[is_asked], place[is_asked]
        kind = _kinds(*_degrees(self.graph, head, relation))
        result[is_asked] = self.drawn[place, kind] / self.kinds[place, kind]
        return result


def draw_proposals(scorer: AnswerScorer, design: Design, random: np.random.Generator) -> Proposals:
    """What rules propose for some questions: facts as asked, relations in 0..2R-1, features one way."""
    asked = design.draw(random)
    facts, features = [np.empty((0, 3), np.int32)], [np.empty((0, len(FEATURES)))]
    weights, answers = [np.empty(0)], [np.empty(0, np.int64)]
    for block in new_answers(design.graph, scorer, asked.head, asked.relation):
        number = block.answers
        chance = _chance(block.likely, number)
        kept = np.flatnonzero(random.random(len(chance)) < chance)
        question = block.question[kept]
        columns = (asked.head[question], asked.relation[question], block.entity[kept])
        facts.append(np.stack(columns, axis=1).astype(np.int32))
        features.append(block.features(kept))
        weights.append(asked.weight[question] / chance[kept])
        answers.append(number[kept])
    found = np.concatenate(facts)
    rows = Rows(np.concatenate(features), found[:, 1].astype(np.int64), np.concatenate(weights))
    return Proposals(found, rows, np.concatenate(answers))


def look_twice(
    scorer: AnswerScorer,
    design: Design,
    proposals: Proposals,
    model: ProbabilityModel,
    number: int,
    random: np.random.Generator,
) -> Proposals:
    """About so many of the proposals, the probable ones first of all: relations < R, features both ways.

    A fact may be drawn by either of its questions; each counts by how often it does so. So a fact that one
    question hardly proposes does not stand for many where the other one does.
    """
    facts, rows, answers = proposals
    mass = rows.weight * np.maximum(model.probabilities(rows.features, rows.relation), LEAST)
    rate = number / max(float(mass.sum()), 1e-300)
    kept = np.flatnonzero(random.random(len(mass)) < rate * mass)
    graph, asked = design.graph, facts[kept]
    found = straight(asked, graph.num_relations)
    own = Standing(rows.features[kept], answers[kept])  # was asked before: nothing is hidden of a new fact
    other = one_way(graph, scorer, turned(asked, graph.num_relations))
    is_straight = asked[:, 1] < graph.num_relations
    ways = chosen(is_straight, own, other), chosen(is_straight, other, own)
    expected = [
        _expected(design, way, standing, model, rate)
        for way, standing in zip((found, turned(found, graph.num_relations)), ways, strict=True)
    ]
    part = np.where(is_straight, *expected) / np.maximum(sum(expected), 1e-300)
    weight = rows.weight[kept] / np.minimum(rate * mass[kept], 1.0) * part
    both = Rows(together(*ways)[0], found[:, 1].astype(np.int64), weight)
    return Proposals(found, both, answers[kept])


def _chance(likely: Values, answers: NDArray[np.int64]) -> Values:
    """The chance of an answer to be kept, by the softmax over new answers [n] and their number [n]."""
    return np.minimum(LIKELY * likely + OTHERS / np.maximum(answers, 1), 1.0)


def _expected(
    design: Design, facts: Facts, standing: Standing, model: ProbabilityModel, rate: float
) -> Values:
    """How often facts [n, 3] are drawn by their questions (head, relation, ?) in the mean."""
    relation = facts[:, 1].astype(np.int64)
    probability = np.maximum(model.probabilities(standing.features, relation), LEAST)
    chance = _chance(expit(standing.features[:, NEW]), standing.answers)
    once = design.expected(facts[:, 0], relation) * chance
    return np.where(standing.is_reached, np.minimum(once, rate * probability), 0.0)


def _places(relations: NDArray[np.integer], wanted: NDArray[np.integer]) -> NDArray[np.int64]:
    """The place of each relation [n] among the relations, which ascend; -1 for others."""
    place = np.searchsorted(relations, wanted)
    is_there = place < len(relations)
    is_there[is_there] = relations[place[is_there]] == wanted[is_there]
    return np.where(is_there, place, -1)


def _degrees(
    graph: Graph, heads: NDArray[np.integer], relations: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many edges of its relation begin and how many end at each head [n]."""
    number = graph.num_relations
    inverse = np.where(relations < number, relations + number, relations - number)
    spans = graph.spans(heads, relations), graph.spans(heads, inverse)
    begin, end = (last - first for first, last in spans)
    return begin, end


def _kinds(begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Kinds of questions [n] by how many edges begin and end at the head: 0, 1, 2 or 3, up to 7, more."""
    few = [np.searchsorted(DEGREES, number, "right") for number in (begin, end)]
    return few[0] * (len(DEGREES) + 1) + few[1]


def _heads(graph: Graph, relation: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The heads at which edges of a relation begin or end, ascending, and the kinds of their questions."""
    a, sides = graph.arrays, []
    for one in (relation, graph.inverse(relation)):
        rows = slice(a.relation_rows[one], a.relation_rows[one + 1])
        sides.append((a.row_head[rows], np.diff(a.row_edges[rows.start : rows.stop + 1])))
    heads = np.union1d(sides[0][0], sides[1][0])
    degrees = np.zeros((2, len(heads)), np.int64)
    for degree, (some, number) in zip(degrees, sides, strict=True):
        degree[np.searchsorted(heads, some)] = number
    return heads, _kinds(*degrees)


def _sizes(graph: Graph, relation: int) -> NDArray[np.int64]:
    """How many questions of a relation there are of each kind."""
    heads, kinds = _heads(graph, relation)
    sizes = np.bincount(kinds, minlength=KINDS)
    sizes[0] += graph.num_entities - len(heads)
    return sizes


def _draw(
    graph: Graph, relation: int, numbers: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int32]:
    """So many heads of each kind, all different."""
    heads, kinds = _heads(graph, relation)
    found = [random.choice(heads[kinds == k], numbers[k], False) for k in range(1, KINDS) if numbers[k]]
    others = graph.num_entities - len(heads)  # of kind 0: numbered without a list of them
    picked = np.sort(random.choice(others, numbers[0], False))
    skipped = heads - np.arange(len(heads))  # how many others come before each head
    found.append(picked + np.searchsorted(skipped, picked, "right"))
    return np.concatenate(found).astype(np.int32)


def _shared_out(number: int, worth: Values, most: NDArray[np.int64]) -> Values:
    """Numbers in proportion to their worth, none larger than `most`, with a given sum if that can be."""
    found = np.zeros(worth.shape)
    for _ in range(most.size):
        is_open = (found < most) & (worth > 0)
        left = number - found.sum()
        if left < 1e-9 * number or not is_open.any():
            break
        found = np.minimum(found + is_open * worth * (left / worth[is_open].sum()), most)
    return found
