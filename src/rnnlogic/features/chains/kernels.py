"""Compiled kernels that count grounding paths; every public one has a plain twin in `reference.py`.

Each works on one head relation and one batch of queries. The outer loop walks the trie, the inner loop the
batch, so the rows of one relation stay in cache. A query's own fact (head, relation, hidden tail) is left out
in both directions; a hidden tail of -1 hides nothing. A hidden tail below -1 stands for the tail -2 - hidden:
then no step leads directly from the head to that tail, or back, by any relation.

Inner loops have unsigned places: signed ones are each checked for being counted from the end of an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.trie import Trie

WRONG, ANSWER, LEFT_OUT = 0, 1, 2  # labels of candidates
_LOG1P = np.log1p(np.arange(1024.0))


@compiled
def edges_of(graph: GraphArrays, relation: int, head: int) -> tuple[np.int64, np.int64]:
    """Range of the edges of (relation, head) in `graph.tails`."""
    if graph.direct.shape[0] > 0:
        return np.int64(graph.direct[relation, head]), np.int64(graph.direct[relation, head + 1])
    lo, hi = graph.relation_rows[relation], graph.relation_rows[relation + 1]
    end = hi
    while lo < hi:
        middle = (lo + hi) >> 1
        if graph.row_head[middle] < head:
            lo = middle + 1
        else:
            hi = middle
    if lo == end or graph.row_head[lo] != head:
        return np.int64(0), np.int64(0)
    return graph.row_edges[lo], graph.row_edges[lo + 1]


@compiled
def hidden_edge(step: int, relation: int, inverse: int, head: int, hidden: int) -> tuple[int, int]:
    """Source and target of the edge that this step must not use; (-1, -1) for none."""
    if hidden < -1:
        return head, -2 - hidden
    if hidden >= 0:
        if step == relation:
            return head, hidden
        if step == inverse:
            return hidden, head
    return -1, -1


@compiled
def room(entities: Any, counts: Any, used: int, need: int) -> Any:
    """The two buffers, grown so that `need` more entries fit after `used`."""
    if used + need <= len(entities):
        return entities, counts
    size = max(2 * len(entities), used + need)
    more_entities, more_counts = np.empty(size, entities.dtype), np.empty(size, counts.dtype)
    more_entities[:used] = entities[:used]
    more_counts[:used] = counts[:used]
    return more_entities, more_counts


@compiled
def _step(
    graph: GraphArrays,
    step: int,
    hidden_from: int,
    hidden_to: int,
    both_ways: bool,
    stack: NDArray[np.int32],
    stack_count: NDArray[Any],
    lo: int,
    hi: int,
    start: int,
    sums: NDArray[Any],
) -> int:
    """Walk one step from the entities stack[lo:hi] and write what is reached to stack[start:end]; return end.

    `sums` has one entry per entity, all zero before and after.
    """
    end = start
    if hi - lo == 1:  # no two walks can meet
        entity = stack[lo]
        first, last = edges_of(graph, step, entity)
        count = stack_count[lo]
        for edge in range(np.uint64(first), np.uint64(last)):
            tail = graph.tails[edge]
            stack[np.uint64(end)], stack_count[np.uint64(end)] = tail, count
            is_hidden = (entity == hidden_from and tail == hidden_to) or (
                both_ways and entity == hidden_to and tail == hidden_from
            )
            end += not is_hidden
        return end
    tails, direct = graph.tails, graph.direct
    for i in range(np.uint64(lo), np.uint64(hi)):
        entity, count = stack[i], stack_count[i]
        if direct.shape[0] > 0:
            row = direct[step]
            first, last = np.int64(row[np.uint32(entity)]), np.int64(row[np.uint32(entity + 1)])
        else:
            first, last = edges_of(graph, step, entity)
        for edge in range(np.uint64(first), np.uint64(last)):
            tail = tails[edge]
            if entity == hidden_from and tail == hidden_to:
                continue
            if both_ways and entity == hidden_to and tail == hidden_from:
                continue
            before = sums[np.uint32(tail)]
            stack[np.uint64(end)] = tail
            end += before == 0
            sums[np.uint32(tail)] = before + count
    for i in range(np.uint64(start), np.uint64(end)):
        place = np.uint32(stack[i])
        stack_count[i] = sums[place]
        sums[place] = 0
    return end


@compiled
def ground_counts(
    graph: GraphArrays,
    trie: Trie,
    heads: NDArray[np.int32],
    hidden: NDArray[np.int32],
    relation: int,
    inverse: int,
    sums: NDArray[Any],
    limit: int,
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Walk counts of every body of the trie from every query head.

    Returns entity [n], count [n] (of the dtype of `sums`, a zero array [E]) and ptr [bodies * queries + 1]:
    body k reaches from query q the entities entity[ptr[i] : ptr[i + 1]] with i = k * queries + q, in order of
    first visit. With several queries and more than `limit` results it gives up and returns an empty ptr.
    """
    queries, slack = len(heads), len(sums) + 1
    levels = trie.depth.max() + 1
    # What is reached on the way to the current node: depth by depth, and for each depth query by query.
    stack, stack_count = np.empty(queries + slack, np.int32), np.empty(queries + slack, sums.dtype)
    span = np.zeros((levels, queries + 1), np.int64)  # stack[span[depth, q] : span[depth, q + 1]]
    out, out_count = np.empty(4 * slack, np.int32), np.empty(4 * slack, sums.dtype)
    used = 0
    ptr = np.zeros(len(trie.body) * queries + 1, np.int64)
    stack[:queries], stack_count[:queries] = heads, 1
    span[0] = np.arange(queries + 1)
    node = 0
    while node < len(trie.depth):
        depth, step, ends = trie.depth[node], trie.relation[node], trie.ends[node]
        if depth > 0:
            place = span[depth - 1, queries]
            for q in range(queries):
                span[depth, q] = place
                lo, hi = span[depth - 1, q], span[depth - 1, q + 1]
                if lo < hi:
                    hidden_from, hidden_to = hidden_edge(step, relation, inverse, heads[q], hidden[q])
                    stack, stack_count = room(stack, stack_count, place, slack)
                    edge = hidden_from, hidden_to, hidden[q] < -1
                    place = _step(graph, step, *edge, stack, stack_count, lo, hi, place, sums)
            span[depth, queries] = place
        first, last = span[depth, 0], span[depth, queries]
        if ends >= 0:
            out, out_count = room(out, out_count, used, last - first)
            out[used : used + last - first] = stack[first:last]
            out_count[used : used + last - first] = stack_count[first:last]
            ptr[ends * queries + 1 : (ends + 1) * queries + 1] = span[depth, 1:] - span[depth, :-1]
            used += last - first
            if used > limit and queries > 1:
                return out[:0], out_count[:0], ptr[:0]
        node = node + 1 if first < last else trie.after[node]
    return out[:used], out_count[:used], np.cumsum(ptr)


