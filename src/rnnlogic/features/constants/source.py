"""Rules with constants as sources: those that a model holds, and summaries of those that the facts imply.

A body that holds counts as one walk. The fact of a query is hidden from bodies, too; so are all links of its
ends if they are hidden. A relation has many rules that its facts imply, most of which no model holds. One
kernel finds those that are true of a query and folds them at once: best rule and noisy-or as in
`aggregates.py`, whose shares split the value again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rnnlogic.data.graph import Graph
from rnnlogic.features.aggregates import Best, NoisyOr
from rnnlogic.features.base import (
    UNSEEN,
    Answers,
    Batch,
    Items,
    Mask,
    Place,
    Query,
    Rows,
    Source,
    Stage,
    Term,
    find_items,
    ranges,
)
from rnnlogic.features.constants.kernels import (
    BEST,
    LEAST,
    SUPPORT,
    WORK,
    RelationTables,
    Table,
    count_answers,
    summarise,
)
from rnnlogic.features.named import NamedSource
from rnnlogic.rules.rule import NONE, Constant, mirrored
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
        return ranges(np.searchsorted(self.key, keys), np.searchsorted(self.key, keys, side="right"))


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
        query, place = ranges(items.ptr[queries.head], items.ptr[queries.head + 1])
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
        place, edge = ranges(self.first[rule], self.last[rule])
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


class _Counted(NamedTuple):
    """Rules with constants of a relation that may be confident enough."""

    item: Ids  # [n]
    answer: Ids  # [n]
    support: NDArray[np.int32]  # [n]
    confidence: NDArray[np.float64]  # [n] a query leaves out its own entity, which can only lower it

    @classmethod
    def of(cls, graph: Graph, items: Items, relation: int) -> _Counted:
        """Those of a relation."""
        item, answer, support = count_answers(graph.arrays, items, relation, graph.num_entities, SUPPORT)
        found = cls(item, answer, support, support / (items.holders[item] - 1 + UNSEEN))
        return found.at_least(LEAST)

    def at_least(self, least: float) -> _Counted:
        """Those of this confidence at least."""
        kept = self.confidence >= least
        if kept.all():
            return self
        return _Counted(self.item[kept], self.answer[kept], self.support[kept], self.confidence[kept])


class _Sides(NamedTuple):
    """The rules of a relation about X and about Y, and the least confidence that counts of each."""

    about_x: _Counted
    about_y: _Counted  # of the inverse relation: its answers are X
    least_of_x: float
    least_of_y: float

    @classmethod
    def of(cls, graph: Graph, items: Items, relation: int, work: float) -> _Sides:
        """Those of a relation, so that a query counts at most `work` rules about each end on average."""
        x, y = (_Counted.of(graph, items, one) for one in (relation, graph.inverse(relation)))
        of_head = np.bincount(graph.edges(relation)[0], minlength=graph.num_entities)  # queries
        whole = work * of_head.sum()
        least_of_x = _affordable(x.confidence, _at_holders(graph, items, of_head)[x.item], whole)
        least_of_y = _affordable(y.confidence, of_head[y.answer] * items.holders[y.item], whole)
        return cls(x.at_least(least_of_x), y.at_least(least_of_y), least_of_x, least_of_y)


def _at_holders(graph: Graph, items: Items, number: Ids) -> NDArray[np.float64]:
    """The sum of numbers [E] over the entities that have an item [items]."""
    arrays, relations = graph.arrays, 2 * graph.num_relations
    of_edge = np.repeat(np.arange(len(items.relation)), np.diff(arrays.row_edges))
    by_row = np.bincount(of_edge, number[arrays.tails], len(items.relation))
    exists = np.bincount(items.relation, number[arrays.row_head], relations)
    return np.concatenate([by_row, np.roll(exists, graph.num_relations)])


def _affordable(confidence: NDArray[np.float64], cost: NDArray[Any], work: float) -> float:
    """The least confidence, doubled until rules [n] of a cost that have it cost at most `work`."""
    least = LEAST
    while cost[confidence >= least].sum() > work:
        least *= 2
    return least


def relation_tables(graph: Graph, items: Items, relation: int, work: float = WORK) -> RelationTables:
    """The tables of a relation, without rules of little confidence where a query would count too many."""
    x, y, *least = _Sides.of(graph, items, relation, work)
    return RelationTables(_by_key(x.item, x.answer, x.support), _by_key(y.answer, y.item, y.support), *least)


def _by_key(key: Ids, other: Ids, support: NDArray[np.int32]) -> Table:
    shape = int(key.max(initial=0)) + 1, int(other.max(initial=0)) + 1
    table = csr_matrix((support, (key, other)), shape)  # counts where NumPy would sort
    table.sort_indices()
    keys = np.flatnonzero(np.diff(table.indptr))
    ptr = np.append(table.indptr[keys], len(key)).astype(np.int64)
    return Table(keys, ptr, table.indices.astype(np.int64), table.data)


def implied_rules(graph: Graph, query: Query, about_x: bool) -> list[Term]:
    """The rules that a summary folds for one answer, the most confident first.

    They are those of the kernel, which may not look at the fact itself if it is hidden.
    """
    least_of_x, least_of_y = _least(graph, query.relation)
    if about_x:
        return constant_rules(graph, query, least_of_x)
    turned = Query(query.tail, graph.inverse(query.relation), query.head, is_hidden=False)
    return [_mirrored(one, graph.num_relations) for one in constant_rules(graph, turned, least_of_y)]


def _least(graph: Graph, relation: int) -> tuple[float, float]:
    """The least confidence of rules about X and about Y that counts."""
    most_items = int(np.bincount(graph.arrays.tails).max(initial=0))  # of an entity, each with all answers
    is_small = max(most_items * graph.num_entities, 4 * len(graph)) <= WORK
    return (LEAST, LEAST) if is_small else _counted_least(graph, relation)


@lru_cache(maxsize=64)  # a page of explanations is about a few relations of one graph
def _counted_least(graph: Graph, relation: int) -> tuple[float, float]:
    sides = _Sides.of(graph, find_items(graph), relation, WORK)
    return sides.least_of_x, sides.least_of_y


def constant_rules(graph: Graph, query: Query, least: float = LEAST) -> list[Term]:
    """The most confident rules whose body is true of the head and which say relation(head, tail).

    The head itself does not count for or against them. For rules about the answer, ask the inverse relation.
    """
    head, relation, answer, is_hidden = query
    right = graph.neighbours(answer, graph.inverse(relation))
    own = int(head in right)
    found = []
    for by in range(2 * graph.num_relations):
        step = graph.inverse(by)
        others = graph.neighbours(head, step)
        if is_hidden and head == answer and by == relation:
            others = others[others != head]  # r(x,x) reversed is the hidden fact
        if not len(others):
            continue
        named = others[others != answer]
        first, last = graph.edge_ranges(right, step)
        reached = np.sort(graph.tails_within(first, last)[1])
        support = np.searchsorted(reached, named, "right") - np.searchsorted(reached, named)
        holders = np.subtract(*reversed(graph.edge_ranges(named, by)))
        bodies = list(zip(named.tolist(), support.tolist(), holders.tolist(), strict=True))
        if by != graph.inverse(relation):
            entities = int(np.diff(graph.arrays.relation_rows[step : step + 2])[0])
            bodies.append((NONE, int((first < last).sum()), entities))
        for other, right_ones, all_ones in bodies:
            term = _term(Constant(relation, step, answer, other), right_ones - own, all_ones)
            if term.support >= SUPPORT and term.confidence >= least:
                found.append(term)
    return sorted(found, key=_order(graph))[:BEST]


def counted(graph: Graph, rule: Constant, entity: int) -> Term:
    """A rule with constants whose body is true of an entity, counted over all other entities."""
    if rule.at_head:
        about = mirrored(rule, graph.num_relations)
        assert isinstance(about, Constant)
        return _mirrored(counted(graph, about, entity), graph.num_relations)
    right = graph.neighbours(rule.constant, graph.inverse(rule.head))
    by = graph.inverse(rule.step)
    holders = np.unique(graph.edges(rule.step)[0]) if rule.other == NONE else graph.neighbours(rule.other, by)
    support = int(np.isin(holders, right).sum()) - int(entity in right)
    return _term(rule, support, len(holders))


def _term(rule: Constant, support: int, holders: int) -> Term:
    """A rule that so many entities besides the one asked about support, of all that its body is true of."""
    return Term(rule, support, holders - 1, support / (holders - 1 + UNSEEN))


def _mirrored(one: Term, num_relations: int) -> Term:
    """The same, its rule read from Y to X."""
    return one._replace(rule=mirrored(one.rule, num_relations))


def _order(graph: Graph) -> Callable[[Term], tuple[float, int, int]]:
    """The most confident first; equal ones by the relation towards the entity, then by the other entity."""

    def key(one: Term) -> tuple[float, int, int]:
        assert isinstance(one.rule, Constant)
        return -one.confidence, graph.inverse(one.rule.step), one.rule.other

    return key


SUMMARIES: dict[str, Best | NoisyOr] = {  # in the order of the kernel
    "best_constant_of_x": Best(),
    "constants_of_x": NoisyOr(),
    "best_constant_of_y": Best(),
    "constants_of_y": NoisyOr(),
}


class Summaries(NamedSource):
    """What rules with constants say that no model holds."""

    stage = Stage.REACHES
    names = SUMMARIES

    def on(self, place: Place) -> ReadySummaries:
        """The rules that the facts imply, counted."""
        wanted, place = self.wanted(place)
        tables = relation_tables(place.graph, place.items(), place.relation)
        return ReadySummaries(place, wanted, tables)

    def terms(self, graph: Graph, name: str, query: Query) -> Sequence[Term]:
        """The rules that are true of a query, with their shares."""
        found = [] if name not in SUMMARIES else implied_rules(graph, query, about_x=name.endswith("_x"))
        if not found:
            return []
        aggregate = SUMMARIES[name]
        weights = aggregate.weights(aggregate.strength_of(np.array([one.confidence for one in found])))
        told = zip(found, weights.tolist(), strict=True)
        return [one._replace(weight=weight) for one, weight in told if weight > 0]


@dataclass(frozen=True, eq=False)
class ReadySummaries:
    """The summaries of one relation on one graph."""

    place: Place
    wanted: Mask  # [SUMMARIES]
    tables: RelationTables

    def rows(self, batch: Batch, answers: Answers, most: int) -> Rows | None:
        """What the rules say that are true of the heads, and of answers."""
        del answers, most
        place, size = self.place, self.place.graph.num_entities
        rows = summarise(place.graph.arrays, place.items(), self.tables, self.wanted, batch, size)
        return Rows(place.place, *rows)
