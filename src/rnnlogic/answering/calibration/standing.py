"""What speaks for a fact: its standing among the answers of its question, asked both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
SCORE, NEW = 0, 2  # places among them
LIMIT = 6.0  # largest logit
# Both ways: the features of each, which of them reach the fact, and least, most and product of their NEW.
WIDTH = 2 * len(FEATURES) + 5
SCORES = (SCORE, len(FEATURES) + SCORE)  # places of the scores among them

Values = NDArray[np.float64]


class NewAnswers(NamedTuple):
    """Answers of some questions that the graph does not hold."""

    question: NDArray[np.int64]  # [n] position in the batch
    entity: NDArray[np.int32]  # [n]
    features: Values  # [n, FEATURES]
    answers: NDArray[np.int64]  # [n] new answers of the question

    def __len__(self) -> int:
        return len(self.question)


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


def one_way(
    graph: Graph, scorer: AnswerScorer, facts: NDArray[np.integer]
) -> tuple[Values, NDArray[np.bool_]]:
    """Features [n, FEATURES] of facts by (head, relation, ?), relation in 0..2R-1, and which are reached [n].

    A fact of the graph is hidden while its question is asked. Facts that no rule reaches have zeros.
    """
    features, is_reached = np.zeros((len(facts), len(FEATURES))), np.zeros(len(facts), bool)
    if not len(facts):
        return features, is_reached
    is_known = np.array([graph.has(*fact) for fact in facts.tolist()], bool)
    asked = np.stack([facts[:, 0], facts[:, 1], np.where(is_known, facts[:, 2], -1)], axis=1)
    questions, place = np.unique(asked, axis=0, return_inverse=True)
    key = place.ravel().astype(np.int64) * graph.num_entities + facts[:, 2]
    order = np.argsort(key, kind="stable")
    for block in new_answers(graph, scorer, *questions.T):
        found = block.question * graph.num_entities + block.entity
        first, last = (np.searchsorted(key, found, side, sorter=order) for side in ("left", "right"))
        for i in range(int((last - first).max(initial=0))):  # a fact may be asked for more than once
            is_asked = first + i < last
            target = order[first[is_asked] + i]
            features[target], is_reached[target] = block.features[is_asked], True
    return features, is_reached


def two_way(
    graph: Graph, scorer: AnswerScorer, facts: NDArray[np.integer]
) -> tuple[Values, NDArray[np.int64]]:
    """Features [n, WIDTH] of facts, relation < R, by both questions, and how many of them reach each [n]."""
    there, is_reached = one_way(graph, scorer, facts)
    back, is_reached_back = one_way(graph, scorer, turned(facts, graph.num_relations))
    first, second = there[:, NEW], back[:, NEW]
    together = np.stack(
        [np.minimum(first, second), np.maximum(first, second), first * second / LIMIT], axis=1
    )
    together *= (is_reached & is_reached_back)[:, None]
    marks = np.stack([is_reached, is_reached_back], axis=1)
    return np.concatenate([there, back, marks, together], axis=1), marks.sum(axis=1)


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
    asked = zip(heads.tolist(), relations.tolist(), np.diff(chunk.ptr).tolist(), strict=True)
    none = np.empty(0, np.int32)  # for questions without candidates: completion asks all entities
    known = [graph.neighbours(h, r) if found else none for h, r, found in asked]
    num_known = np.array([len(answers) for answers in known], np.int64)
    of_known = np.repeat(np.arange(number), num_known)
    known_tail = np.concatenate([*known, none])
    is_kept = known_tail != hidden[of_known]
    num_known -= np.bincount(of_known[~is_kept], minlength=number)
    keys = of_known[is_kept] * graph.num_entities + known_tail[is_kept]  # ascending
    is_new = ~_is_among(question * graph.num_entities + chunk.entity, keys)
    share = np.exp(chunk.values - _most(chunk.values, chunk.ptr)[question])
    everything = np.bincount(question, share, number)
    share, question, entity = share[is_new], question[is_new], chunk.entity[is_new]
    new = np.bincount(question, share, number)
    columns = (
        chunk.values[is_new],
        _logit(share, everything[question]),
        _logit(share, new[question]),
        np.log1p(num_known)[question],
        heads[question] == entity,
    )
    answers = np.bincount(question, minlength=number)
    return NewAnswers(chunk.queries[question], entity, np.stack(columns, axis=1), answers[question])


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
