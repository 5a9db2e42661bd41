"""What rules propose: how facts stand among the answers of their questions, and a sample of all proposals.

Most questions that can be asked of a graph have no missing answer. So more are drawn of the kinds that have
some, by the cases. How likely a question was to be drawn is known exactly, and so is how many questions it
stands for. No array here has the size of all entities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.chances import expit
from rnnlogic.calibrate.kernels import are_among, new_among, positions_of
from rnnlogic.calibrate.probability import Columns, ProbabilityModel, Rows
from rnnlogic.data.graph import Graph
from rnnlogic.features.base import ranges
from rnnlogic.features.table import Scored
from rnnlogic.predictors.base import AnswerScorer

FEATURES = (
    "score",
    "logit of the softmax over all answers",
    "logit of the softmax over new answers",
    "log(1 + known answers)",
    "is a loop",
)
SCORE, NEW, LOOP = 0, 2, 4  # places among them
LIMIT = 6.0  # largest logit
# Both ways: the features of each, which of them reach the fact, and least, most and product of their NEW.
WIDTH = 2 * len(FEATURES) + 5
# Scores have no natural limit. Loops are rare, so a true one or two would make all of them probable.
ONE_WAY = Columns((SCORE,), (LOOP,))
BOTH_WAYS = Columns((SCORE, len(FEATURES) + SCORE), (LOOP, len(FEATURES) + LOOP))

EVERY = slice(None)

Values = NDArray[np.float64]


class NewAnswers(NamedTuple):
    """Answers of some questions that the graph does not hold."""

    place: NDArray[np.int64]  # [n] the question, among those of the block
    entity: NDArray[np.int32]  # [n]
    score: Values  # [n]
    share: Values  # [n] exp(score), times a number of its question
    questions: NDArray[np.int64]  # [q] positions in the batch
    heads: NDArray[np.int32]  # [q]
    known: NDArray[np.int64]  # [q] answers that the graph holds
    total: Values  # [q] sum of the shares of all answers
    total_of_new: Values  # [q] and of the new ones

    def __len__(self) -> int:
        return len(self.place)

    @property
    def question(self) -> NDArray[np.int64]:
        """The question of each answer [n]: its position in the batch."""
        return self.questions[self.place]

    @property
    def answers(self) -> NDArray[np.int64]:
        """How many new answers the question of each has [n]."""
        return np.bincount(self.place, minlength=len(self.questions))[self.place]

    def find(self, place: NDArray[np.int64], entities: NDArray[np.integer]) -> NDArray[np.int64]:
        """Where answers [m] of questions, by their place in the block, are among all; -1 if they are not."""
        ptr = np.searchsorted(self.place, np.arange(len(self.questions) + 1))
        return positions_of(ptr, self.entity, place, entities.astype(np.int32))

    @property
    def likely(self) -> Values:
        """The softmax over the new answers of a question [n]."""
        return self.share / self.total_of_new[self.place]

    def features(self, rows: NDArray[Any] | slice = EVERY) -> Values:
        """Features [n, FEATURES] of all answers, or of some."""
        place, share = self.place[rows], self.share[rows]
        columns = (
            self.score[rows],
            _logit(share, self.total[place]),
            _logit(share, self.total_of_new[place]),
            np.log1p(self.known)[place],
            self.heads[place] == self.entity[rows],
        )
        return np.stack(columns, axis=1)


class Standing(NamedTuple):
    """What speaks for facts, asked one way; zeros for those that no rule reaches."""

    features: Values  # [n, FEATURES]
    answers: NDArray[np.int64]  # [n] new answers of the question

    @property
    def is_reached(self) -> NDArray[np.bool_]:
        """Which facts are reached [n]."""
        return self.answers > 0


def chosen(mask: NDArray[np.bool_], first: Standing, second: Standing) -> Standing:
    """Of each fact [n] the first standing where the mask says so, else the second."""
    features = np.where(mask[:, None], first.features, second.features)
    return Standing(features, np.where(mask, first.answers, second.answers))


def new_answers(
    graph: Graph,
    scorer: AnswerScorer,
    heads: ArrayLike,
    relations: ArrayLike,
    hidden: ArrayLike | None = None,  # answers whose facts are taken out of the graph; -1 for none
) -> Iterator[NewAnswers]:
    """All new answers of (head, relation, ?), some questions at a time."""
    head = np.atleast_1d(np.asarray(heads, np.int32))
    relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
    answer = np.broadcast_to(np.asarray(-1 if hidden is None else hidden, np.int32), head.shape)
    for chunk in scorer.scored(graph, head, relation, answer):
        rows = chunk.queries
        yield _new_answers(graph, head[rows], relation[rows], answer[rows], chunk)


def one_way(graph: Graph, scorer: AnswerScorer, facts: NDArray[np.integer]) -> Standing:
    """Facts [n, 3] by (head, relation, ?), relation in 0..2R-1.

    A fact of the graph is hidden while its question is asked.
    """
    found = Standing(np.zeros((len(facts), len(FEATURES))), np.zeros(len(facts), np.int64))
    if not len(facts):
        return found
    asked = np.stack([facts[:, 0], facts[:, 1], np.where(are_known(graph, facts), facts[:, 2], -1)], axis=1)
    questions, place = np.unique(asked, axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")
    ptr = np.searchsorted(place.ravel()[order], np.arange(len(questions) + 1))
    for block in new_answers(graph, scorer, *questions.T):
        of_question, places = ranges(ptr[block.questions], ptr[block.questions + 1])
        own = order[places]
        where = block.find(of_question, facts[own, 2])
        own, where = own[where >= 0], where[where >= 0]
        found.features[own], found.answers[own] = block.features(where), block.answers[where]
    return found


def are_known(graph: Graph, facts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which facts [n, 3], relations in 0..2R-1, the graph holds."""
    spans = graph.spans(facts[:, 0], facts[:, 1])
    return are_among(graph.arrays.tails, *spans, facts[:, 2].astype(np.int32))


