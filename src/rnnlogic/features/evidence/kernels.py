"""Compiled kernels of named evidence; every public one has a plain twin in `reference.py`.

An item is something that may be true of an entity: row j of the graph, relation(head, entity), or, with id
rows + relation, that some such fact exists. A rule with constants says that who has an item has an answer.
Inner loops have unsigned places: signed ones are each checked for being counted from the end of an array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.kernels import edges_of
from rnnlogic.features.evidence.counting.kernels import Items, _grown
from rnnlogic.features.evidence.output.kernels import (
    ANSWER,
    DEGREE,
    HEAD,
    HEADS,
    KINDS,
    TAKEN,
    _put_links,
    _put_prior,
    _put_rules,
)

BEST = 5  # rules with constants that count for one candidate
SUPPORT = 2  # facts that a rule with constants must explain, the one asked about left out
UNSEEN = 5.0  # wrong results that every rule with constants is taken to have besides those seen
LEAST = 0.01  # confidence that counts: bodies that are true of very many entities say little, and cost most


class Table(NamedTuple):
    """Rules with constants of one relation, by one of their ends."""

    key: NDArray[np.int64]  # [m] ascending: items, or answers
    ptr: NDArray[np.int64]  # [m+1]
    other: NDArray[np.int64]  # [n] answers, or items
    support: NDArray[np.int32]  # [n] entities with the item that have the answer


@compiled
def confidence(support: int, holders: int) -> float:
    """How far a rule with constants is trusted, by entities other than the one asked about; 0: not at all."""
    value = support / (holders + UNSEEN)
    return value if support >= SUPPORT and value >= LEAST else 0.0


@compiled
def _insert(best: NDArray[np.float64], value: float) -> None:
    """Keep the largest values, in descending order."""
    place = len(best) - 1
    if value <= best[place]:
        return
    while place > 0 and best[place - 1] < value:
        best[place] = best[place - 1]
        place -= 1
    best[place] = value


@compiled
def _of_key(table: Table, key: int) -> tuple[np.int64, np.int64]:
    place = np.searchsorted(table.key, key)
    if place == len(table.key) or table.key[place] != key:
        return np.int64(0), np.int64(0)
    return table.ptr[place], table.ptr[place + 1]


@compiled
def is_visible(
    items: Items, graph: GraphArrays, row: int, relation: int, hidden: int, all_links: bool
) -> bool:
    """Whether an item of the head may be looked at: not if it is the hidden fact, or a hidden link."""
    if hidden < 0 or graph.row_head[row] != hidden:
        return True
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    return not all_links and items.relation[row] != inverse


@compiled
def _by_head(
    graph: GraphArrays,
    items: Items,
    table: Table,
    head: int,
    relation: int,
    hidden: int,
    all_links: bool,
    known: NDArray[np.bool_],
    best: NDArray[np.float64],
    is_candidate: NDArray[np.bool_],
    candidates: NDArray[np.int32],
    used: int,
) -> int:
    """Rules r(X,c) <- b(X,d) and r(X,c) <- b(X,Z) whose body is true of the head; returns the candidates."""
    rows = len(items.relation)
    last_exists = -1
    for i in range(items.ptr[head], items.ptr[head + 1]):
        row = items.row[i]
        if not is_visible(items, graph, row, relation, hidden, all_links):
            continue
        if hidden == head and graph.row_head[row] == head and items.relation[row] == relation:
            continue  # r(x,x) turned is the same fact
        exists = rows + items.relation[row]
        for turn in range(2):
            item = row if turn == 0 else exists
            if turn == 1:
                if exists == last_exists:
                    continue
                last_exists = exists
            lo, hi = _of_key(table, item)
            for j in range(lo, hi):
                answer = table.other[j]
                value = confidence(table.support[j] - known[answer], items.holders[item] - 1)
                if value > 0:
                    _insert(best[answer], value)
                    candidates[used] = answer
                    used += not is_candidate[answer]
                    is_candidate[answer] = True
    return used


@compiled
def _by_answer(
    graph: GraphArrays,
    items: Items,
    table: Table,
    head: int,
    hidden: int,
    is_item: NDArray[np.bool_],
    known: NDArray[np.bool_],
    best: NDArray[np.float64],
    is_candidate: NDArray[np.bool_],
    candidates: NDArray[np.int32],
    used: int,
) -> int:
    """Rules r(c,Y) <- b(d,Y) and r(c,Y) <- b(Z,Y) where c is the head; returns the number of candidates.

    The hidden fact supports no rule, whichever candidate it speaks for. `is_item` [items] is scratch: False.
    """
    rows = len(items.relation)
    lo, hi = _of_key(table, head)
    if lo < hi and hidden >= 0:
        _mark_items(items, hidden, is_item, True)
    for j in range(lo, hi):
        item = table.other[j]
        support = table.support[j] - is_item[item]
        if item < rows:
            first, last = graph.row_edges[item], graph.row_edges[item + 1]
        else:
            back = (item - rows + items.num_relations) % (2 * items.num_relations)
            first, last = graph.relation_rows[back], graph.relation_rows[back + 1]
        unknown = confidence(support, items.holders[item] - 1)
        if unknown == 0:
            continue
        if_known = confidence(support - 1, items.holders[item] - 1)
        for i in range(first, last):
            answer = graph.tails[i] if item < rows else graph.row_head[i]
            value = if_known if known[answer] and answer != hidden else unknown
            if value > 0:
                _insert(best[answer], value)
                candidates[used] = answer
                used += not is_candidate[answer]
                is_candidate[answer] = True
    if lo < hi and hidden >= 0:
        _mark_items(items, hidden, is_item, False)
    return used


@compiled
def _mark_items(items: Items, entity: int, is_item: NDArray[np.bool_], mark: bool) -> None:
    """Mark the items that are true of an entity."""
    for i in range(items.ptr[entity], items.ptr[entity + 1]):
        row = items.row[i]
        is_item[row] = mark
        is_item[len(items.relation) + items.relation[row]] = mark


@compiled
def _mark_links(
    graph: GraphArrays,
    items: Items,
    head: int,
    relation: int,
    hidden: int,
    all_links: bool,
    marks: NDArray[np.int8],
) -> None:
    """Which entities are linked to the head: bit 0 by the relation turned, 1 from the head, 2 to it."""
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    for i in range(items.ptr[head], items.ptr[head + 1]):
        row = items.row[i]
        by, other = items.relation[row], graph.row_head[row]  # by(other, head)
        if by == inverse or not is_visible(items, graph, row, relation, hidden, all_links):
            continue
        if by == relation and other == head:  # r(x,x) turned is the same fact
            continue
        if by == relation:
            marks[other] |= 1
        else:
            marks[other] |= 2 if by >= items.num_relations else 4


@compiled
def _answers(graph: GraphArrays, inverse: int, num_entities: int) -> NDArray[np.int64]:
    """How many facts of a relation have each entity [E] as their answer, by the inverse of the relation."""
    times = np.zeros(num_entities, np.int64)
    for row in range(graph.relation_rows[inverse], graph.relation_rows[inverse + 1]):
        times[graph.row_head[row]] = graph.row_edges[row + 1] - graph.row_edges[row]
    return times


@compiled
def _logarithms(items: Items) -> NDArray[np.float64]:
    """log(1 + n) for all n up to the number of facts of any entity."""
    return np.log1p(np.arange(np.diff(items.ptr).max() + 1).astype(np.float64))


@compiled
def _add(
    entities: NDArray[np.int32], is_candidate: NDArray[np.bool_], candidates: NDArray[np.int32], used: int
) -> int:
    """Make entities candidates; returns the number of candidates."""
    for entity in entities:
        place = np.uint32(entity)
        candidates[np.uint64(used)] = entity
        used += not is_candidate[place]
        is_candidate[place] = True
    return used


@compiled
def _add_frequent(
    frequent: NDArray[np.int32],
    times: NDArray[np.int64],
    known: NDArray[np.bool_],
    is_candidate: NDArray[np.bool_],
    candidates: NDArray[np.int32],
    used: int,
) -> int:
    """Make frequent answers candidates that others than the head have; returns the number of candidates."""
    for answer in frequent:
        place = np.uint32(answer)
        candidates[np.uint64(used)] = answer
        if times[place] > known[place]:
            used += not is_candidate[place]
            is_candidate[place] = True
    return used


@compiled
def find_evidence(
    graph: GraphArrays,
    items: Items,
    by_item: Table,
    by_answer: Table,
    frequent: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    heads: NDArray[np.int32],
    hidden: NDArray[np.int32],
    relation: int,
    entity: NDArray[np.int32],
    ptr: NDArray[np.int64],
    num_entities: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Values of named evidence for the candidates of queries [q]: entity [n], value [n], ptr [kinds * q + 1].

    Chains reach entity[ptr[k * q + i] : ptr[k * q + i + 1]] for query i; rules with constants and `frequent`
    answers make candidates, too. Only the `wanted` [KINDS] kinds have values. A hidden tail below -1 stands
    for tail -2 - hidden with all links between head and tail hidden.
    """
    queries = len(heads)
    bodies = (len(ptr) - 1) // max(queries, 1)
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    out, out_value = np.empty(1024, np.int32), np.empty(1024, np.float32)
    spans = np.zeros((queries, KINDS + 1), np.int64)
    is_candidate, known = np.zeros(num_entities, np.bool_), np.zeros(num_entities, np.bool_)
    candidates = np.empty(num_entities + 1, np.int32)
    by_rules = wanted[HEAD : HEADS + 1].any(), wanted[ANSWER:].any()
    of_head = np.zeros((num_entities if by_rules[0] else 0, BEST))
    of_answer = np.zeros((num_entities if by_rules[1] else 0, BEST))
    marks, is_item = np.zeros(num_entities, np.int8), np.zeros(len(items.holders), np.bool_)
    few = np.empty(num_entities, np.int32)  # candidates that some kinds of evidence are about
    has_prior = wanted[TAKEN : DEGREE + 1].any()
    times = _answers(graph, inverse, num_entities) if has_prior else np.zeros(0, np.int64)
    logs = _logarithms(items)
    filled = 0
    for q in range(queries):
        head, all_links = heads[q], hidden[q] < -1
        tail = -2 - hidden[q] if all_links else hidden[q]
        first, last = edges_of(graph, relation, head)
        known[graph.tails[first:last]] = True
        used = 0
        for k in range(bodies):
            reached = entity[ptr[k * queries + q] : ptr[k * queries + q + 1]]
            used = _add(reached, is_candidate, candidates, used)
        if by_rules[0]:
            used = _by_head(
                graph, items, by_item, head, relation, tail, all_links, known,
                of_head, is_candidate, candidates, used,
            )  # fmt: skip
        if by_rules[1]:
            used = _by_answer(
                graph, items, by_answer, head, tail, is_item, known,
                of_answer, is_candidate, candidates, used,
            )  # fmt: skip
        if has_prior:
            used = _add_frequent(frequent, times, known, is_candidate, candidates, used)
        _mark_links(graph, items, head, relation, tail, all_links, marks)
        need = filled + used * KINDS
        if need > len(out):
            out, out_value = _grown(out, 2 * need), _grown(out_value, 2 * need)
        found = candidates[:used]
        filled = _put_links(found, wanted, head, is_candidate, marks, few, out, out_value, spans[q], filled)
        filled = _put_prior(
            found if has_prior else found[:0], items, wanted, times, known, logs,
            few, out, out_value, spans[q], filled,
        )  # fmt: skip
        filled = _put_rules(found, wanted, of_head, of_answer, few, out, out_value, spans[q], filled)
        spans[q, KINDS] = filled
        for answer in found:
            place = np.uint32(answer)
            is_candidate[place] = False
            if by_rules[0]:
                of_head[place] = 0.0
            if by_rules[1]:
                of_answer[place] = 0.0
        for row in items.row[items.ptr[head] : items.ptr[head + 1]]:
            marks[graph.row_head[row]] = 0
        known[graph.tails[first:last]] = False
    return _kind_by_kind(out, out_value, spans, filled)


@compiled
def _kind_by_kind(
    entity: NDArray[np.int32], value: NDArray[np.float32], spans: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Results ordered by query, then kind, as results ordered by kind, then query."""
    queries = len(spans)
    to_entity, to_value = np.empty(size, np.int32), np.empty(size, np.float32)
    ptr = np.zeros(KINDS * queries + 1, np.int64)
    filled = 0
    for kind in range(KINDS):
        for q in range(queries):
            lo, hi = spans[q, kind], spans[q, kind + 1]
            to_entity[filled : filled + hi - lo] = entity[lo:hi]
            to_value[filled : filled + hi - lo] = value[lo:hi]
            filled += hi - lo
            ptr[kind * queries + q + 1] = filled
    return to_entity, to_value, ptr
