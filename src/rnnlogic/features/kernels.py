"""Compiled operations on the answers of queries; public ones have plain twins in `reference.py`.

Inner loops have unsigned places, so that numba leaves out the check for places counted from the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.base import Answers, Batch, Items, Rows
from rnnlogic.features.chains.kernels import edges_of

LINKS = 4  # reversed, linked, linked back, itself
RATES = 3  # seen, frequency, degree


@compiled
def grown(array: Any, size: int) -> Any:
    """A longer array with the same beginning."""
    more = np.empty(size, array.dtype)
    more[: len(array)] = array
    return more


@compiled
def collect_answers(
    known_ptr: NDArray[np.int64],
    known: NDArray[np.int32],
    ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    is_found: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Answers known [q] so far, then the new ones of bodies, in order of first visit: ptr [q+1], entity [c].

    Body k reaches entity[ptr[k * q + i] : ptr[k * q + i + 1]] for query i. `is_found` [E] is False before and
    after.
    """
    queries = len(known_ptr) - 1
    bodies = (len(ptr) - 1) // max(queries, 1)
    size = min(len(known) + len(entity), queries * len(is_found)) + 1
    found, found_ptr = np.empty(size, np.int32), np.zeros(queries + 1, np.int64)
    used = 0
    for q in range(queries):
        for i in range(np.uint64(known_ptr[q]), np.uint64(known_ptr[q + 1])):
            found[np.uint64(used)] = known[i]
            is_found[np.uint32(known[i])] = True
            used += 1
        for k in range(bodies):
            for i in range(np.uint64(ptr[k * queries + q]), np.uint64(ptr[k * queries + q + 1])):
                place = np.uint32(entity[i])
                found[np.uint64(used)] = place
                used += not is_found[place]
                is_found[place] = True
        for i in range(found_ptr[q], used):
            is_found[np.uint32(found[i])] = False
        found_ptr[q + 1] = used
    return found_ptr, found[:used]


