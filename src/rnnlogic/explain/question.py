"""A question, the scores of its answers, and the walks to one of them; on all known facts or without some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.chances import softmax
from rnnlogic.data.graph import Graph, GraphArrays
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.ranks import rank_answers
from rnnlogic.features.chains.paths import Fact, Path, paths
from rnnlogic.features.table import Scored
from rnnlogic.predictors.base import AnswerScorer, Contributions
from rnnlogic.rules.rule import Feature, Rule, directed

Places = TypeVar("Places", NDArray[np.int32], NDArray[np.int64])
MANY_WALKS = 256  # among which those without a repeated entity are looked for


class Question(NamedTuple):
    """An answer that is explained: relation(head, tail), relation in 0..2R-1."""

    head: int
    relation: int
    tail: int


@dataclass(frozen=True)
class Rank:
    """Place of an answer among all entities."""

    better: int
    tied: int  # the answer included
    candidates: int

    @property
    def mean(self) -> float:
        """The mean of the places that the answer shares with those tied with it."""
        return self.better + (self.tied + 1) / 2

    def text(self) -> str:
        """For people: the place, or the range of tied places."""
        first, last = self.better + 1, self.better + self.tied
        place = f"{first:,}" if first == last else f"{first:,} to {last:,} (tied)"
        return f"{place} of {self.candidates:,}"


class Asked(AnswerScorer):
    """A scorer that remembers the scores of one question on one graph; a known fact is hidden."""

    def __init__(self, scorer: AnswerScorer, graph: Graph, question: Question) -> None:
        self._scorer, self._graph, self.rules = scorer, graph, scorer.rules
        self.question, self.is_known = question, graph.has(*question)
        head, relation, tail = question
        self._key = head, relation, tail if self.is_known else -1
        self._rows, self.parts = scorer.scored_with_parts(graph, *question, self.is_known)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores [E] of all entities as answers, -inf for those that are none."""
        return _filled(self._rows, self._graph)

    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of any questions; this one is not asked again."""
        head = np.atleast_1d(np.asarray(heads, np.int32))
        relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
        answer = np.broadcast_to(np.asarray(-1 if hidden is None else hidden, np.int32), head.shape)
        is_same = np.all(np.stack([head, relation, answer]) == np.array(self._key)[:, None], axis=0)
        is_same &= graph is self._graph
        for place in np.flatnonzero(is_same):
            for rows in self._rows:
                yield rows._replace(queries=rows.queries + place)
        others = np.flatnonzero(~is_same)
        if len(others):
            for rows in self._scorer.scored(graph, head[others], relation[others], answer[others]):
                yield rows._replace(queries=others[rows.queries])

    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """The parts of any score."""
        return self._scorer.contributions(graph, head, relation, tail, is_hidden)


def all_scores(
    graph: Graph, scorer: AnswerScorer, question: Question, is_hidden: bool = False
) -> NDArray[np.float64]:
    """Scores [E] of all entities as answers, -inf for those that are none; the fact itself may be hidden."""
    hidden = question.tail if is_hidden else None
    return _filled(scorer.scored(graph, [question.head], question.relation, hidden), graph)


def _filled(rows: Iterable[Scored], graph: Graph) -> NDArray[np.float64]:
    scores = np.full((1, graph.num_entities), -np.inf)
    for part in rows:
        part.fill(scores)
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
    relation, head, tail = directed(question.relation, question.head, question.tail, num_relations)
    return head, relation, tail


def shown_paths(
    graph: Graph, question: Question, rule: Rule, limit: int, hidden: Fact | None = None
) -> tuple[Path, ...]:
    """Up to `limit` walks of a rule, those that visit no entity twice first, then by entity ids."""
    if isinstance(rule, Feature):
        return tuple(_links(graph, question, rule.name))[:limit]
    found = paths(graph, question.head, rule, question.tail, limit, hidden).paths
    if any(comes_back(path) is not None for path in found):
        found = paths(graph, question.head, rule, question.tail, max(limit, MANY_WALKS), hidden).paths
    return tuple(sorted(found, key=lambda path: comes_back(path) is not None)[:limit])


def _links(graph: Graph, question: Question, name: str) -> Iterator[Path]:
    """The facts between head and tail that an exclusion is about; none for other features."""
    head, relation, tail = question
    for step in range(2 * graph.num_relations):
        if step == relation or not graph.has(head, step, tail):
            continue
        is_turned = step == graph.inverse(relation)
        if head == tail and is_turned:  # r(x,x) turned is the same fact
            continue
        kind = "reversed" if is_turned else "linked" if step < graph.num_relations else "linked_back"
        if kind == name:
            yield Path((head, tail), (step,))


def comes_back(path: Path) -> int | None:
    """The first entity that a walk visits a second time; a walk whose two ends are the same may end there."""
    seen: set[int] = set()
    for place, entity in enumerate(path.entities):
        is_end = place == len(path.entities) - 1 and entity == path.entities[0]
        if entity in seen and not (is_end and place > 0 and len(seen) == place):
            return entity
        seen.add(entity)
    return None


def facts_of(path: Path, vocab: Vocab) -> Iterator[Fact]:
    """The facts of a path as ids, each in the direction in which it is in the graph."""
    for source, relation, target in zip(path.entities, path.relations, path.entities[1:], strict=False):
        relation, source, target = directed(relation, source, target, vocab.num_relations)
        yield source, relation, target


def named_facts(path: Path, vocab: Vocab) -> list[tuple[str, str, str]]:
    """The facts of a path with names, each in the direction in which it is in the graph."""
    return [(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in facts_of(path, vocab)]


def labelled_facts(path: Path, vocab: Vocab) -> list[tuple[str, str, str]]:
    """The same with names for people."""
    entity, relation = vocab.entity_label, vocab.relation_label
    return [(entity(h), relation(r), entity(t)) for h, r, t in facts_of(path, vocab)]
