"""Compiled kernels that count grounding paths within a budget; the plain twin is in `reference.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.kernels import edges_of, give_back, hidden_edge, room, take_back
from rnnlogic.features.chains.sampling.budget import Budget
from rnnlogic.features.chains.trie import Trie


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
    step: int,
    hidden_from: int,
    hidden_to: int,
    both_ways: bool,
    is_simple: bool,
    stack: NDArray[np.int32],
    stack_count: NDArray[np.float64],
    lo: int,
    hi: int,
    start: int,
    sums: NDArray[np.float64],
    budget: Budget,
    key: np.uint64,
) -> tuple[int, int]:
    """`_step` within a budget; returns the end and the hubs with edges left out.

    Of a hub's edges every k-th is followed, from a random one on, and counts as k; k need not be whole. Lines
    of `_step` are repeated on purpose: in a trial one kernel for both made exact counts on FB15k-237 5 %
    slower and those within a budget 13 %.
    """
    end, hubs, of_hubs = start, 0, _mixed(key, -3)
    for i in range(lo, hi):
        entity, count, offset, stride = stack[i], stack_count[i], 0.0, 1.0
        first, last = edges_of(graph, step, entity)
        followed = int(last - first)
        if followed > budget.edges:
            own = _mixed(of_hubs, entity)
            offset, stride, followed = _uniform(own), (last - first) / budget.edges, budget.edges
            count = _scaled(count, stride, _mixed(own, 1))
            hubs += 1
        for k in range(followed):
            tail = graph.tails[min(first + int((k + offset) * stride), last - 1)]
            if entity == hidden_from and tail == hidden_to:
                continue
            if both_ways and entity == hidden_to and tail == hidden_from:
                continue
            if is_simple and tail == entity:
                continue
            before = sums[tail]
            stack[end] = tail
            end += before == 0
            sums[tail] = before + count
    return end, hubs


@compiled
def _keep_results(
    stack: NDArray[np.int32],
    stack_count: NDArray[np.float64],
    start: int,
    end: int,
    head: int,
    sums: NDArray[np.float64],
    budget: Budget,
    key: np.uint64,
) -> tuple[int, int]:
    """`_collect` within a budget; returns the end, and whether results were left out.

    Of the results beyond the budget every k-th is kept and counts as k.
    """
    kept = start
    for i in range(start, end):
        entity, count = stack[i], sums[stack[i]]
        sums[entity] = 0
        stack[kept], stack_count[kept] = entity, count
        kept += count != 0 and entity != head
    end = kept
    if end - start <= budget.results:
        return end, 0
    own, stride = _mixed(key, -2), (end - start) / budget.results
    offset = _uniform(own)
    for k in range(budget.results):
        place = min(start + int((k + offset) * stride), end - 1)
        stack[start + k] = stack[place]
        stack_count[start + k] = _scaled(stack_count[place], stride, _mixed(own, k))
    return start + budget.results, 1


@compiled
def ground_within(
    graph: GraphArrays,
    trie: Trie,
    heads: NDArray[np.int32],
    hidden: NDArray[np.int32],
    relation: int,
    inverse: int,
    sums: NDArray[np.float64],
    limit: int,
    is_simple: bool,
    may_turn: NDArray[np.bool_],
    budget: Budget,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """`ground_counts` within a budget: counts are right on average, and exact where nothing is left out.

    The sample depends on the seed, the query and the body, not on other queries or rules. The last value has
    the steps made [0], the hubs at which edges were left out [1], and the steps that left out results [2].
    Simple paths of a query from which nothing was left out are counted as exactly. Once something was, steps
    straight back to an entity other than the head are no longer noticed.
    """
    queries, levels = len(heads), trie.depth.max() + 1
    stack, stack_count = np.empty(2 * queries + 1024, np.int32), np.empty(2 * queries + 1024)
    span = np.zeros((levels, queries + 1), np.int64)
    keys = np.zeros((levels, queries), np.uint64)
    is_whole = np.ones((levels, queries), np.bool_)  # nothing was left out on the way
    path, turns = np.zeros(levels, np.int32), np.zeros(levels, np.bool_)
    counts = np.zeros((levels if levels > 4 and may_turn.any() else 0, len(sums)), sums.dtype)
    memory = np.full(len(sums) if may_turn.any() else 0, -1, np.int64)
    out, out_count = np.empty(1024, np.int32), np.empty(1024, np.int64)
    used, cuts = 0, np.zeros(3, np.int64)
    ptr = np.zeros(len(trie.body) * queries + 1, np.int64)
    stack[:queries], stack_count[:queries] = heads, 1
    span[0] = np.arange(queries + 1)
    for q in range(queries):
        keys[0, q] = _mixed(_mixed(_mixed(np.uint64(budget.seed), relation), heads[q]), hidden[q])
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
                    keys[depth, q] = _mixed(keys[depth - 1, q], step)
                    hidden_from, hidden_to = hidden_edge(step, relation, inverse, heads[q], hidden[q])
                    most = min(len(sums), (hi - lo) * budget.edges) + 1
                    stack, stack_count = room(stack, stack_count, place, most)
                    edge = hidden_from, hidden_to, hidden[q] < -1, is_simple
                    within = sums, budget, keys[depth, q]
                    end, hubs = _budget_step(graph, step, *edge, stack, stack_count, lo, hi, place, *within)
                    is_whole[depth, q] = is_whole[depth - 1, q] and hubs == 0
                    head = heads[q] if is_simple else -1
                    if may_turn[node] and is_whole[depth, q]:
                        if depth > 3 and turns[depth - 1]:
                            reached = stack, stack_count, span, q, sums, counts
                            give_back(graph, None, path, turns, depth, head, *reached)
                        before = span[depth - 2, q], span[depth - 2, q + 1]
                        there_and_back = node, path[depth - 1], step
                        take_back(
                            graph, None, *there_and_back, head, stack, stack_count, *before, sums, memory
                        )
                    place, is_cut = _keep_results(stack, stack_count, place, end, head, *within)
                    is_whole[depth, q] = is_whole[depth, q] and is_cut == 0
                    cuts[0] += 1
                    cuts[1] += hubs
                    cuts[2] += is_cut
            span[depth, queries] = place
        first, last = span[depth, 0], span[depth, queries]
        if ends >= 0:
            out, out_count = room(out, out_count, used, last - first)
            out[used : used + last - first] = stack[first:last]
            for i in range(first, last):
                out_count[used + i - first] = np.int64(min(stack_count[i], 2.0**62))
            ptr[ends * queries + 1 : (ends + 1) * queries + 1] = span[depth, 1:] - span[depth, :-1]
            used += last - first
            if used > limit and queries > 1:
                return out[:0], out_count[:0], ptr[:0], cuts
        node = node + 1 if first < last else trie.after[node]
    return out[:used], out_count[:used], np.cumsum(ptr), cuts