@compiled
def number_answers(
    ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    bodies: NDArray[np.int64],
    queries: int,
    number: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Answers of some bodies, ptr [q+1] and entity [c], and their rows: candidate [n] and body [n].

    `number` [E] is zero before and after.
    """
    total = 0
    for k in bodies:
        total += ptr[(k + 1) * queries] - ptr[k * queries]
    candidate, body = np.empty(total, np.int32), np.empty(total, np.int32)
    found, found_ptr = np.empty(min(total, queries * len(number)), np.int32), np.zeros(queries + 1, np.int64)
    used, row = 0, np.uint64(0)
    for q in range(queries):
        for k in bodies:
            for i in range(np.uint64(ptr[k * queries + q]), np.uint64(ptr[k * queries + q + 1])):
                place = np.uint32(entity[i])
                if number[place] == 0:
                    found[used] = place
                    used += 1
                    number[place] = used
                candidate[row], body[row] = number[place] - 1, k
                row += np.uint64(1)
        for i in range(found_ptr[q], used):
            number[np.uint32(found[i])] = 0
        found_ptr[q + 1] = used
    return found_ptr, found[:used], candidate, body


@compiled
def largest(
    candidate: NDArray[np.integer], rule: NDArray[np.integer], strength: NDArray[np.float32], size: int
) -> NDArray[np.float32]:
    """The largest strength [rules] of the rules that reach each candidate [size]; 0 without any."""
    found = np.zeros(size, np.float32)
    for i in range(np.uint64(len(candidate))):
        place, own = np.uint64(candidate[i]), strength[np.uint64(rule[i])]
        found[place] = max(found[place], own)
    return found


@compiled
def rule_by_rule(
    entity: NDArray[np.int32], value: NDArray[np.float32], spans: NDArray[np.int64], wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Rows ordered by query, then feature, as rows ordered by feature: ptr, entity, value of those wanted.

    Feature k of query q has entity[spans[q, k] : spans[q, k + 1]].
    """
    queries = len(spans)
    size = spans[queries - 1, len(wanted)] if queries else 0
    to_entity, to_value = np.empty(size, np.int32), np.empty(size, np.float32)
    ptr = np.zeros(wanted.sum() * queries + 1, np.int64)
    filled, cell = 0, 0
    for k in range(len(wanted)):
        for q in range(queries if wanted[k] else 0):
            lo, hi = spans[q, k], spans[q, k + 1]
            to_entity[filled : filled + hi - lo] = entity[lo:hi]
            to_value[filled : filled + hi - lo] = value[lo:hi]
            filled += hi - lo
            cell += 1
            ptr[cell] = filled
    return ptr, to_entity[:filled], to_value[:filled]


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
def _mark_links(
    graph: GraphArrays,
    items: Items,
    head: int,
    relation: int,
    hidden: int,
    all_links: bool,
    marks: NDArray[np.int8],
) -> None:
    """Which entities are linked to the head: bit 0 by the relation reversed, 1 from the head, 2 to it."""
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    for i in range(items.ptr[head], items.ptr[head + 1]):
        row = items.row[i]
        by, other = items.relation[row], graph.row_head[row]  # by(other, head)
        if by == inverse or not is_visible(items, graph, row, relation, hidden, all_links):
            continue
        if by == relation and other == head:  # r(x,x) reversed is the same fact
            continue
        if by == relation:
            marks[other] |= 1
        else:
            marks[other] |= 2 if by >= items.num_relations else 4


class Counted(NamedTuple):
    """The answers of a relation."""

    frequent: NDArray[np.int32]  # the most frequent ones
    times: NDArray[np.int64]  # [E] facts of the relation that lead to each entity


@compiled
def describe_links(
    graph: GraphArrays,
    items: Items,
    wanted: NDArray[np.bool_],
    batch: Batch,
    answers: Answers,
    marks: NDArray[np.int8],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Which answers of queries [q] are linked to the head, or are the head: rows of the wanted [LINKS].

    `marks` [E] is zero before and after.
    """
    heads, hidden, relation, ptr = batch.heads, batch.hidden, batch.relation, answers.ptr
    out = np.empty(LINKS * len(answers.entity), np.int32)
    spans = np.zeros((len(heads), LINKS + 1), np.int64)
    few = np.empty(len(marks), np.int32)  # answers that are linked at all
    filled = 0
    for q in range(len(heads)):
        head, all_links = heads[q], hidden[q] < -1
        tail = -2 - hidden[q] if all_links else hidden[q]
        _mark_links(graph, items, head, relation, tail, all_links, marks)
        number, has_head = 0, False
        for i in range(ptr[q], ptr[q + 1]):
            if marks[np.uint32(answers.entity[i])] != 0:
                few[number] = answers.entity[i]
                number += 1
            has_head |= answers.entity[i] == head
        for k in range(LINKS - 1):
            spans[q, k] = filled
            for answer in few[: number if wanted[k] else 0]:
                out[filled] = answer
                filled += (marks[answer] >> k) & 1
        spans[q, LINKS - 1] = filled
        if wanted[LINKS - 1] and has_head:
            out[filled] = head
            filled += 1
        spans[q, LINKS] = filled
        for row in items.row[items.ptr[head] : items.ptr[head + 1]]:
            marks[graph.row_head[row]] = 0
    return rule_by_rule(out, np.ones(filled, np.float32), spans, wanted)


@compiled
def _logarithms(items: Items) -> NDArray[np.float64]:
    """log(1 + n) for all n up to the number of facts of any entity."""
    return np.log1p(np.arange(np.diff(items.ptr).max() + 1).astype(np.float64))


@compiled
def describe_rates(
    graph: GraphArrays,
    items: Items,
    counted: Counted,
    wanted: NDArray[np.bool_],
    batch: Batch,
    answers: Answers,
    is_found: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """How often answers of queries [q] are answers of other queries: rows of the wanted [RATES].

    The frequent ones are answers, too, if other heads than that of the query have them. `is_found` [E] is
    False before and after.
    """
    (frequent, times), heads, relation, ptr = counted, batch.heads, batch.relation, answers.ptr
    out, out_value = np.empty(1024, np.int32), np.empty(1024, np.float32)
    spans = np.zeros((len(heads), RATES + 1), np.int64)
    few = np.empty(len(is_found), np.int32)  # answers that others have, too
    logs, is_known = _logarithms(items), np.zeros(len(is_found), np.bool_)
    filled = 0
    for q in range(len(heads)):
        first, last = edges_of(graph, relation, heads[q])
        is_known[graph.tails[first:last]] = True
        number = 0
        for i in range(ptr[q], ptr[q + 1]):
            place = np.uint32(answers.entity[i])
            few[np.uint64(number)] = place
            number += times[place] > is_known[place]
            is_found[place] = True
        for answer in frequent:
            place = np.uint32(answer)
            if times[place] > is_known[place] and not is_found[place]:
                few[number] = answer
                number += 1
        if filled + RATES * number > len(out):
            size = 2 * (filled + RATES * number)
            out, out_value = grown(out, size), grown(out_value, size)
        for k in range(RATES):
            spans[q, k] = filled
            for answer in few[: number if wanted[k] else 0]:
                place, amount = np.uint32(answer), 1.0
                if k == 1:
                    amount = logs[np.uint64(times[place] - is_known[place])]
                elif k == 2:
                    degree = items.ptr[np.uint32(answer + 1)] - items.ptr[place]
                    amount = logs[np.uint64(degree - is_known[place])]
                out[np.uint64(filled)], out_value[np.uint64(filled)] = answer, amount
                filled += 1
        spans[q, RATES] = filled
        for i in range(ptr[q], ptr[q + 1]):
            is_found[np.uint32(answers.entity[i])] = False
        is_known[graph.tails[first:last]] = False
    return rule_by_rule(out, out_value, spans, wanted)


@compiled
def held_results(
    candidate_ptr: NDArray[np.int64],
    rule: NDArray[np.integer],
    value: NDArray[np.floating],
    held: NDArray[np.int64],
    column: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """The results of the candidates held [h], by new rule numbers column [rules], without those of -1.

    Returns candidate_ptr [h+1], rule [n], value [n].
    """
    ptr = np.zeros(len(held) + 1, np.int64)
    for i in range(len(held)):
        found = 0
        for n in range(np.uint64(candidate_ptr[held[i]]), np.uint64(candidate_ptr[held[i] + 1])):
            found += column[np.uint32(rule[n])] >= 0
        ptr[i + 1] = ptr[i] + found
    rules, values = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], np.float32)
    for i in range(len(held)):
        free = np.uint64(ptr[i])
        for n in range(np.uint64(candidate_ptr[held[i]]), np.uint64(candidate_ptr[held[i] + 1])):
            number = column[np.uint32(rule[n])]
            if number >= 0:
                rules[free], values[free] = number, value[n]
                free += np.uint64(1)
    return ptr, rules, values


WRONG, ANSWER, LEFT_OUT = 0, 1, 2  # labels of candidates


_LOG1P = np.log1p(np.arange(1024.0))


@compiled
def _feature(count: Any, feature: int) -> float:
    """What n walks contribute per unit of rule weight: n, log(1 + n) or 1; see `FEATURE_CODES`.

    Walks of small weight are less than one walk, and contribute less.
    """
    if feature != 1:
        return float(count) if feature == 0 else min(float(count), 1.0)
    if count < len(_LOG1P) and int(count) == count:
        return float(_LOG1P[int(count)])
    return float(np.log1p(float(count)))


@compiled
def features_of(
    count: NDArray[Any], rule: NDArray[np.integer], code: NDArray[np.int8], values: NDArray[Any]
) -> None:
    """The feature of each count [n] by the code [rules] of its rule [n], written to `values` [n]."""
    for i in range(len(count)):
        values[i] = _feature(count[i], code[rule[i]])


@compiled
def score_candidates(
    rows: Rows,
    weights: NDArray[np.float64],
    code: NDArray[np.int8],
    queries: int,
    sums: NDArray[np.float64],
    reached: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Sum of weight times feature over the grounded bodies, for every entity that any of them reaches.

    Returns ptr [queries+1], entity [c] in order of first visit, score [c]. Bodies are added in order, so
    entities with equal counts get bit-equal scores. `sums` [E] and `reached` [E] are zero before and after.
    """
    entity, count, ptr = rows.entity, rows.value, rows.ptr
    size = min(len(entity), queries * len(sums)) + 1
    candidate, score = np.empty(size, np.int32), np.empty(size)
    candidate_ptr = np.zeros(queries + 1, np.int64)
    used = 0
    for q in range(queries):
        for k in range(len(weights)):
            for i in range(np.uint64(ptr[k * queries + q]), np.uint64(ptr[k * queries + q + 1])):
                place = np.uint32(entity[i])
                candidate[np.uint64(used)] = place
                used += not reached[place]
                reached[place] = True
                sums[place] += weights[k] * _feature(count[i], code[k])
        for i in range(candidate_ptr[q], used):
            place = candidate[i]
            score[i] = sums[place]
            sums[place], reached[place] = 0.0, False
        candidate_ptr[q + 1] = used
    return candidate_ptr, candidate[:used], score[:used]


@compiled
def ascending(ids: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """Ids below `most` in ascending order, byte by byte: several times as fast as sorting by comparisons."""
    other, place, shift = np.empty_like(ids), np.empty(257, np.int64), 0
    while most >> shift:
        place[:] = 0
        for i in range(np.uint64(len(ids))):
            place[np.uint64(((ids[i] >> shift) & 255) + 1)] += 1
        for i in range(255):
            place[i + 1] += place[i]
        for i in range(np.uint64(len(ids))):
            digit = np.uint64((ids[i] >> shift) & 255)
            other[np.uint64(place[digit])] = ids[i]
            place[digit] += 1
        ids, other = other, ids
        shift += 8
    return ids


@compiled
def group_by_candidate(
    rows: Rows, queries: int, answers: NDArray[np.int32], size: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Turn grounded bodies into candidates (query, entity), each with the places of its rules, and counts.

    Queries that do not reach their answer [queries] have no candidates; without answers (length 0) all have.
    Returns query [c], entity [c], ptr [c+1], rule [n], count [n]; candidates ascend by query and entity, the
    rules of one candidate have the order of the bodies. `size` [E] is zero before and after.
    """
    entity, count, ptr = rows.entity, rows.value, rows.ptr
    rules, bodies = rows.place.astype(np.int32), len(rows.place)
    rule_of, count_of = np.empty(len(entity), np.int32), np.empty(len(entity), count.dtype)
    query_of, entity_of = np.empty(len(entity), np.int64), np.empty(len(entity), np.int32)
    end_of = np.empty(len(entity) + 1, np.int64)
    touched = np.empty(len(size) + 1, np.int32)  # one is written before it is known to be new
    candidates, filled = 0, 0
    end_of[0] = 0
    for q in range(queries):
        reached = 0
        for k in range(bodies):
            for i in range(np.uint64(ptr[k * queries + q]), np.uint64(ptr[k * queries + q + 1])):
                place = np.uint32(entity[i])
                before = size[place]
                touched[np.uint64(reached)] = entity[i]
                reached += before == 0
                size[place] = before + 1
        if len(answers) > 0 and size[answers[q]] == 0:
            size[touched[:reached]] = 0
            continue
        for e in ascending(touched[:reached].copy(), len(size)):
            query_of[candidates], entity_of[candidates] = q, e
            filled += size[e]
            size[e] = filled - size[e]  # from now on: where the candidate's next body goes
            candidates += 1
            end_of[candidates] = filled
        for k in range(bodies):
            for i in range(np.uint64(ptr[k * queries + q]), np.uint64(ptr[k * queries + q + 1])):
                free = np.uint64(size[np.uint32(entity[i])])
                rule_of[free], count_of[free] = rules[k], count[i]
                size[np.uint32(entity[i])] = free + np.uint64(1)
        size[touched[:reached]] = 0
    of_results = rule_of[:filled], count_of[:filled]
    return query_of[:candidates], entity_of[:candidates], end_of[: candidates + 1], *of_results


@compiled
def label_candidates(
    graph: GraphArrays,
    relation: int,
    heads: NDArray[np.int32],
    answers: NDArray[np.int32],
    query_ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    leave_out: bool,
) -> NDArray[np.int8]:
    """ANSWER for the query's answer, LEFT_OUT for its other known answers if `leave_out`, else WRONG."""
    label = np.zeros(len(entity), np.int8)
    for q in range(len(heads)):
        known, last = edges_of(graph, relation, heads[q])
        for c in range(query_ptr[q], query_ptr[q + 1]):
            while known < last and graph.tails[known] < entity[c]:
                known += 1
            if entity[c] == answers[q]:
                label[c] = ANSWER
            elif leave_out and known < last and graph.tails[known] == entity[c]:
                label[c] = LEFT_OUT
    return label
