"""Facts that rules propose, and what speaks for each: its standing among the answers of its question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Candidates(NamedTuple):
    """New answers of questions (head, relation, ?) of one relation."""

    head: NDArray[np.int32]  # [n]
    tail: NDArray[np.int32]  # [n]
    features: NDArray[np.float64]  # [n, FEATURES]
    answers: NDArray[np.int64]  # [n] new answers of the question

    def __len__(self) -> int:
        return len(self.head)


def candidates(
    graph: Graph, scorer: AnswerScorer, relation: int, heads: NDArray[np.int32]
) -> Iterator[Candidates]:
    """All answers of (head, relation, ?) that the graph does not hold yet, some questions at a time."""
    for chunk in scorer.scored(graph, heads, relation):
        yield _new_answers(graph, relation, heads[chunk.queries], chunk)


def features_of(
    graph: Graph,
    scorer: AnswerScorer,
    heads: NDArray[np.int32],
    relation: int,
    tails: NDArray[np.int32],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Features [n, FEATURES] of new facts relation(heads, tails), zeros if not reached; which are [n]."""
    features, is_reached = np.zeros((len(heads), len(FEATURES))), np.zeros(len(heads), bool)
    key = heads.astype(np.int64) * graph.num_entities + tails
    order = np.argsort(key)
    for block in candidates(graph, scorer, relation, np.unique(heads)):
        found = block.head.astype(np.int64) * graph.num_entities + block.tail
        first, last = (np.searchsorted(key, found, side, sorter=order) for side in ("left", "right"))
        for place in range(int((last - first).max(initial=0))):  # a fact may be asked for more than once
            is_asked = first + place < last
            target = order[first[is_asked] + place]
            features[target], is_reached[target] = block.features[is_asked], True
    return features, is_reached


def _new_answers(graph: Graph, relation: int, heads: NDArray[np.int32], chunk: Scored) -> Candidates:
    """Candidates of the questions heads [q] that are no facts yet."""
    sizes = np.diff(chunk.ptr)
    question = np.repeat(np.arange(len(heads)), sizes)
    known = [graph.neighbours(int(head), relation) for head in heads]
    num_known = np.array([len(answers) for answers in known])
    is_known = np.zeros((len(heads), graph.num_entities), bool)
    is_known[np.repeat(np.arange(len(heads)), num_known), np.concatenate(known)] = True
    is_new = ~is_known[question, chunk.entity]
    top = _most(chunk.values, chunk.ptr)
    share = np.exp(chunk.values - top[question])
    everything = np.bincount(question, share, len(heads))
    share, question, tail = share[is_new], question[is_new], chunk.entity[is_new]
    new = np.bincount(question, share, len(heads))
    head = heads[question]
    columns = (
        chunk.values[is_new],
        _logit(share, everything[question]),
        _logit(share, new[question]),
        np.log1p(num_known)[question],
        head == tail,
    )
    answers = np.bincount(question, minlength=len(heads))
    return Candidates(head, tail, np.stack(columns, axis=1), answers[question])


def _most(values: NDArray[np.float64], ptr: NDArray[np.int64]) -> NDArray[np.float64]:
    """The largest value of each part; 0 for empty ones."""
    largest = np.zeros(len(ptr) - 1)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(values, ptr[filled])
    return largest


def _logit(share: NDArray[np.float64], total: NDArray[Any]) -> NDArray[np.float64]:
    """Log-odds of the probability share / total, within +-LIMIT."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(share) - np.log(np.maximum(total - share, 0.0))
    return np.asarray(np.clip(np.nan_to_num(odds, nan=-LIMIT), -LIMIT, LIMIT))
