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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.base import Batch, Budget


class Trie(NamedTuple):
    """Bodies in depth-first preorder; node 0 is the root (the empty body).

    A node's parent is the nearest earlier node that is one less deep. `body[k]` says which of the given
    bodies is the k-th to end in preorder, and `ends[node]` is that k, or -1.
    """

    relation: NDArray[np.int32]  # [nodes] relation of the step into the node; -1 at the root
    depth: NDArray[np.int32]  # [nodes]
    after: NDArray[np.int32]  # [nodes] first node after the node's subtree
    ends: NDArray[np.int32]  # [nodes] k of the body that ends here, or -1
    body: NDArray[np.int64]  # [bodies] k -> index into the bodies given


class Paths(NamedTuple):
    """Which walks count as paths."""

    is_simple: bool  # they use no loop, never come back to the head, and never step straight back
    may_turn: NDArray[np.bool_]  # [nodes of the trie] where a step could lead straight back


class Stack(NamedTuple):
    """Entities and the number of paths to each."""

    entity: NDArray[np.int32]
    paths: NDArray[Any]


class Step(NamedTuple):
    """One step of the walks of a query, and the edge that it must not use."""

    relation: int
    hidden_from: int
    hidden_to: int
    both_ways: bool  # whether the edge is hidden the other way round, too
    head: int  # which simple paths do not enter; -1 for walks


class Levels(NamedTuple):
    """The way to the current node of a trie, and what lies on it, depth by depth."""

    relation: NDArray[np.int32]  # [levels] of the step
    node: NDArray[np.int64]  # [levels]
    may_turn: NDArray[np.bool_]  # [levels] whether the step could lead straight back
    span: NDArray[np.int64]  # [levels, queries + 1] q reaches stack[span[depth, q] : span[depth, q + 1]]
    counts: NDArray[Any]  # [levels, E] zeros, for `_give_back`
    memory: NDArray[np.int64]  # [E] what `_take_back` counted; the queries of a batch have much in common


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
def step_of(relation: int, asked: int, half: int, head: int, hidden: int, is_simple: bool) -> Step:
    """A step along a relation for a query of the relation `asked`; `half` is the number of relations."""
    source, target = -1, -1
    if hidden < -1:
        source, target = head, -2 - hidden
    elif hidden >= 0 and relation == asked:
        source, target = head, hidden
    elif hidden >= 0 and relation == (asked + half) % (2 * half):
        source, target = hidden, head
    return Step(relation, source, target, hidden < -1, head if is_simple else -1)


@compiled
def room(stack: Stack, used: int, need: int) -> Stack:
    """The stack, grown so that `need` more entries fit after `used`."""
    if used + need <= len(stack.entity):
        return stack
    size = max(2 * len(stack.entity), used + need)
    entity, count = np.empty(size, stack.entity.dtype), np.empty(size, stack.paths.dtype)
    entity[:used], count[:used] = stack.entity[:used], stack.paths[:used]
    return Stack(entity, count)


