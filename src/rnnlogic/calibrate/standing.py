"""What speaks for a fact: its standing among the answers of its question, asked both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.calibrate.kernels import are_among, new_among, positions_of
from rnnlogic.calibrate.probability import Columns
from rnnlogic.data.graph import Graph
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
        number = np.diff(ptr)[block.questions]  # of facts asked for
        of_question = np.repeat(np.arange(len(number)), number)
        nth = np.arange(len(of_question)) - (np.cumsum(number) - number)[of_question]
        own = order[ptr[block.questions][of_question] + nth]
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
    return together(*each_way(graph, scorer, facts))


def each_way(graph: Graph, scorer: AnswerScorer, facts: NDArray[np.integer]) -> tuple[Standing, Standing]:
    """Facts, relation < R, by (head, relation, ?) and by (tail, relation^-1, ?)."""
    return one_way(graph, scorer, facts), one_way(graph, scorer, turned(facts, graph.num_relations))


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