def two_way(
    graph: Graph, scorer: AnswerScorer, facts: NDArray[np.integer]
) -> tuple[Values, NDArray[np.int64]]:
    """Features [n, WIDTH] of facts, relation < R, by both questions, and how many of them reach each [n]."""
    back = turned(facts, graph.num_relations)
    return together(one_way(graph, scorer, facts), one_way(graph, scorer, back))


def together(there: Standing, back: Standing) -> tuple[Values, NDArray[np.int64]]:
    """Features [n, WIDTH] by both questions, and how many of them reach each [n]."""
    first, second = there.features[:, NEW], back.features[:, NEW]
    product = (first + LIMIT) * (second + LIMIT) / (4 * LIMIT)  # 0 if either way says no
    both = np.stack([np.minimum(first, second), np.maximum(first, second), product], axis=1)
    both *= (there.is_reached & back.is_reached)[:, None]
    marks = np.stack([there.is_reached, back.is_reached], axis=1)
    return np.concatenate([there.features, back.features, marks, both], axis=1), marks.sum(axis=1)


def turned(facts: NDArray[np.integer], num_relations: int) -> NDArray[np.int32]:
    """The same facts the other way round, relations in 0..2R-1."""
    head, relation, tail = facts.T
    back = np.where(relation >= num_relations, relation - num_relations, relation + num_relations)
    return np.stack([tail, back, head], axis=1).astype(np.int32)


def straight(facts: NDArray[np.integer], num_relations: int) -> NDArray[np.int32]:
    """Facts with relations in 0..2R-1 the way round that the graph has them."""
    is_inverse = facts[:, 1] >= num_relations
    return np.where(is_inverse[:, None], turned(facts, num_relations), facts).astype(np.int32)


def _new_answers(
    graph: Graph,
    heads: NDArray[np.int32],  # [q]
    relations: NDArray[np.int64],
    hidden: NDArray[np.int32],
    chunk: Scored,
) -> NewAnswers:
    first, last = graph.spans(heads, relations)
    last = np.where(np.diff(chunk.ptr) > 0, last, first)  # completion asks all entities
    tails = graph.arrays.tails
    position, place, *shares = new_among(chunk.ptr, chunk.entity, chunk.values, tails, first, last, hidden)
    num_known = last - first - are_among(tails, first, last, hidden)
    entity, values = chunk.entity[position], chunk.values[position]
    return NewAnswers(place, entity, values, shares[0], chunk.queries, heads, num_known, *shares[1:])


def _logit(share: Values, total: NDArray[Any]) -> Values:
    """Log-odds of the probability share / total, within +-LIMIT."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(share) - np.log(np.maximum(total - share, 0.0))
    return np.asarray(np.clip(np.nan_to_num(odds, nan=-LIMIT), -LIMIT, LIMIT))


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
