"""Plain-Python twins of the kernels: same signatures and results, written to be read."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.kernels import ANSWER, LEFT_OUT, WRONG
from rnnlogic.features.chains.trie import Trie


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
    may_turn: NDArray[np.bool_],  # noqa: ARG001 - spares the kernel work
    weights: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Counts of the simple paths, or of all walks, along every body of the trie from every query head."""
    count_paths = simple_counts if is_simple else walk_counts
    cells = []  # per body, per query: entity -> number of paths
    for body in bodies_of(trie):
        for head, tail in zip(heads.tolist(), hidden.tolist(), strict=True):
            own_fact = hidden_facts(graph, head, relation, inverse, tail)
            cells.append(count_paths(graph, head, body, own_fact, weights))
    ptr = np.append(0, np.cumsum([len(cell) for cell in cells], dtype=np.int64))
    if ptr[-1] > limit and len(heads) > 1:
        return np.empty(0, np.int32), np.empty(0, sums.dtype), ptr[:0]
    entity = np.array([e for cell in cells for e in cell], np.int32)
    count = np.array([c for cell in cells for c in cell.values()], sums.dtype)
    return entity, count, ptr


def walk_counts(
    graph: GraphArrays,
    head: int,
    body: tuple[int, ...],
    own_fact: set[tuple[int, int, int]],
    weights: NDArray[np.int64] | None = None,
) -> dict[int, int]:
    """Number of walks along `body` from `head` to each entity reached; none uses an edge in `own_fact`.

    With weights a walk counts the product of those of its edges.
    """
    reached = {head: 1}
    for relation in body:
        following: dict[int, int] = {}
        for entity, count in reached.items():
            for tail in tails_of(graph, relation, entity):
                if (entity, relation, tail) not in own_fact:
                    more = count * weight_of(graph, weights, (entity, relation, tail))
                    following[tail] = following.get(tail, 0) + more
        reached = following
    return reached


def simple_counts(
    graph: GraphArrays,
    head: int,
    body: tuple[int, ...],
    own_fact: set[tuple[int, int, int]],
    weights: NDArray[np.int64] | None = None,
) -> dict[int, int]:
    """The same for simple paths, each written out; in the order in which the kernel reaches their ends."""
    found: list[tuple[tuple[int, ...], int]] = [((head,), 1)]
    reached = {head: 1}
    for relation in body:
        edges = {
            (entity, tail)
            for entity in reached
            for tail in tails_of(graph, relation, entity)
            if (entity, relation, tail) not in own_fact
        }
        found = [
            ((*path, tail), worth * weight_of(graph, weights, (e, relation, tail)))
            for path, worth in found
            for e, tail in edges
            if e == path[-1] and may_go_on(path, tail)
        ]
        number = Counter[int]()
        for path, worth in found:
            number[path[-1]] += worth
        in_order = [tail for entity in reached for e, tail in sorted(edges) if e == entity and tail != entity]
        reached = {tail: number[tail] for tail in dict.fromkeys(in_order) if number[tail]}
    return reached


def weight_of(graph: GraphArrays, weights: NDArray[np.int64] | None, edge: tuple[int, int, int]) -> int:
    """The weight of an edge (head, relation, tail) of the graph; 1 if edges have none."""
    head, relation, tail = edge
    if weights is None:
        return 1
    for row in range(graph.relation_rows[relation], graph.relation_rows[relation + 1]):
        for place in range(graph.row_edges[row], graph.row_edges[row + 1]):
            if graph.row_head[row] == head and graph.tails[place] == tail:
                return int(weights[place])
    raise KeyError(edge)


def may_go_on(path: tuple[int, ...], tail: int) -> bool:
    """Whether a simple path may take a step to an entity: it is new, as far as the last steps tell.

    Of the first three steps that is the whole path.
    """
    return tail != path[0] and tail not in path[-2:]


def hidden_facts(
    graph: GraphArrays, head: int, relation: int, inverse: int, hidden: int
) -> set[tuple[int, int, int]]:
    """The facts that no walk of a query may use."""
    if hidden >= 0:
        return {(head, relation, hidden), (hidden, inverse, head)}
    if hidden == -1:
        return set()
    tail, links = -2 - hidden, range(len(graph.relation_rows) - 1)
    return {(a, r, b) for r in links for a, b in ((head, tail), (tail, head))}


