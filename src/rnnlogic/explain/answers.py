"""Answers of (head, relation, ?) by weighted rules: the best candidates, and how probable each of them is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from rnnlogic.calibrate.level import Level
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
    probability: float  # the chance that the fact is true
    share: float  # softmax of the scores over the candidates
    is_known: bool  # whether the fact is in the evidence already

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def best_answers(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    level: Level,
    heads: ArrayLike,  # [n]
    relations: ArrayLike,  # [n] in 0..2R-1
    k: int,
    known: Known = "drop",
) -> list[list[Answer]]:
    """The k best answers of each query by score, best first; ties in the order of entity ids.

    Candidates are the entities that a rule reaches, or all if the scorer has a say on them without rules;
    `drop` leaves out answers that are in the graph already.
    """
    head, relation = np.atleast_1d(heads), np.atleast_1d(relations)
    best = {
        query: _best(graph, int(head[query]), int(relation[query]), entity, score, k, known)
        for query, entity, score in _scored(graph, scorer, head, relation)
    }
    facts = [
        (int(head[query]), int(relation[query]), entity)
        for query, found in best.items()
        for entity in found.entity.tolist()
    ]
    probability = level.probabilities(graph, scorer, np.array(facts, np.int32)).tolist()
    answers: list[list[Answer]] = [[] for _ in head]
    first = 0
    for query, found in best.items():
        last = first + len(found.entity)
        answers[query] = _named(vocab, found, probability[first:last])
        first = last
    return answers


def _scored(
    graph: Graph, scorer: AnswerScorer, heads: NDArray[np.integer], relations: NDArray[np.integer]
) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.float64]]]:
    """Position, candidates [c] and scores [c] of every query that has candidates, in any order."""
    for chunk in scorer.scored(graph, heads, relations):
        for i, query in enumerate(chunk.queries.tolist()):
            part = slice(chunk.ptr[i], chunk.ptr[i + 1])
            yield query, chunk.entity[part], chunk.values[part]


class _Best(NamedTuple):
    """The best candidates of a query."""

    entity: NDArray[np.int32]
    score: NDArray[np.float64]
    share: NDArray[np.float64]
    is_known: NDArray[np.bool_]


def _best(
    graph: Graph,
    head: int,
    relation: int,
    entity: NDArray[np.int32],
    score: NDArray[np.float64],
    k: int,
    known: Known,
) -> _Best:
    is_known = np.isin(entity, graph.neighbours(head, relation))
    kept = ~is_known if known == "drop" else np.ones(len(entity), bool)
    entity, score, is_known = entity[kept], score[kept], is_known[kept]
    best = np.lexsort((entity, -score))[:k]
    share = softmax(score) if len(score) else score
    return _Best(entity[best], score[best], share[best], is_known[best])


def _named(vocab: Vocab, best: _Best, probability: list[float]) -> list[Answer]:
    columns = (
        best.entity.tolist(),
        best.score.tolist(),
        probability,
        best.share.tolist(),
        best.is_known.tolist(),
    )
    return [
        Answer(vocab.entities[entity], vocab.entity_label(entity), score, chance, share, is_known)
        for entity, score, chance, share, is_known in zip(*columns, strict=True)
    ]
