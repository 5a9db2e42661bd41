"""Scores and places of an answer, on the evidence or on the evidence without some facts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rnnlogic.answering.answers import softmax
from rnnlogic.answering.explaining.ideas import Question
from rnnlogic.answering.explaining.reasons import Rank
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.ranks import rank_answers
from rnnlogic.grounding.paths import Fact
from rnnlogic.predictors.loglinear.scorer import AnswerScorer


def all_scores(
    graph: Graph, scorer: AnswerScorer, question: Question, is_hidden: bool = False
) -> NDArray[np.float64]:
    """Scores [E] of all entities as answers, -inf for those that are none; the fact itself may be hidden."""
    scores = np.full((1, graph.num_entities), -np.inf)
    hidden = question.tail if is_hidden else None
    for chunk in scorer.scored(graph, [question.head], question.relation, hidden):
        chunk.fill(scores)
    return np.asarray(scores[0])


def share_of(scores: NDArray[np.float64], tail: int, known: NDArray[np.int32]) -> float:
    """The softmax of an answer among all candidates, other known answers left out."""
    if scores[tail] == -np.inf:
        return 0.0
    others = scores.copy()
    others[known[known != tail]] = -np.inf
    return float(softmax(others)[tail])


def rank_of(scores: NDArray[np.float64], tail: int, known: NDArray[np.int32]) -> Rank:
    """The place of an answer, other known answers left out."""
    filtered = np.zeros(len(known), np.int64), known
    ranks = rank_answers(scores[None, :], np.array([tail]), filtered)
    return Rank(int(ranks.better[0]), int(ranks.tied[0]), int(ranks.candidates[0]))


def without(graph: Graph, facts: Iterable[Fact]) -> Graph:
    """The graph without some facts, given in the direction of the graph."""
    triples = graph.triples()
    kept = np.ones(len(triples), bool)
    for fact in facts:
        kept &= (triples != np.array(fact)).any(axis=1)
    return graph if kept.all() else Graph.from_triples(triples[kept], graph.num_entities, graph.num_relations)


def as_fact(question: Question, num_relations: int) -> Fact:
    """The fact that a question asks for, in the direction of the graph."""
    head, relation, tail = question
    return (head, relation, tail) if relation < num_relations else (tail, relation - num_relations, head)