def tails_of(graph: GraphArrays, relation: int, head: int) -> list[int]:
    """Tails of (head, relation), ascending."""
    for row in range(graph.relation_rows[relation], graph.relation_rows[relation + 1]):
        if graph.row_head[row] == head:
            return [int(tail) for tail in graph.tails[graph.row_edges[row] : graph.row_edges[row + 1]]]
    return []


def bodies_of(trie: Trie) -> list[tuple[int, ...]]:
    """The bodies of a trie, in the order in which they end."""
    bodies: list[tuple[int, ...]] = []
    path: list[int] = []
    for relation, depth, ends in zip(
        trie.relation.tolist(), trie.depth.tolist(), trie.ends.tolist(), strict=True
    ):
        if depth > 0:
            path = [*path[: depth - 1], relation]
        if ends >= 0:
            bodies.append(tuple(path))
    return bodies


def _feature(count: float, feature: int) -> float:
    return (float(count), math.log1p(count), min(float(count), 1.0))[feature]


def features_of(
    count: NDArray[Any], rule: NDArray[np.integer], code: NDArray[np.int8], values: NDArray[Any]
) -> None:
    """The feature of each count [n] by the code [rules] of its rule [n], written to `values` [n]."""
    values[:] = [_feature(n, int(code[k])) for n, k in zip(count.tolist(), rule.tolist(), strict=True)]


def _cells(ptr: NDArray[np.int64], queries: int) -> list[tuple[int, int, range]]:
    """(body, query, positions of its results) for every body and query."""
    return [(row // queries, row % queries, range(ptr[row], ptr[row + 1])) for row in range(len(ptr) - 1)]


def score_candidates(
    entity: NDArray[np.int32],
    count: NDArray[Any],
    ptr: NDArray[np.int64],
    weights: NDArray[np.float64],
    code: NDArray[np.int8],
    queries: int,
    sums: NDArray[np.float64],  # noqa: ARG001 - the kernel's memory
    reached: NDArray[np.bool_],  # noqa: ARG001 - the kernel's memory
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Sum of weight times feature over the grounded bodies, for every entity that any of them reaches."""
    scores: list[dict[int, float]] = [{} for _ in range(queries)]
    for body, query, positions in _cells(ptr, queries):
        for i in positions:
            gain = weights[body] * _feature(count[i], int(code[body]))
            scores[query][int(entity[i])] = scores[query].get(int(entity[i]), 0.0) + gain
    return (
        np.append(0, np.cumsum([len(of_query) for of_query in scores], dtype=np.int64)),
        np.array([e for of_query in scores for e in of_query], np.int32),
        np.array([score for of_query in scores for score in of_query.values()], np.float64),
    )


def ascending(ids: NDArray[np.int32], most: int) -> NDArray[np.int32]:  # noqa: ARG001 - how large they are
    """Ids in ascending order."""
    return np.array(sorted(ids.tolist()), np.int32)


def group_by_candidate(
    entity: NDArray[np.int32],
    count: NDArray[Any],
    ptr: NDArray[np.int64],
    queries: int,
    rules: NDArray[np.int32],
    answers: NDArray[np.int32],
    size: NDArray[np.int64],  # noqa: ARG001 - the kernel's memory
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Turn grounded bodies into candidates (query, entity), each with its rules and counts."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for body, query, positions in _cells(ptr, queries):
        for i in positions:
            found.setdefault((query, int(entity[i])), []).append((body, count[i]))
    candidates = sorted(c for c in found if not len(answers) or (c[0], int(answers[c[0]])) in found)
    lists = [found[candidate] for candidate in candidates]
    return (
        np.array([query for query, _ in candidates], np.int64),
        np.array([e for _, e in candidates], np.int32),
        np.append(0, np.cumsum([len(bodies) for bodies in lists], dtype=np.int64)),
        np.array([rules[body] for bodies in lists for body, _ in bodies], np.int32),
        np.array([n for bodies in lists for _, n in bodies], count.dtype),
    )


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
    label: list[int] = []
    for q, (head, answer) in enumerate(zip(heads.tolist(), answers.tolist(), strict=True)):
        known = tails_of(graph, relation, head) if leave_out else []
        candidates = entity[query_ptr[q] : query_ptr[q + 1]].tolist()
        label += [ANSWER if e == answer else LEFT_OUT if e in known else WRONG for e in candidates]
    return np.array(label, np.int8)
