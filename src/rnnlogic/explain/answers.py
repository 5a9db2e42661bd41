"""Answers of (head, relation, ?) by weighted rules: the best candidates, and how probable each of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """A candidate, and how strongly it is believed.

    Attributes:
        entity: Its name in the data.
        label: What people see.
        score: What the predictor gives it.
        probability: The chance that the fact is true.
        share: The softmax of the scores over the candidates.
        is_known: Whether the fact is in the evidence already.
    """

    entity: str
    label: str
    score: float
    probability: float
    share: float
    is_known: bool

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
    best = dict[int, _Best]()
    for chunk in scorer.scored(graph, head, relation):
        for i, query in enumerate(chunk.queries.tolist()):
            part, asked = slice(chunk.ptr[i], chunk.ptr[i + 1]), (int(head[query]), int(relation[query]))
            best[query] = _best(graph, asked, chunk.entity[part], chunk.values[part], wanted)
    facts = [
        (int(head[query]), int(relation[query]), entity)
        for query, found in best.items()
        for entity in found.entity.tolist()
    ]
    probability = level.probabilities(graph, scorer, np.array(facts, np.int32))
    answers, first = [Listed[Answer]() for _ in head], 0
    for query, found in best.items():
        last = first + len(found.entity)
        answers[query] = found.listed(vocab, probability[first:last], wanted.k)
        first = last
    return answers


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

    def listed(self, vocab: Vocab, probability: NDArray[np.float64], k: int) -> Listed[Answer]:
        """The k most probable, then by score, then by id."""
        order = np.lexsort((self.entity, -self.score, -probability))[:k]
        columns = self.entity, self.score, probability, self.share, self.is_known
        rows = zip(*(column[order].tolist() for column in columns), strict=True)
        found = Listed(Answer(vocab.entities[one], vocab.entity_label(one), *rest) for one, *rest in rows)
        found.left_out = self.left_out
        return found


def _best(
    graph: Graph,
    query: tuple[int, int],
    entity: NDArray[np.int32],
    score: NDArray[np.float64],
    wanted: Wanted,
) -> _Best:
    is_known = np.isin(entity, graph.neighbours(*query))
    kept = ~is_known if wanted.known == "drop" else np.ones(len(entity), bool)
    if query in wanted.rejected:
        kept &= ~np.isin(entity, wanted.rejected[query])
    left_out: Mapping[str, int] = {}
    if wanted.constraints is not None:
        codes = wanted.constraints.broken_by(*query, entity)
        left_out = wanted.constraints.left_out(codes[kept])
        kept &= codes == 0
    entity, score, is_known = entity[kept], score[kept], is_known[kept]
    best = best_by_score(score, entity, wanted.k)
    share = softmax(score) if len(score) else score
    return _Best(entity[best], score[best], share[best], is_known[best], left_out)