@compiled
def levels_of(batch: Batch, trie: Trie, paths: Paths, sums: NDArray[Any]) -> Levels:
    """Levels for a batch of queries, all of them at the root."""
    depth = trie.depth.max() + 1
    turns = paths.may_turn.any()
    span = np.zeros((depth, len(batch.heads) + 1), np.int64)
    span[0] = np.arange(len(batch.heads) + 1)
    return Levels(
        np.zeros(depth, np.int32),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.bool_),
        span,
        np.zeros((depth if depth > 4 and turns else 0, len(sums)), sums.dtype),
        np.full(len(sums) if turns else 0, -1, np.int64),
    )


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
    graph: GraphArrays, weights: Any, step: Step, stack: Stack, span: tuple[int, int, int], sums: NDArray[Any]
) -> int:
    """Walk one step from the entities stack[lo:hi] and list what is reached in stack[start:end]; return end.

    Adds the walks to `sums` [E], which is zero before. A simple path uses no loop. `span` is lo, hi, start.
    """
    lo, hi, end = span
    tails, direct = graph.tails, graph.direct
    hidden_from, hidden_to, both_ways = step.hidden_from, step.hidden_to, step.both_ways
    reached, counts = stack.entity, stack.paths
    for i in range(np.uint64(lo), np.uint64(hi)):
        entity, count = reached[i], counts[i]
        if direct.shape[0] > 0:
            row = direct[step.relation]
            first, last = np.int64(row[np.uint32(entity)]), np.int64(row[np.uint32(entity + 1)])
        else:
            first, last = edges_of(graph, step.relation, entity)
        loop = entity if step.head >= 0 else np.int32(-1)
        for edge in range(np.uint64(first), np.uint64(last)):
            tail = tails[edge]
            if entity == hidden_from and tail == hidden_to:
                continue
            if both_ways and entity == hidden_to and tail == hidden_from:
                continue
            if tail == loop:
                continue
            before = sums[np.uint32(tail)]
            reached[np.uint64(end)] = tail
            end += before == 0
            if weights is None:
                sums[np.uint32(tail)] = before + count
            else:
                sums[np.uint32(tail)] = before + count * weights[edge]
    return end


@compiled
def _step_from_one(
    graph: GraphArrays, weights: Any, step: Step, before: int, stack: Stack, span: tuple[int, int, int]
) -> int:
    """The same from one entity, where no two walks can meet: also writes the counts.

    A simple path enters neither the head nor the entity `before`, from which all walks came; for a walk both
    are -1.
    """
    lo, _, end = span
    entity, count = stack.entity[lo], stack.paths[lo]
    hidden_from, hidden_to, both_ways, head = step.hidden_from, step.hidden_to, step.both_ways, step.head
    first, last = edges_of(graph, step.relation, entity)
    loop = entity if head >= 0 else np.int32(-1)
    for edge in range(np.uint64(first), np.uint64(last)):
        tail = graph.tails[edge]
        stack.entity[np.uint64(end)] = tail
        if weights is None:
            stack.paths[np.uint64(end)] = count
        else:
            stack.paths[np.uint64(end)] = count * weights[edge]
        is_hidden = (entity == hidden_from and tail == hidden_to) or (
            both_ways and entity == hidden_to and tail == hidden_from
        )
        end += not is_hidden and tail != head and tail != loop and tail != before
    return end


@compiled
def _collect(stack: Stack, start: int, end: int, head: int, sums: NDArray[Any]) -> int:
    """Move counts of stack[start:end] out of `sums`, without `head` and entities of count 0; return end."""
    kept = start
    for i in range(np.uint64(start), np.uint64(end)):
        entity = stack.entity[i]
        count = sums[np.uint32(entity)]
        sums[np.uint32(entity)] = 0
        stack.entity[np.uint64(kept)], stack.paths[np.uint64(kept)] = entity, count
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
def _without_returns(
    graph: GraphArrays, weights: Any, levels: Levels, depth: int, q: int, stack: Stack, sums: NDArray[Any]
) -> None:
    """Take the walks out of `sums` whose last step leads straight back."""
    if depth > 3 and levels.may_turn[depth - 1]:
        _give_back(graph, weights, levels, depth, q, stack, sums)
    _take_back(graph, weights, levels, depth, q, stack, sums)


