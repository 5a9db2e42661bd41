"""Compiled kernels that count grounding paths; every public one has a plain twin in `reference.py`.

Each works on one head relation and one batch of queries. The outer loop walks the trie, the inner loop the
batch, so the rows of one relation stay in cache. A query's own fact (head, relation, hidden tail) is left out
in both directions; a hidden tail of -1 hides nothing. A hidden tail below -1 stands for the tail -2 - hidden:
then no step leads directly from the head to that tail, or back, by any relation.

Simple paths are counted as walks that use no loop, never come back to the head, and never step straight back
to the entity before. Up to three steps these are exactly the paths that visit no entity twice. Longer ones
may meet an entity again, other than the head, after three steps or more.

Where edges have weights [2F], whole numbers, a path counts the product of the weights of its edges. Without,
they are None: numba then compiles the kernel without them, so graphs without weights pay nothing.

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
def _has_edge(graph: GraphArrays, relation: int, head: int, tail: int) -> bool:
    """Whether the graph has this edge."""
    lo, end = edges_of(graph, relation, head)
    place = lo + np.searchsorted(graph.tails[lo:end], tail)
    return bool(place < end and graph.tails[place] == tail)


@compiled
def _weight(graph: GraphArrays, weights: Any, relation: int, head: int, tail: int) -> Any:
    """The weight of an edge that the graph has; 1 if edges have none."""
    if weights is None:
        return 1
    lo, end = edges_of(graph, relation, head)
    return weights[lo + np.searchsorted(graph.tails[lo:end], tail)]


@compiled
def _step(
    graph: GraphArrays,
    step: int,
    hidden_from: int,
    hidden_to: int,
    both_ways: bool,
    is_simple: bool,
    stack: NDArray[np.int32],
    stack_count: NDArray[Any],
    lo: int,
    hi: int,
    start: int,
    sums: NDArray[Any],
    weights: Any,
) -> int:
    """Walk one step from the entities stack[lo:hi] and list what is reached in stack[start:end]; return end.

    Adds the walks to `sums` [E], which is zero before. A simple path uses no loop.
    """
    end = start
    tails, direct = graph.tails, graph.direct
    for i in range(np.uint64(lo), np.uint64(hi)):
        entity, count = stack[i], stack_count[i]
        if direct.shape[0] > 0:
            row = direct[step]
            first, last = np.int64(row[np.uint32(entity)]), np.int64(row[np.uint32(entity + 1)])
        else:
            first, last = edges_of(graph, step, entity)
        loop = entity if is_simple else np.int32(-1)
        for edge in range(np.uint64(first), np.uint64(last)):
            tail = tails[edge]
            if entity == hidden_from and tail == hidden_to:
                continue
            if both_ways and entity == hidden_to and tail == hidden_from:
                continue
            if tail == loop:
                continue
            before = sums[np.uint32(tail)]
            stack[np.uint64(end)] = tail
            end += before == 0
            if weights is None:
                sums[np.uint32(tail)] = before + count
            else:
                sums[np.uint32(tail)] = before + count * weights[edge]
    return end


@compiled
def _step_from_one(
    graph: GraphArrays,
    step: int,
    hidden_from: int,
    hidden_to: int,
    both_ways: bool,
    head: int,
    before: int,
    stack: NDArray[np.int32],
    stack_count: NDArray[Any],
    lo: int,
    start: int,
    weights: Any,
) -> int:
    """The same from one entity, where no two walks can meet: also writes the counts.

    For a simple path, `head` and the entity `before`, from which all walks came, are not entered; for a walk
    both are -1.
    """
    entity, count, end = stack[lo], stack_count[lo], start
    first, last = edges_of(graph, step, entity)
    loop = entity if head >= 0 else np.int32(-1)
    for edge in range(np.uint64(first), np.uint64(last)):
        tail = graph.tails[edge]
        stack[np.uint64(end)] = tail
        if weights is None:
            stack_count[np.uint64(end)] = count
        else:
            stack_count[np.uint64(end)] = count * weights[edge]
        is_hidden = (entity == hidden_from and tail == hidden_to) or (
            both_ways and entity == hidden_to and tail == hidden_from
        )
        end += not is_hidden and tail != head and tail != loop and tail != before
    return end


@compiled
def _collect(
    stack: NDArray[np.int32],
    stack_count: NDArray[Any],
    start: int,
    end: int,
    head: int,
    sums: NDArray[Any],
) -> int:
    """Move counts of stack[start:end] out of `sums`, without `head` and entities of count 0; return end."""
    kept = start
    for i in range(np.uint64(start), np.uint64(end)):
        entity = stack[i]
        count = sums[np.uint32(entity)]
        sums[np.uint32(entity)] = 0
        stack[np.uint64(kept)], stack_count[np.uint64(kept)] = entity, count
        kept += count != 0 and entity != head
    return kept


@compiled
def _returns(graph: GraphArrays, weights: Any, there: int, here: int, entity: int) -> int:
    """Other entities that both relations lead to from an entity; each counts the weights of both edges."""
    first, last = edges_of(graph, there, entity)
    if first == last:
        return 0
    if there == here:
        if weights is None:
            return int(last - first) - _has_edge(graph, there, entity, entity)
        total = 0
        for edge in range(first, last):
            total += weights[edge] * weights[edge] * (graph.tails[edge] != entity)
        return total
    other, end = edges_of(graph, here, entity)
    if last - first > end - other:
        first, last, other, end = other, end, first, last
    found = 0
    for edge in range(first, last):
        tail = graph.tails[edge]
        if end - other > 16:
            other += np.searchsorted(graph.tails[other:end], tail)
        while other < end and graph.tails[other] < tail:
            other += 1
        if other == end:
            break
        if weights is None:
            found += graph.tails[other] == tail and tail != entity
        elif graph.tails[other] == tail and tail != entity:
            found += weights[edge] * weights[other]
    return found


@compiled
def take_back(
    graph: GraphArrays,
    weights: Any,
    node: int,
    there: int,
    back: int,
    head: int,
    stack: NDArray[np.int32],
    stack_count: NDArray[Any],
    lo: int,
    hi: int,
    sums: NDArray[Any],
    memory: NDArray[np.int64],
) -> None:
    """Subtract the walks of three steps whose last two go from an entity of stack[lo:hi] and straight back.

    Walks by way of the head are not among them. `memory` [E] keeps what was counted for the same node of the
    trie: the queries of a batch have much in common.
    """
    relations = len(graph.relation_rows) - 1
    here, from_head = (back + relations // 2) % relations, (there + relations // 2) % relations
    first, last = edges_of(graph, back, head)
    mark = np.int64(node) << 40  # what is counted is smaller, with weights too
    for i in range(np.uint64(lo), np.uint64(hi)):
        entity = stack[i]
        if sums[np.uint32(entity)] == 0:
            continue
        known = memory[np.uint32(entity)] - mark
        if known < 0:
            known = np.int64(_returns(graph, weights, there, here, entity))
            memory[np.uint32(entity)] = mark + known
        if known > 0:
            is_by_head = first < last and _has_edge(graph, back, head, entity)
            if is_by_head and (here == there or _has_edge(graph, from_head, head, entity)):
                by_head = _weight(graph, weights, back, head, entity)
                known -= by_head * _weight(graph, weights, from_head, head, entity)
            sums[np.uint32(entity)] -= stack_count[i] * known


@compiled
def give_back(
    graph: GraphArrays,
    weights: Any,
    path: NDArray[np.int32],
    turns: NDArray[np.bool_],
    depth: int,
    head: int,
    stack: NDArray[np.int32],
    stack_count: NDArray[Any],
    span: NDArray[np.int64],
    q: int,
    sums: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """Add to `sums` the walks along `path` that `take_back` subtracts though they are not there.

    These stepped straight back before: from u to v and u, and then to v. `counts` [levels, E] is zero before
    and after; `turns` [levels] says where a step may lead straight back.
    """
    relations = len(graph.relation_rows) - 1
    here = (path[depth] + relations // 2) % relations
    lowest = depth - 3
    while lowest > 1 and turns[lowest + 1]:
        lowest -= 1
    lo, hi = span[depth - 3, q], span[depth - 3, q + 1]
    for level in range(lowest, depth - 2):
        for i in range(span[level, q], span[level, q + 1]):
            counts[level, stack[i]] = stack_count[i]
    for i in range(span[depth - 2, q], span[depth - 2, q + 1]):
        v = stack[i]
        if sums[v] == 0:
            continue
        first, last = edges_of(graph, path[depth - 1], v)
        is_short = last - first <= hi - lo
        for k in range(first if is_short else lo, last if is_short else hi):
            u = graph.tails[k] if is_short else stack[k]
            is_other = u != v and u != head and counts[depth - 3, u] != 0
            if not is_other or not (is_short or _has_edge(graph, path[depth - 1], v, u)):
                continue
            if _has_edge(graph, path[depth - 2], u, v) and _has_edge(graph, here, v, u):
                there_and_back = _weight(graph, weights, path[depth - 1], v, u)
                there_and_back *= _weight(graph, weights, here, v, u)
                sums[v] += there_and_back * _last_steps(graph, weights, path, depth - 2, u, v, counts)
    for level in range(lowest, depth - 2):
        for i in range(span[level, q], span[level, q + 1]):
            counts[level, stack[i]] = 0


@compiled
def _last_steps(
    graph: GraphArrays,
    weights: Any,
    path: NDArray[np.int32],
    length: int,
    source: int,
    target: int,
    counts: NDArray[Any],
) -> Any:
    """Walks of so many steps whose last step leads from source to target.

    These are all that lead to the source, except those that came there from the target.
    """
    factor = _weight(graph, weights, path[length], source, target)
    total = factor * counts[length - 1, source]
    is_added = False
    for level in range(length - 2, 0, -1):
        if not _has_edge(graph, path[level + 1], target, source):
            break
        source, target = target, source
        factor *= _weight(graph, weights, path[level + 1], source, target)
        total += factor * (counts[level, source] if is_added else -counts[level, source])
        is_added = not is_added
    return total


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
    is_simple: bool,
    may_turn: NDArray[np.bool_],
    weights: Any,
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Counts of the simple paths, or of all walks, along every body of the trie from every query head.

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
    path, turns = np.zeros(levels, np.int32), np.zeros(levels, np.bool_)  # the steps to the current node
    counts = np.zeros((levels if levels > 4 and may_turn.any() else 0, len(sums)), sums.dtype)
    memory = np.full(len(sums) if may_turn.any() else 0, -1, np.int64)
    node = 0
    while node < len(trie.depth):
        depth, step, ends = trie.depth[node], trie.relation[node], trie.ends[node]
        if depth > 0:
            path[depth], turns[depth] = step, may_turn[node]
            place = span[depth - 1, queries]
            for q in range(queries):
                span[depth, q] = place
                lo, hi = span[depth - 1, q], span[depth - 1, q + 1]
                if lo < hi:
                    stack, stack_count = room(stack, stack_count, place, slack)
                    edge = *hidden_edge(step, relation, inverse, heads[q], hidden[q]), hidden[q] < -1
                    head, came_from = heads[q] if is_simple else -1, -1
                    sources = 0  # entities two steps before, to which a path must not go straight back
                    if may_turn[node]:
                        sources = span[depth - 2, q + 1] - span[depth - 2, q]
                        came_from = int(stack[span[depth - 2, q]])
                    if hi - lo == 1 and sources < 2:
                        place = _step_from_one(
                            graph, step, *edge, head, came_from, stack, stack_count, lo, place, weights
                        )
                        continue
                    end = _step(
                        graph, step, *edge, is_simple, stack, stack_count, lo, hi, place, sums, weights
                    )
                    if sources and depth > 3 and turns[depth - 1]:
                        reached = stack, stack_count, span, q, sums, counts
                        give_back(graph, weights, path, turns, depth, head, *reached)
                    if sources:
                        before = span[depth - 2, q], span[depth - 2, q + 1]
                        there_and_back = node, path[depth - 1], step
                        take_back(
                            graph, weights, *there_and_back, head, stack, stack_count, *before, sums, memory
                        )
                    place = _collect(stack, stack_count, place, end, head, sums)
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
