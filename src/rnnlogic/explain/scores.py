"""Scores and places of an answer, on the evidence or on the evidence without some facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.chances import softmax
from rnnlogic.data.graph import Graph, GraphArrays
from rnnlogic.evaluation.ranks import rank_answers
from rnnlogic.explain.ideas import Question
from rnnlogic.explain.reasons import Rank
from rnnlogic.features.chains.paths import Fact
from rnnlogic.predictors.base import AnswerScorer

Places = TypeVar("Places", NDArray[np.int32], NDArray[np.int64])


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
    """The graph without some facts, given in the direction of the graph; nothing is sorted anew."""
    out = np.array(sorted({edge for fact in facts for edge in _edges(graph, fact)}), np.int64)
    if not len(out):
        return graph
    old = graph.arrays
    row_edges = _moved(old.row_edges, out)
    kept = np.diff(row_edges) > 0  # rows that still have edges
    arrays = GraphArrays(
        relation_rows=np.append(0, np.cumsum(kept))[old.relation_rows],
        row_head=old.row_head[kept],
        row_edges=np.append(row_edges[:-1][kept], row_edges[-1]),
        tails=np.delete(old.tails, out),
        direct=_moved(old.direct, out),
    )
    for array in arrays:
        array.setflags(write=False)
    weights = None if graph.weights is None else np.delete(graph.weights, out)
    fewer = replace(graph, arrays=arrays, weights=weights)
    if "linked_alike" in vars(graph):  # fewer relations join a pair: the old ones are more than needed
        vars(fewer)["linked_alike"] = graph.linked_alike
    return fewer


def _moved(places: Places, out: NDArray[np.int64]) -> Places:
    """Places among edges, ascending, once the edges `out` are gone."""
    moved = places.copy()
    flat = moved.reshape(-1)
    starts: list[int] = np.searchsorted(flat, out, side="right").tolist()
    for number, start, end in zip(range(1, len(out) + 1), starts, [*starts[1:], len(flat)], strict=True):
        flat[start:end] -= number
    return moved


def _edges(graph: Graph, fact: Fact) -> Iterator[int]:
    """Where a fact and its inverse are among the edges of a graph; nothing if it does not hold the fact."""
    head, relation, tail = fact
    if graph.has(*fact):
        yield _edge(graph, head, relation, tail)
        yield _edge(graph, tail, graph.inverse(relation), head)


def _edge(graph: Graph, head: int, relation: int, tail: int) -> int:
    a = graph.arrays
    low, high = a.relation_rows[relation], a.relation_rows[relation + 1]
    row = low + np.searchsorted(a.row_head[low:high], head)
    return int(a.row_edges[row] + np.searchsorted(graph.neighbours(head, relation), tail))


def as_fact(question: Question, num_relations: int) -> Fact:
    """The fact that a question asks for, in the direction of the graph."""
    head, relation, tail = question
    return (head, relation, tail) if relation < num_relations else (tail, relation - num_relations, head)
