"""Rules with constants as a source: which entities they answer. A body that holds counts as one walk.

The fact of a query is hidden from bodies, too; so are all links of its ends if they are hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.base import Answers, Batch, Items, Mask, Place, Rows, Source, Stage
from rnnlogic.rules.rule import NONE
from rnnlogic.rules.ruleset import Kind, RuleSet

Ids = NDArray[np.int64]


class _Rules(NamedTuple):
    """Rules with constants on one side, sorted by what they are looked up by."""

    key: Ids  # [n] ascending
    number: Ids  # [n] positions among all rules with constants of the relation
    constant: Ids  # [n]
    other: Ids  # [n] NONE: any
    step: Ids  # [n]

    @classmethod
    def sorted_by(cls, key: Ids, columns: Ids) -> _Rules:
        """Rules with these columns [4, n]."""
        order = np.argsort(key, kind="stable")
        return cls(key[order], *columns[:, order])

    def found(self, keys: Ids) -> tuple[Ids, Ids]:
        """For each rule that has one of the keys [k]: the position of the key, and that of the rule."""
        return _spread(np.searchsorted(self.key, keys), np.searchsorted(self.key, keys, side="right"))


class _Queries(NamedTuple):
    """Queries of one relation and what is hidden of each."""

    relation: int
    inverse: int
    head: Ids
    tail: Ids  # whose fact is hidden; -1: nothing is
    all_links: NDArray[np.bool_]  # whether all links of head and tail are hidden

    def hides(self, query: Ids, first: Ids, step: Ids, second: Ids) -> NDArray[np.bool_]:
        """Whether step(first, second) is hidden from a query."""
        head, tail = self.head[query], self.tail[query]
        forwards, backwards = (first == head) & (second == tail), (first == tail) & (second == head)
        own = (forwards & (step == self.relation)) | (backwards & (step == self.inverse))
        found: NDArray[np.bool_] = own | (self.all_links[query] & (forwards | backwards))
        return found


class ConstantRules(Source):
    """Rules with constants that a model holds."""

    stage = Stage.REACHES
    counts_paths = True

    def owns(self, rules: RuleSet) -> Mask:
        """The rules with constants."""
        return rules.have_constants

    def on(self, place: Place) -> ReadyConstants:
        """The rules, sorted by what they are looked up by."""
        graph, kinds = place.graph, place.rules.kinds
        told = np.arange(len(place.rules)), kinds.constant, kinds.other, place.rules.body  # one step each
        columns, at_head = np.stack(told).astype(np.int64), kinds.kind == Kind.OF_HEAD
        answer, head = columns[:, ~at_head], columns[:, at_head]
        by_fact = answer[3] * (graph.num_entities + 1) + answer[2] + 1
        of_head = _Rules.sorted_by(head[1], head)
        ends = _reached(graph, of_head)
        return ReadyConstants(place, place.items(), _Rules.sorted_by(by_fact, answer), of_head, *ends)


@dataclass(frozen=True, eq=False)
class ReadyConstants:
    """The rules with constants of one relation on one graph."""

    place: Place
    items: Items
    of_answer: _Rules  # r(X,c) <- b(X,d), by b and d
    of_head: _Rules  # r(c,Y) <- b(d,Y), by c
    first: Ids  # [of_head] where the entities that the body reaches begin: among the tails of the graph,
    last: Ids  # or behind these among the heads of its rows

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """What these rules answer, 1 for each; one query alone may have more than `most`."""
        del answers
        graph, heads, places = self.place.graph, batch.heads, self.place.place
        told, all_links = batch.hidden.astype(np.int64), batch.hidden < -1
        tail = np.where(all_links, -2 - told, told)
        queries = _Queries(batch.relation, self.place.inverse, heads.astype(np.int64), tail, all_links)
        of_head = self.of_head.found(queries.head)
        if len(heads) > 1 and int((self.last - self.first)[of_head[1]].sum()) > most:
            return None
        parts = self._answers(graph, queries), self._heads(graph, queries, *of_head)
        query, rule, entity = (np.concatenate(both) for both in zip(*parts, strict=True))
        cell = rule * len(heads) + query
        sizes = np.bincount(cell, minlength=len(places) * len(heads))
        ptr = np.append(0, np.cumsum(sizes)).astype(np.int64)
        ordered = entity[np.argsort(cell, kind="stable")].astype(np.int32)
        return Rows(places, ptr, ordered, np.ones(len(cell), np.int32))

    def _answers(self, graph: Graph, queries: _Queries) -> tuple[Ids, Ids, Ids]:
        """Query, rule and entity of the answers by rules that name the answer."""
        items, relations = self.items, 2 * graph.num_relations
        query, place = _spread(items.ptr[queries.head], items.ptr[queries.head + 1])
        other = graph.arrays.row_head[items.row[place]].astype(np.int64)
        step = (items.relation[items.row[place]].astype(np.int64) + graph.num_relations) % relations
        is_visible = ~queries.hides(query, queries.head[query], step, other)
        query, step, other = query[is_visible], step[is_visible], other[is_visible]
        some = np.unique(query * relations + step)  # that such a fact exists at all
        query = np.append(query, some // relations)
        size = graph.num_entities + 1
        place, rule = self.of_answer.found(np.append(step * size + other + 1, some % relations * size))
        return query[place], self.of_answer.number[rule], self.of_answer.constant[rule]

    def _heads(self, graph: Graph, queries: _Queries, query: Ids, rule: Ids) -> tuple[Ids, Ids, Ids]:
        """Query, rule and entity of the answers by rules that name the head, some for each query."""
        place, edge = _spread(self.first[rule], self.last[rule])
        query, rule, tails = query[place], rule[place], graph.arrays.tails
        is_tail = edge < len(tails)
        entity = np.empty(len(edge), np.int64)
        entity[is_tail] = tails[edge[is_tail]]
        entity[~is_tail] = graph.arrays.row_head[edge[~is_tail] - len(tails)]
        other, step = self.of_head.other[rule], self.of_head.step[rule]
        is_visible = _still_reached(graph, queries, query, other, step, entity)
        return query[is_visible], self.of_head.number[rule[is_visible]], entity[is_visible]


def _reached(graph: Graph, rules: _Rules) -> tuple[Ids, Ids]:
    """Where the entities that the bodies reach begin and end: see `ReadyConstants`."""
    arrays, relations = graph.arrays, 2 * graph.num_relations
    relation = np.repeat(np.arange(relations), np.diff(arrays.relation_rows))
    keys = np.append(relation * graph.num_entities + arrays.row_head, relations * graph.num_entities)
    wanted = rules.step * graph.num_entities + rules.other
    row = np.searchsorted(keys, wanted)
    row_end = row + (keys[row] == wanted)
    back = (rules.step + graph.num_relations) % relations
    is_any, behind = rules.other == NONE, len(arrays.tails)
    first = np.where(is_any, behind + arrays.relation_rows[back], arrays.row_edges[row])
    return first, np.where(is_any, behind + arrays.relation_rows[back + 1], arrays.row_edges[row_end])


def _still_reached(
    graph: Graph, queries: _Queries, query: Ids, other: Ids, step: Ids, entity: Ids
) -> NDArray[np.bool_]:
    """Whether bodies reach entities without what is hidden."""
    head, tail = queries.head[query], queries.tail[query]
    partner = np.where(entity == tail, head, tail)  # the only entity whose fact about it may be hidden
    at_risk = (tail >= 0) & ((entity == head) | (entity == tail))
    at_risk &= queries.hides(query, partner, step, entity)
    is_reached: NDArray[np.bool_] = ~(at_risk & (other == partner))
    for i in np.flatnonzero(at_risk & (other == NONE)).tolist():
        back = graph.inverse(int(step[i]))
        holders = graph.neighbours(int(entity[i]), back)
        is_reached[i] = len(holders) > int(graph.has(int(entity[i]), back, int(partner[i])))
    return is_reached


def _spread(first: Ids, last: Ids) -> tuple[Ids, Ids]:
    """All numbers of the ranges [n], each with the position of its range."""
    sizes = last - first
    owner = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - sizes
    return owner, np.arange(len(owner)) - starts[owner] + first[owner]
