"""Compiled kernels: the bodies that join the two ends of a fact, and how well bodies fit the facts.

Every public kernel has a plain twin in `reference.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.compiled import compiled
from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.kernels import edges_of


class EntityEdges(NamedTuple):
    """All edges (with inverses) by entity: edges of e are ptr[e]:ptr[e+1]."""

    ptr: NDArray[np.int64]  # [E+1]
    relation: NDArray[np.int32]  # [2F]
    tail: NDArray[np.int32]  # [2F]


class Fact(NamedTuple):
    """A fact whose ends are joined, and the inverse of its relation."""

    head: int
    relation: int
    tail: int
    inverse: int


class Limits(NamedTuple):
    """How far a search goes: see `bodies_between`."""

    max_length: int
    back: int  # steps from the tail up to which distances to it are known
    fanout: int  # edges followed at an entity
    most: int  # walks
    radix: int  # of the keys


class Reached(NamedTuple):
    """What bodies reach: body k reaches entity[ptr[i] : ptr[i + 1]] from head q with i = k * heads + q."""

    heads: NDArray[np.int32]  # [q]
    entity: NDArray[np.int32]  # [n]
    ptr: NDArray[np.int64]  # [k*q+1]


class Weighed(NamedTuple):
    """What results and queries count where facts have weights."""

    value: NDArray[np.float64]  # [n] paths to each result
    importance: NDArray[np.float64]  # [q] weight of the fact of each query


class HeadsOfBodies(NamedTuple):
    """The rules with each body: those with body k are ptr[k] : ptr[k + 1]."""

    ptr: NDArray[np.int64]  # [k+1]
    head: NDArray[np.int32]  # [rules]


class Matches(NamedTuple):
    """What is counted for each rule."""

    support: NDArray[np.int64]  # [rules] pairs that are facts of the head
    pca: NDArray[np.int64]  # [rules] pairs whose first entity has such a fact
    pairs: NDArray[np.int32]  # [rules, examples, 2] the first supporting pairs


@compiled
def _random_below(state: NDArray[np.uint64], bound: int) -> int:
    """A number in 0..bound-1 from a xorshift state of one word."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return int((x >> np.uint64(11)) % np.uint64(bound))


@compiled
def _mark_distances(edges: EntityEdges, tail: int, depth: int, fanout: int, distance: Any, queue: Any) -> int:
    """Set distance[e] for every entity e within `depth` steps of `tail`, and list these entities in `queue`.

    Returns their number; `distance` stays -1 elsewhere. Entities with more than `fanout` edges are not
    expanded, except for the tail itself.
    """
    distance[tail] = 0
    queue[0] = tail
    first, last = 0, 1
    while first < last:
        entity = queue[first]
        first += 1
        far = distance[entity]
        degree = edges.ptr[entity + 1] - edges.ptr[entity]
        if far == depth or (far > 0 and degree > fanout):
            continue
        for edge in range(edges.ptr[entity], edges.ptr[entity + 1]):
            other = edges.tail[edge]
            if distance[other] < 0:
                distance[other] = far + 1
                queue[last] = other
                last += 1
    return last


@compiled
def bodies_between(
    edges: EntityEdges,
    fact: Fact,
    limits: Limits,
    seed: int,
    distance: Any,
    queue: Any,
) -> NDArray[np.int64]:
    """Keys of the walks of length 1..max_length between the ends of a fact that do not use it.

    A body r1..rl has the key sum((ri + 1) * radix ** (i - 1)). The search is depth first and prunes by the
    distance to the tail, known up to `back` steps. At an entity with more than `fanout` edges it follows that
    many random ones. It returns at most `most` walks; several may have the same body. `distance` [E] is -1
    everywhere, and is left so; `queue` [E] is a buffer.
    """
    head, relation, tail, inverse = fact
    max_length, back, fanout, most, radix = limits
    found = np.empty(256, np.int64)
    size = 0
    state = np.array([np.uint64(seed * 2 + 1)], np.uint64)
    marked = _mark_distances(edges, tail, back, fanout, distance, queue)
    entity = np.zeros(max_length + 1, np.int64)
    position = np.zeros(max_length + 1, np.int64)
    tried = np.zeros(max_length + 1, np.int64)
    key = np.zeros(max_length + 1, np.int64)
    scale = np.ones(max_length + 1, np.int64)
    for i in range(1, max_length + 1):
        scale[i] = scale[i - 1] * radix
    depth = 0
    entity[0] = head
    while depth >= 0 and size < most:
        here = entity[depth]
        degree = edges.ptr[here + 1] - edges.ptr[here]
        if depth == max_length or tried[depth] >= min(degree, fanout):
            depth -= 1
            continue
        if degree > fanout:
            edge = edges.ptr[here] + _random_below(state, degree)
        else:
            edge = edges.ptr[here] + position[depth]
        tried[depth] += 1
        position[depth] += 1
        step, other = edges.relation[edge], edges.tail[edge]
        if (step == relation and here == head and other == tail) or (
            step == inverse and here == tail and other == head
        ):
            continue
        left = max_length - depth - 1
        if left <= back and (distance[other] < 0 or distance[other] > left):
            continue
        new_key = key[depth] + (step + 1) * scale[depth]
        if other == tail:
            if size == len(found):
                more = np.empty(2 * size, np.int64)
                more[:size] = found
                found = more
            found[size] = new_key
            size += 1
        if left > 0:
            depth += 1
            entity[depth], key[depth], position[depth], tried[depth] = other, new_key, 0, 0
    for i in range(marked):
        distance[queue[i]] = -1
    return found[:size]


