"""Answers of (head, relation, ?) by weighted rules: the best candidates with scores and probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.predictors.base import AnswerScorer

Known = Literal["drop", "keep"]


@dataclass(frozen=True)
class Answer:
    """A candidate, and how strongly it is believed."""

    entity: str
    label: str
    score: float
    probability: float  # softmax of the scores over the candidates
    is_known: bool  # whether the fact is in the evidence already

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def best_answers(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    heads: ArrayLike,  # [n]
    relations: ArrayLike,  # [n] in 0..2R-1
    k: int,
    known: Known = "drop",
) -> list[list[Answer]]:
    """The k best answers of each query, best first; ties in the order of entity ids.

    Candidates are the entities that a rule reaches, or all if the scorer has a say on them without rules;
    `drop` leaves out answers that are in the graph already.
    """
    head, relation = np.atleast_1d(heads), np.atleast_1d(relations)
    answers: list[list[Answer]] = [[] for _ in head]
    for query, entity, score in _scored(graph, scorer, head, relation):
        is_known = np.isin(entity, graph.neighbours(int(head[query]), int(relation[query])))
        kept = ~is_known if known == "drop" else np.ones(len(entity), bool)
        answers[query] = _best(vocab, entity[kept], score[kept], is_known[kept], k)
    return answers


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities [n] of scores [n]."""
    weights = np.exp(scores - scores.max(initial=-np.inf))
    return np.asarray(weights / weights.sum()) if len(weights) else weights


def _scored(
    graph: Graph, scorer: AnswerScorer, heads: NDArray[np.integer], relations: NDArray[np.integer]
) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.float64]]]:
    """Position, candidates [c] and scores [c] of every query that has candidates, in any order."""
    for chunk in scorer.scored(graph, heads, relations):
        for i, query in enumerate(chunk.queries.tolist()):
            part = slice(chunk.ptr[i], chunk.ptr[i + 1])
            yield query, chunk.entity[part], chunk.values[part]


def _best(
    vocab: Vocab,
    entities: NDArray[np.int32],
    scores: NDArray[np.float64],
    is_known: NDArray[np.bool_],
    k: int,
) -> list[Answer]:
    probabilities = softmax(scores)
    best = np.lexsort((entities, -scores))[:k]
    return [
        Answer(
            vocab.entities[entities[i]],
            vocab.entity_label(int(entities[i])),
            float(scores[i]),
            float(probabilities[i]),
            bool(is_known[i]),
        )
        for i in best
    ]