@compiled
def _take_back(
    graph: GraphArrays, weights: Any, levels: Levels, depth: int, q: int, stack: Stack, sums: NDArray[Any]
) -> None:
    """Take the walks out of `sums` whose last two steps lead from an entity and straight back.

    Walks by way of the head are not among them.
    """
    relations, head = len(graph.relation_rows) - 1, stack.entity[q]
    there, back, memory = levels.relation[depth - 1], levels.relation[depth], levels.memory
    here, from_head = (back + relations // 2) % relations, (there + relations // 2) % relations
    first, last = edges_of(graph, back, head)
    mark = levels.node[depth] << 40  # what is counted is smaller, with weights too
    for i in range(np.uint64(levels.span[depth - 2, q]), np.uint64(levels.span[depth - 2, q + 1])):
        entity = stack.entity[i]
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
            sums[np.uint32(entity)] -= stack.paths[i] * known


@compiled
def _give_back(
    graph: GraphArrays, weights: Any, levels: Levels, depth: int, q: int, stack: Stack, sums: NDArray[Any]
) -> None:
    """Add to `sums` the walks that `_take_back` subtracts though they are not there.

    These stepped straight back before: from u to v and u, and then to v.
    """
    relations, head = len(graph.relation_rows) - 1, stack.entity[q]
    path, span, counts = levels.relation, levels.span, levels.counts
    here = (path[depth] + relations // 2) % relations
    lowest = depth - 3
    while lowest > 1 and levels.may_turn[lowest + 1]:
        lowest -= 1
    lo, hi = span[depth - 3, q], span[depth - 3, q + 1]
    for level in range(lowest, depth - 2):
        for i in range(span[level, q], span[level, q + 1]):
            counts[level, stack.entity[i]] = stack.paths[i]
    for i in range(span[depth - 2, q], span[depth - 2, q + 1]):
        v = stack.entity[i]
        if sums[v] == 0:
            continue
        first, last = edges_of(graph, path[depth - 1], v)
        is_short = last - first <= hi - lo
        for k in range(first if is_short else lo, last if is_short else hi):
            u = graph.tails[k] if is_short else stack.entity[k]
            is_other = u != v and u != head and counts[depth - 3, u] != 0
            if not is_other or not (is_short or _has_edge(graph, path[depth - 1], v, u)):
                continue
            if _has_edge(graph, path[depth - 2], u, v) and _has_edge(graph, here, v, u):
                there_and_back = _weight(graph, weights, path[depth - 1], v, u)
                there_and_back *= _weight(graph, weights, here, v, u)
                sums[v] += there_and_back * _last_steps(graph, weights, levels, depth - 2, u, v)
    for level in range(lowest, depth - 2):
        for i in range(span[level, q], span[level, q + 1]):
            counts[level, stack.entity[i]] = 0


@compiled
def _last_steps(
    graph: GraphArrays, weights: Any, levels: Levels, length: int, source: int, target: int
) -> Any:
    """Walks of so many steps whose last step leads from source to target.

    These are all that lead to the source, except those that came there from the target.
    """
    path, counts = levels.relation, levels.counts
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
    batch: Batch,
    sums: NDArray[Any],
    limit: int,
    paths: Paths,
    weights: Any,
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Counts of the simple paths, or of all walks, along every body of the trie from every query head.

    Returns entity [n], count [n] (of the dtype of `sums`, a zero array [E]) and ptr [bodies * queries + 1]:
    body k reaches from query q the entities entity[ptr[i] : ptr[i + 1]] with i = k * queries + q, in order of
    first visit. With several queries and more than `limit` results it gives up and returns an empty ptr.
    """
    queries, heads, hidden, may_turn = len(batch.heads), batch.heads, batch.hidden, paths.may_turn
    asked, half, slack = batch.relation, len(graph.relation_rows) // 2, len(sums) + 1
    # What is reached on the way to the current node: depth by depth, and for each depth query by query.
    stack = Stack(np.empty(queries + slack, np.int32), np.empty(queries + slack, sums.dtype))
    out = Stack(np.empty(4 * slack, np.int32), np.empty(4 * slack, sums.dtype))
    used = 0
    ptr = np.zeros(len(trie.body) * queries + 1, np.int64)
    stack.entity[:queries], stack.paths[:queries] = heads, 1
    levels = levels_of(batch, trie, paths, sums)
    span, node = levels.span, 0
    while node < len(trie.depth):
        depth, relation, ends = trie.depth[node], trie.relation[node], trie.ends[node]
        if depth > 0:
            levels.relation[depth], levels.node[depth] = relation, node
            levels.may_turn[depth] = may_turn[node]
            place = span[depth - 1, queries]
            for q in range(queries):
                span[depth, q] = place
                lo, hi = span[depth - 1, q], span[depth - 1, q + 1]
                if lo < hi:
                    if place + slack > len(stack.entity):
                        stack = room(stack, place, slack)
                    step = step_of(relation, asked, half, int(heads[q]), int(hidden[q]), paths.is_simple)
                    sources = 0  # entities two steps before, to which a path must not go straight back
                    came_from = -1
                    if may_turn[node]:
                        sources = span[depth - 2, q + 1] - span[depth - 2, q]
                        came_from = int(stack.entity[span[depth - 2, q]])
                    if hi - lo == 1 and sources < 2:
                        place = _step_from_one(graph, weights, step, came_from, stack, (lo, hi, place))
                    else:
                        end = _step(graph, weights, step, stack, (lo, hi, place), sums)
                        if may_turn[node]:
                            _without_returns(graph, weights, levels, depth, q, stack, sums)
                        place = _collect(stack, place, end, step.head, sums)
            span[depth, queries] = place
        first, last = span[depth, 0], span[depth, queries]
        if ends >= 0:
            out = room(out, used, last - first)
            out.entity[used : used + last - first] = stack.entity[first:last]
            out.paths[used : used + last - first] = stack.paths[first:last]
            ptr[ends * queries + 1 : (ends + 1) * queries + 1] = span[depth, 1:] - span[depth, :-1]
            used += last - first
            if used > limit and queries > 1:
                return out.entity[:0], out.paths[:0], ptr[:0]
        node = node + 1 if first < last else trie.after[node]
    return out.entity[:used], out.paths[:used], np.cumsum(ptr)


@compiled
def _mixed(key: np.uint64, value: int) -> np.uint64:
    """A random number that depends on a key and a value (splitmix64)."""
    x = key ^ (np.uint64(value + 1) * np.uint64(0x9E3779B97F4A7C15))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _uniform(key: np.uint64) -> float:
    """A number in 0..1 from a random key."""
    return float(key >> np.uint64(11)) * 2.0**-53


@compiled
def _scaled(count: float, factor: float, key: np.uint64) -> float:
    """A whole number that is count * factor on average."""
    value = count * factor
    whole = np.floor(value)
    return float(whole + (_uniform(key) < value - whole))


@compiled
def _budget_step(
    graph: GraphArrays,
    step: Step,
    stack: Stack,
    span: tuple[int, int, int],
    sums: NDArray[np.float64],
    budget: Budget,
    key: np.uint64,
) -> tuple[int, int]:
    """`_step` within a budget; returns the end and the hubs with edges left out.

    Of a hub's edges every k-th is followed, from a random one on, and counts as k; k need not be whole. Lines
    of `_step` are repeated on purpose: in a trial one kernel for both made exact counts on FB15k-237 5 %
    slower and those within a budget 13 %.
    """
    lo, hi, end = span
    hubs, of_hubs = 0, _mixed(key, -3)
    for i in range(lo, hi):
        entity, count, offset, stride = stack.entity[i], stack.paths[i], 0.0, 1.0
        first, last = edges_of(graph, step.relation, entity)
        followed = int(last - first)
        if followed > budget.edges:
            own = _mixed(of_hubs, entity)
            offset, stride, followed = _uniform(own), (last - first) / budget.edges, budget.edges
            count = _scaled(count, stride, _mixed(own, 1))
            hubs += 1
        for k in range(followed):
            tail = graph.tails[min(first + int((k + offset) * stride), last - 1)]
            if entity == step.hidden_from and tail == step.hidden_to:
                continue
            if step.both_ways and entity == step.hidden_to and tail == step.hidden_from:
                continue
            if step.head >= 0 and tail == entity:
                continue
            before = sums[tail]
            stack.entity[end] = tail
            end += before == 0
            sums[tail] = before + count
    return end, hubs


@compiled
def _some_of(stack: Stack, start: int, end: int, budget: Budget, key: np.uint64) -> tuple[int, int]:
    """Keep every k-th of the results stack[start:end] beyond the budget, which then counts as k.

    Returns the end, and whether results were left out.
    """
    if end - start <= budget.results:
        return end, 0
    own, stride = _mixed(key, -2), (end - start) / budget.results
    offset = _uniform(own)
    for k in range(budget.results):
        place = min(start + int((k + offset) * stride), end - 1)
        stack.entity[start + k] = stack.entity[place]
        stack.paths[start + k] = _scaled(stack.paths[place], stride, _mixed(own, k))
    return start + budget.results, 1


@compiled
def ground_within(
    graph: GraphArrays,
    trie: Trie,
    batch: Batch,
    sums: NDArray[np.float64],
    limit: int,
    paths: Paths,
    budget: Budget,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """`ground_counts` within a budget: counts are right on average, and exact where nothing is left out.

    The sample depends on the seed, the query and the body, not on other queries or rules. The last value has
    the steps made [0], the hubs at which edges were left out [1], and the steps that left out results [2].
    Simple paths of a query from which nothing was left out are counted as exactly. Once something was, steps
    straight back to an entity other than the head are no longer noticed.
    """
    queries, heads, hidden, may_turn = len(batch.heads), batch.heads, batch.hidden, paths.may_turn
    asked, half = batch.relation, len(graph.relation_rows) // 2
    stack = Stack(np.empty(2 * queries + 1024, np.int32), np.empty(2 * queries + 1024))
    out = Stack(np.empty(1024, np.int32), np.empty(1024, np.int64))
    used, cuts = 0, np.zeros(3, np.int64)
    ptr = np.zeros(len(trie.body) * queries + 1, np.int64)
    stack.entity[:queries], stack.paths[:queries] = heads, 1
    levels = levels_of(batch, trie, paths, sums)
    keys = np.zeros((len(levels.node), queries), np.uint64)
    is_whole = np.ones((len(levels.node), queries), np.bool_)  # nothing was left out on the way
    for q in range(queries):
        of_relation = _mixed(np.uint64(budget.seed), asked)
        keys[0, q] = _mixed(_mixed(of_relation, heads[q]), hidden[q])
    span, node = levels.span, 0
    while node < len(trie.depth):
        depth, relation, ends = trie.depth[node], trie.relation[node], trie.ends[node]
        if depth > 0:
            levels.relation[depth], levels.node[depth] = relation, node
            levels.may_turn[depth] = may_turn[node]
            place = span[depth - 1, queries]
            for q in range(queries):
                span[depth, q] = place
                lo, hi = span[depth - 1, q], span[depth - 1, q + 1]
                if lo < hi:
                    key = _mixed(keys[depth - 1, q], relation)
                    step = step_of(relation, asked, half, int(heads[q]), int(hidden[q]), paths.is_simple)
                    stack = room(stack, place, min(len(sums), (hi - lo) * budget.edges) + 1)
                    end, hubs = _budget_step(graph, step, stack, (lo, hi, place), sums, budget, key)
                    if may_turn[node] and is_whole[depth - 1, q] and hubs == 0:
                        _without_returns(graph, None, levels, depth, q, stack, sums)
                    end = _collect(stack, place, end, step.head, sums)
                    place, is_cut = _some_of(stack, place, end, budget, key)
                    is_whole[depth, q] = is_whole[depth - 1, q] and hubs + is_cut == 0
                    keys[depth, q] = key
                    cuts[0] += 1
                    cuts[1] += hubs
                    cuts[2] += is_cut
            span[depth, queries] = place
        first, last = span[depth, 0], span[depth, queries]
        if ends >= 0:
            out = room(out, used, last - first)
            out.entity[used : used + last - first] = stack.entity[first:last]
            for i in range(first, last):
                out.paths[used + i - first] = np.int64(min(stack.paths[i], 2.0**62))
            ptr[ends * queries + 1 : (ends + 1) * queries + 1] = span[depth, 1:] - span[depth, :-1]
            used += last - first
            if used > limit and queries > 1:
                return out.entity[:0], out.paths[:0], ptr[:0], cuts
        node = node + 1 if first < last else trie.after[node]
    return out.entity[:used], out.paths[:used], np.cumsum(ptr), cuts