@compiled
def count_hits(
    graph: GraphArrays,
    relation: int,
    reached: Reached,
    answers: NDArray[np.int32],
    weighed: Any,
    num_entities: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every grounded body: queries whose answer it reaches, and results that are not known answers.

    If `weighed` is not None, but `Weighed`, a result counts as its paths do, at most 1. An answer whose fact
    has importance w counts as w right and 1 - w wrong, and other wrong results of the query count w.
    """
    heads, entity, ptr = reached
    queries = len(answers)
    bodies = (len(ptr) - 1) // max(queries, 1)
    hits, wrong = np.zeros(bodies), np.zeros(bodies)
    is_known = np.zeros(num_entities, np.bool_)
    for q in range(queries):
        first, last = edges_of(graph, relation, heads[q])
        is_known[graph.tails[first:last]] = True
        for k in range(bodies):
            for i in range(ptr[k * queries + q], ptr[k * queries + q + 1]):
                worth, weight = 1.0, 1.0
                if weighed is not None:
                    worth, weight = min(weighed.value[i], 1.0), weighed.importance[q]
                if entity[i] == answers[q]:
                    hits[k] += worth * weight
                    wrong[k] += worth * (1.0 - weight)
                elif not is_known[entity[i]]:
                    wrong[k] += worth * weight
        is_known[graph.tails[first:last]] = False
    return hits, wrong


@compiled
def add_matches(
    graph: GraphArrays,
    reached: Reached,
    rules: HeadsOfBodies,
    is_reached: NDArray[np.bool_],
    found: Matches,
) -> None:
    """Compare what grounded bodies reach with the facts of the rules that have these bodies; adds to `found`.

    `is_reached` [E] is all false, and is left so.
    """
    heads, entity, ptr = reached
    support, pca, pairs = found
    queries = len(heads)
    for q in range(queries):
        for k in range(len(rules.ptr) - 1):
            ends = entity[ptr[k * queries + q] : ptr[k * queries + q + 1]]
            if len(ends) == 0:
                continue
            is_reached[ends] = True
            for rule in range(rules.ptr[k], rules.ptr[k + 1]):
                first, last = edges_of(graph, rules.head[rule], heads[q])
                if first < last:
                    pca[rule] += len(ends)
                for edge in range(first, last):
                    if is_reached[graph.tails[edge]]:
                        if support[rule] < pairs.shape[1]:
                            pairs[rule, support[rule], 0] = heads[q]
                            pairs[rule, support[rule], 1] = graph.tails[edge]
                        support[rule] += 1
            is_reached[ends] = False


@compiled
def count_simple(
    graph: GraphArrays,
    body: NDArray[np.int32],
    rule_head: NDArray[np.int32],
    starts: NDArray[np.int32],
    most: int,
    is_end: NDArray[np.bool_],
    support: NDArray[np.int64],
) -> tuple[int, int]:
    """Count the pairs that paths without repeated entities join along a body of at least one step.

    Returns their number and the steps made from `starts`, taken in order; after `most` steps it stops. Adds
    to support [rules] the pairs that are facts of rule_head. `is_end` [E] is all false, and is left so.
    """
    length = len(body)
    path = np.zeros(length + 1, np.int64)
    edge, last = np.zeros(length, np.int64), np.zeros(length, np.int64)
    ends = np.empty(256, np.int64)
    predictions, steps = 0, 0
    for start in starts:
        if steps >= most:
            break
        size, depth = 0, 0
        path[0] = start
        edge[0], last[0] = edges_of(graph, body[0], start)
        while depth >= 0 and steps < most:
            if edge[depth] == last[depth]:
                depth -= 1
                continue
            other = graph.tails[edge[depth]]
            edge[depth] += 1
            steps += 1
            is_new = True
            for i in range(depth + 1):
                is_new = is_new and path[i] != other
            if not is_new:
                continue
            if depth < length - 1:
                depth += 1
                path[depth] = other
                edge[depth], last[depth] = edges_of(graph, body[depth], other)
            elif not is_end[other]:
                is_end[other] = True
                if size == len(ends):
                    more = np.empty(2 * size, np.int64)
                    more[:size] = ends
                    ends = more
                ends[size] = other
                size += 1
        predictions += size
        for rule in range(len(rule_head)):
            first, after = edges_of(graph, rule_head[rule], start)
            for i in range(first, after):
                support[rule] += is_end[graph.tails[i]]
        is_end[ends[:size]] = False
    return predictions, steps
