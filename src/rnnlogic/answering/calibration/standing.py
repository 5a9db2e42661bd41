"""What speaks for a fact: its standing among the answers of its question, asked both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.answering.calibration.probability import Columns
from rnnlogic.data.graph import Graph
from rnnlogic.grounding.candidates import Scored
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
    is_known = np.array([graph.has(*fact) for fact in facts.tolist()], bool)
    asked = np.stack([facts[:, 0], facts[:, 1], np.where(is_known, facts[:, 2], -1)], axis=1)
    questions, place = np.unique(asked, axis=0, return_inverse=True)
    key = place.ravel().astype(np.int64) * graph.num_entities + facts[:, 2]
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    for block in new_answers(graph, scorer, *questions.T):
        answer = block.question * graph.num_entities + block.entity
        rows = np.flatnonzero(_is_among(answer, ascending))
        features, answers = block.features(rows), block.answers[rows]
        first, last = (np.searchsorted(ascending, answer[rows], side) for side in ("left", "right"))
        for i in range(int((last - first).max(initial=0))):  # a fact may be asked for more than once
            is_asked = first + i < last
            target = order[first[is_asked] + i]
            found.features[target], found.answers[target] = features[is_asked], answers[is_asked]
    return found


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
    number = len(heads)
    question = np.repeat(np.arange(number), np.diff(chunk.ptr))
    first, last = graph.spans(heads, relations)
    last = np.where(np.diff(chunk.ptr) > 0, last, first)  # completion asks all entities
    num_known = last - first
    of_known, known_tail = graph.tails_within(first, last)
    is_kept = known_tail != hidden[of_known]
    num_known -= np.bincount(of_known[~is_kept], minlength=number)
    keys = of_known[is_kept] * graph.num_entities + known_tail[is_kept]  # ascending
    is_new = ~_is_among(question * graph.num_entities + chunk.entity, keys)
    share = np.exp(chunk.values - _most(chunk.values, chunk.ptr)[question])
    total = np.bincount(question, share, number).astype(np.float64)
    place, share = question[is_new], share[is_new]
    total_of_new = np.bincount(place, share, number).astype(np.float64)
    return NewAnswers(
        place,
        chunk.entity[is_new],
        chunk.values[is_new],
        share,
        chunk.queries,
        heads,
        num_known,
        total,
        total_of_new,
    )


def _is_among(keys: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)


def _most(values: Values, ptr: NDArray[np.int64]) -> Values:
    """The largest value of each part; 0 for empty ones."""
    largest = np.zeros(len(ptr) - 1)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(values, ptr[filled])
    return largest


def _logit(share: Values, total: NDArray[Any]) -> Values:
    """Log-odds of the probability share / total, within +-LIMIT."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(share) - np.log(np.maximum(total - share, 0.0))
    return np.asarray(np.clip(np.nan_to_num(odds, nan=-LIMIT), -LIMIT, LIMIT))
