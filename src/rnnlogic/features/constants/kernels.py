"""Compiled kernels of rules with constants; every public one has a plain twin in `reference.py`.

A rule with constants says that who has an item (see `Items`) has an answer. Inner loops have unsigned places,
so that numba leaves out the check for places counted from the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.base import STRETCH, UNSEEN, Batch, Items
from rnnlogic.features.chains.kernels import edges_of
from rnnlogic.features.kernels import grown, is_visible, rule_by_rule

SUMMARIES = 4  # the best rule about X, several of them; the same about Y
BEST = 5  # rules with constants that count for one candidate
SUPPORT = 2  # facts besides that of the query that a rule with constants must explain
LEAST = 0.01  # confidence that counts: bodies that are true of very many entities say little, and cost most
WORK = 200_000  # rules that a query counts about one of its ends, on average, which takes 15 ms


class Table(NamedTuple):
    """Rules with constants of one relation, by one of their ends."""

    key: NDArray[np.int64]  # [m] ascending: items, or answers
    ptr: NDArray[np.int64]  # [m+1]
    other: NDArray[np.int64]  # [n] answers, or items
    support: NDArray[np.int32]  # [n] entities with the item that have the answer


class RelationTables(NamedTuple):
    """Rules with constants that answer the queries of a relation."""

    by_item: Table
    by_answer: Table  # of the inverse relation: its answers are the heads of this one
    least_of_x: float  # confidence that counts for rules about X: more than `LEAST` where these are very many
    least_of_y: float  # and about Y


class Query(NamedTuple):
    """A query, and what is hidden of it: a tail (-1: none), with it all links between the two if told."""

    head: int
    relation: int
    tail: int
    all_links: bool


class Found(NamedTuple):
    """The candidates of a query so far, with marks."""

    known: NDArray[np.bool_]  # [E] answers of the query that are facts
    is_item: NDArray[np.bool_]  # [items] scratch: False
    is_candidate: NDArray[np.bool_]  # [E]
    candidates: NDArray[np.int32]  # [E+1]


class Out(NamedTuple):
    """Where results are written."""

    entity: NDArray[np.int32]
    value: NDArray[np.float32]


@compiled
def count_answers(
    graph: GraphArrays, items: Items, relation: int, num_entities: int, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """item [n], answer [n], support [n] of the rules with constants of a relation with this support at least.

    Items come in order, the answers of one in order of first visit. Rules that are chains are left out: an
    item that mentions the answer, and that a fact of the relation itself exists.
    """
    rows = len(items.relation)
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    first_row, last_row = graph.relation_rows[relation], graph.relation_rows[relation + 1]
    row_of = np.full(num_entities, -1, np.int64)  # the row (relation, entity)
    for row in range(first_row, last_row):
        row_of[graph.row_head[row]] = row
    item_of, answer_of = np.empty(1024, np.int64), np.empty(1024, np.int64)
    support_of = np.empty(1024, np.int32)
    seen = np.zeros(num_entities, np.int32)
    touched = np.empty(num_entities + 1, np.int64)  # one is written before it is known to be new
    used = 0
    for item in range(rows + 2 * items.num_relations):
        if items.holders[item] <= least or item == rows + inverse:
            continue
        if item < rows:
            lo, hi, constant = graph.row_edges[item], graph.row_edges[item + 1], graph.row_head[item]
        else:
            back = (item - rows + items.num_relations) % (2 * items.num_relations)
            lo, hi, constant = graph.relation_rows[back], graph.relation_rows[back + 1], np.int32(-1)
        reached = 0
        for i in range(lo, hi):
            entity = graph.tails[i] if item < rows else graph.row_head[i]
            row = row_of[entity]
            if row < 0:
                continue
            for edge in range(graph.row_edges[row], graph.row_edges[row + 1]):
                answer = graph.tails[edge]
                touched[reached] = answer
                reached += seen[answer] == 0
                seen[answer] += 1
        if used + reached > len(item_of):
            size = max(2 * len(item_of), used + reached)
            item_of, answer_of = grown(item_of, size), grown(answer_of, size)
            support_of = grown(support_of, size)
        for i in range(reached):
            answer = touched[i]
            if seen[answer] >= least and answer != constant:
                item_of[used], answer_of[used], support_of[used] = item, answer, seen[answer]
                used += 1
            seen[answer] = 0
    return item_of[:used], answer_of[:used], support_of[:used]


@compiled
def confidence(support: int, holders: int, least: float) -> float:
    """Smoothed confidence of a rule with constants, by all entities but that of the query; 0: too small."""
    value = support / (holders + UNSEEN)
    return value if support >= SUPPORT and value >= least else 0.0


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
def _count(found: Found, best: NDArray[np.float64], answer: int, value: float, used: int) -> int:
    """Count a rule of this confidence for a candidate; returns how many candidates there are."""
    if value > 0:
        _insert(best[answer], value)
        found.candidates[used] = answer
        used += not found.is_candidate[answer]
        found.is_candidate[answer] = True
    return used


@compiled
def _of_key(table: Table, key: int) -> tuple[np.int64, np.int64]:
    place = np.searchsorted(table.key, key)
    if place == len(table.key) or table.key[place] != key:
        return np.int64(0), np.int64(0)
    return table.ptr[place], table.ptr[place + 1]


@compiled
def _by_head(
    graph: GraphArrays,
    items: Items,
    tables: RelationTables,
    query: Query,
    best: NDArray[np.float64],
    found: Found,
    used: int,
) -> int:
    """Rules r(X,c) <- b(X,d) and r(X,c) <- b(X,Z) whose body is true of the head; returns the candidates."""
    head, relation, hidden, all_links = query
    table, rows = tables.by_item, len(items.relation)
    last_exists = -1
    for i in range(items.ptr[head], items.ptr[head + 1]):
        row = items.row[i]
        if not is_visible(items, graph, row, relation, hidden, all_links):
            continue
        if hidden == head and graph.row_head[row] == head and items.relation[row] == relation:
            continue  # r(x,x) reversed is the same fact
        exists = rows + items.relation[row]
        for kind in range(2):
            item = row if kind == 0 else exists
            if kind == 1:
                if exists == last_exists:
                    continue
                last_exists = exists
            lo, hi = _of_key(table, item)
            for j in range(lo, hi):
                answer = table.other[j]
                support = table.support[j] - found.known[answer]
                value = confidence(support, items.holders[item] - 1, tables.least_of_x)
                used = _count(found, best, answer, value, used)
    return used


@compiled
def _by_answer(
    graph: GraphArrays,
    items: Items,
    tables: RelationTables,
    query: Query,
    best: NDArray[np.float64],
    found: Found,
    used: int,
) -> int:
    """Rules r(c,Y) <- b(d,Y) and r(c,Y) <- b(Z,Y) where c is the head; returns the number of candidates.

    The hidden fact supports no rule, whichever candidate it speaks for.
    """
    head, hidden, known, is_item = query.head, query.tail, found.known, found.is_item
    table, rows, least = tables.by_answer, len(items.relation), tables.least_of_y
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
        unknown = confidence(support, items.holders[item] - 1, least)
        if unknown == 0:
            continue
        if_known = confidence(support - 1, items.holders[item] - 1, least)
        for i in range(first, last):
            answer = graph.tails[i] if item < rows else graph.row_head[i]
            value = if_known if known[answer] and answer != hidden else unknown
            used = _count(found, best, answer, value, used)
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
def _strength(best: float) -> float:
    """What the most confident rule with constants counts."""
    return float(np.log1p(STRETCH * best))


@compiled
def _several(best: NDArray[np.float64]) -> float:
    """What the most confident rules count together: -log(1 - noisy or)."""
    total = 0.0
    for value in best:
        total -= np.log1p(-value)
    return total


@compiled
def summarise(
    graph: GraphArrays,
    items: Items,
    tables: RelationTables,
    wanted: NDArray[np.bool_],
    batch: Batch,
    num_entities: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """What the best rules with constants say for queries [q]: rows of the wanted [SUMMARIES].

    A hidden tail below -1 stands for tail -2 - hidden with all links between head and tail hidden.
    """
    heads, hidden, relation = batch.heads, batch.hidden, batch.relation
    out, out_value = np.empty(1024, np.int32), np.empty(1024, np.float32)
    spans = np.zeros((len(heads), SUMMARIES + 1), np.int64)
    is_candidate, known = np.zeros(num_entities, np.bool_), np.zeros(num_entities, np.bool_)
    candidates = np.empty(num_entities + 1, np.int32)
    about_x, about_y = wanted[:2].any(), wanted[2:].any()
    of_head = np.zeros((num_entities if about_x else 0, BEST))
    of_answer = np.zeros((num_entities if about_y else 0, BEST))
    is_item, few = np.zeros(len(items.holders), np.bool_), np.empty(num_entities, np.int32)
    found, filled = Found(known, is_item, is_candidate, candidates), 0
    for q in range(len(heads)):
        head, all_links = heads[q], hidden[q] < -1
        tail = -2 - hidden[q] if all_links else hidden[q]
        first, last = edges_of(graph, relation, head)
        known[graph.tails[first:last]] = True
        used, query = 0, Query(head, relation, tail, all_links)
        if about_x:
            used = _by_head(graph, items, tables, query, of_head, found, used)
        if about_y:
            used = _by_answer(graph, items, tables, query, of_answer, found, used)
        if filled + used * SUMMARIES > len(out):
            size = 2 * (filled + used * SUMMARIES)
            out, out_value = grown(out, size), grown(out_value, size)
        reached, best = candidates[:used], (of_head, of_answer)
        filled = _put_summaries(reached, wanted, best, few, Out(out, out_value), spans[q], filled)
        spans[q, SUMMARIES] = filled
        for answer in reached:
            place = np.uint32(answer)
            is_candidate[place] = False
            if about_x:
                of_head[place] = 0.0
            if about_y:
                of_answer[place] = 0.0
        known[graph.tails[first:last]] = False
    return rule_by_rule(out, out_value, spans, wanted)


@compiled
def _put_summaries(
    candidates: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    bests: tuple[NDArray[np.float64], NDArray[np.float64]],
    few: NDArray[np.int32],
    out: Out,
    spans: NDArray[np.int64],
    filled: int,
) -> int:
    """Write what the best rules say about each candidate; returns how many results there are.

    `few` is scratch for the candidates that have a value.
    """
    number = 0
    for k in range(SUMMARIES):
        spans[k] = filled
        best, is_one = bests[0] if k < 2 else bests[1], k % 2 == 0
        if is_one:
            number = 0
            for answer in candidates[: len(candidates) if wanted[k] or wanted[k + 1] else 0]:
                few[np.uint64(number)] = answer
                number += best[np.uint32(answer), 0] > 0
        for answer in few[: number if wanted[k] else 0]:
            place = np.uint32(answer)
            out.entity[np.uint64(filled)] = answer
            out.value[np.uint64(filled)] = _strength(best[place, 0]) if is_one else _several(best[place])
            filled += 1
    return filled
