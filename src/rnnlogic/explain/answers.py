"""Answers of (head, relation, ?) by weighted rules: the best candidates, and how probable each of them is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.chances import softmax
from rnnlogic.calibrate.level import Level
from rnnlogic.constraints.constraints import Constraints
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.render.tables import Listed

Known = Literal["drop", "keep"]
POOL = 20  # best candidates by score, or as many as are listed, that probabilities put in order
NOTHING: Mapping[tuple[int, int], Sequence[int]] = {}


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


class Wanted(NamedTuple):
    """Which answers are listed."""

    k: int  # of each query, at most
    known: Known = "drop"
    rejected: Mapping[tuple[int, int], Sequence[int]] = NOTHING  # by query: entities that are no answers
    constraints: Constraints | None = None  # answers that break one are left out


def best_answers(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    level: Level,
    heads: ArrayLike,  # [n]
    relations: ArrayLike,  # [n] in 0..2R-1
    wanted: Wanted,
) -> list[Listed[Answer]]:
    """The best answers of each query, the most probable first; ties by score, then by entity ids.

    They are chosen by score, at least `POOL` of them, before probabilities order them. Candidates are the
    entities that a rule reaches, or all if the scorer has a say on them without rules. `drop` leaves out
    answers that are in the graph already. Answers that break a constraint are left out and counted.
    """
    head, relation = np.atleast_1d(heads), np.atleast_1d(relations)
    best = {
        query: _best(graph, (int(head[query]), int(relation[query])), entity, score, wanted)
        for query, entity, score in _scored(graph, scorer, head, relation)
    }
    facts = [
        (int(head[query]), int(relation[query]), entity)
        for query, found in best.items()
        for entity in found.entity.tolist()
    ]
    probability = level.probabilities(graph, scorer, np.array(facts, np.int32)).tolist()
    answers: list[Listed[Answer]] = [Listed() for _ in head]
    first = 0
    for query, found in best.items():
        last = first + len(found.entity)
        answers[query] = Listed(_named(vocab, *found.ordered(np.array(probability[first:last]), wanted.k)))
        answers[query].left_out = found.left_out
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


def by_probability(
    probability: NDArray[np.float64], score: NDArray[np.float64], entity: NDArray[np.integer]
) -> NDArray[np.int64]:
    """The order of answers [n]: the most probable first, then by score, then by id."""
    return np.lexsort((entity, -score, -probability))


def best_by_score(score: NDArray[np.float64], entity: NDArray[np.integer], most: int) -> NDArray[np.int64]:
    """Places of the best candidates, those of which probabilities decide among them."""
    return np.lexsort((entity, -score))[: max(most, POOL)]


class _Best(NamedTuple):
    """The best candidates of a query."""

    entity: NDArray[np.int32]
    score: NDArray[np.float64]
    share: NDArray[np.float64]
    is_known: NDArray[np.bool_]
    left_out: Mapping[str, int]  # that break constraints, by kind

    def ordered(self, probability: NDArray[np.float64], k: int) -> tuple[_Best, list[float]]:
        """The k best by probability, and their probabilities."""
        order = by_probability(probability, self.score, self.entity)[:k]
        best = self.entity[order], self.score[order], self.share[order], self.is_known[order]
        return _Best(*best, self.left_out), probability[order].tolist()


def _best(
    graph: Graph,
    query: tuple[int, int],
    entity: NDArray[np.int32],
    score: NDArray[np.float64],
    wanted: Wanted,
) -> _Best:
    k, known, rejected, constraints = wanted
    is_known = np.isin(entity, graph.neighbours(*query))
    kept = ~is_known if known == "drop" else np.ones(len(entity), bool)
    if query in rejected:
        kept &= ~np.isin(entity, rejected[query])
    left_out: Mapping[str, int] = {}
    if constraints is not None:
        codes = constraints.broken_by(*query, entity)
        left_out = constraints.left_out(codes[kept])
        kept &= codes == 0
    entity, score, is_known = entity[kept], score[kept], is_known[kept]
    best = best_by_score(score, entity, k)
    share = softmax(score) if len(score) else score
    return _Best(entity[best], score[best], share[best], is_known[best], left_out)


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