@compiled
def _feature(count: Any, feature: int) -> float:
    """What n walks contribute per unit of rule weight: n, log(1 + n) or 1; see `FEATURE_CODES`."""
    if feature != 1:
        return float(count) if feature == 0 else 1.0
    return float(_LOG1P[int(count)]) if count < len(_LOG1P) else float(np.log1p(float(count)))


@compiled
def features_of(
    count: NDArray[Any], rule: NDArray[np.integer], code: NDArray[np.int8], values: NDArray[Any]
) -> None:
    """The feature of each count [n] by the code [rules] of its rule [n], written to `values` [n]."""
    for i in range(len(count)):
        values[i] = _feature(count[i], code[rule[i]])


@compiled
def score_candidates(
    entity: NDArray[np.int32],
    count: NDArray[Any],
    ptr: NDArray[np.int64],
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
    entity: NDArray[np.int32],
    count: NDArray[Any],
    ptr: NDArray[np.int64],
    queries: int,
    rules: NDArray[np.int32],
    answers: NDArray[np.int32],
    size: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Turn grounded bodies into candidates (query, entity), each with `rules` [bodies] and counts.

    Queries that do not reach their answer [queries] have no candidates; without answers (length 0) all have.
    Returns query [c], entity [c], ptr [c+1], rule [n], count [n]; candidates ascend by query and entity, the
    rules of one candidate have the order of the bodies. `size` [E] is zero before and after.
    """
    bodies = len(rules)
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
