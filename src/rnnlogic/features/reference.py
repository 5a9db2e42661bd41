"""Plain-Python twins of the kernels: same signatures and results, written to be read."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.base import Answers, Batch, Items, Rows
from rnnlogic.features.chains.reference import tails_of
from rnnlogic.features.kernels import ANSWER, LEFT_OUT, LINKS, RATES, WRONG, Counted

Cells = list[list[dict[int, float]]]  # by feature, then by query: the value of each entity
Output = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]


def collect_answers(
    known_ptr: NDArray[np.int64],
    known: NDArray[np.int32],
    ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    is_found: NDArray[np.bool_],  # noqa: ARG001 - the kernel's memory
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Answers known [q] so far, then the new ones of bodies: ptr [q+1], entity [c]."""
    queries = len(known_ptr) - 1
    found = []
    for q in range(queries):
        answers = known[known_ptr[q] : known_ptr[q + 1]].tolist()
        for cell in range(q, len(ptr) - 1, queries):
            answers += entity[ptr[cell] : ptr[cell + 1]].tolist()
        found.append(list(dict.fromkeys(answers)))
    return _ptr(found), np.array([e for own in found for e in own], np.int32)


def number_answers(
    ptr: NDArray[np.int64],
    entity: NDArray[np.int32],
    bodies: NDArray[np.int64],
    queries: int,
    number: NDArray[np.int64],  # noqa: ARG001 - the kernel's memory
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Answers of some bodies, ptr [q+1] and entity [c], and their rows: candidate [n] and body [n]."""
    place: dict[tuple[int, int], int] = {}
    rows = [
        (place.setdefault((q, e), len(place)), k)
        for q, k in product(range(queries), bodies.tolist())
        for e in entity[ptr[k * queries + q] : ptr[k * queries + q + 1]].tolist()
    ]
    columns = np.array(rows, np.int32).reshape(-1, 2).T
    sizes = Counter(q for q, _ in place)
    ends = np.append(0, np.cumsum([sizes[q] for q in range(queries)])).astype(np.int64)
    return ends, np.array([e for _, e in place], np.int32), columns[0], columns[1]


def largest(
    candidate: NDArray[np.integer], rule: NDArray[np.integer], strength: NDArray[np.float32], size: int
) -> NDArray[np.float32]:
    """The largest strength [rules] of the rules that reach each candidate [size]; 0 without any."""
    found = np.zeros(size, np.float32)
    for c, k in zip(candidate.tolist(), rule.tolist(), strict=True):
        found[c] = max(found[c], strength[k])
    return found


def rule_by_rule(
    entity: NDArray[np.int32], value: NDArray[np.float32], spans: NDArray[np.int64], wanted: NDArray[np.bool_]
) -> Output:
    """Rows ordered by query, then feature, as rows ordered by feature: ptr, entity, value of those wanted."""
    kept = [own for k in np.flatnonzero(wanted) for own in (spans[:, k : k + 2])]
    places = [i for first, last in kept for i in range(first, last)]
    sizes = [last - first for first, last in kept]
    return np.append(0, np.cumsum(sizes)).astype(np.int64), entity[places], value[places]


def is_visible(
    items: Items, graph: GraphArrays, row: int, relation: int, hidden: int, all_links: bool
) -> bool:
    """Whether an item of the head may be looked at: not if it is the hidden fact, or a hidden link."""
    inverse = (relation + items.num_relations) % (2 * items.num_relations)
    if graph.row_head[row] != hidden:
        return True
    return not all_links and items.relation[row] != inverse


def describe_links(
    graph: GraphArrays,
    items: Items,
    wanted: NDArray[np.bool_],
    batch: Batch,
    answers: Answers,
    marks: NDArray[np.int8],
) -> Output:
    """Which answers of queries [q] are linked to the head, or are the head: rows of the wanted [LINKS]."""
    heads, hidden, relation = batch.heads, batch.hidden, batch.relation
    cells: Cells = [[{} for _ in heads] for _ in range(LINKS)]
    for q, (head, out) in enumerate(zip(heads.tolist(), hidden.tolist(), strict=True)):
        facts = Facts(graph, items, len(marks))
        tail, all_links = (-2 - out, True) if out < -1 else (out, False)
        linked: list[set[int]] = [set(), set(), set(), {head}]
        for h, r, t in facts.all:
            if h != head or r == relation or (all_links and t == tail):
                continue
            if r == facts.inverse(relation):
                if t != h:  # r(x,x) reversed is the same fact
                    linked[0].add(t)
            else:
                linked[1 if r < items.num_relations else 2].add(t)
        own = answers.entity[answers.ptr[q] : answers.ptr[q + 1]].tolist()
        for k, those in enumerate(linked):
            cells[k][q] = {e: 1.0 for e in own if e in those}
    return as_rows(cells, wanted)


def describe_rates(
    graph: GraphArrays,
    items: Items,
    counted: Counted,
    wanted: NDArray[np.bool_],
    batch: Batch,
    answers: Answers,
    is_found: NDArray[np.bool_],
) -> Output:
    """How often answers of queries [q] are answers of other queries: rows of the wanted [RATES]."""
    (frequent, times), heads, relation = counted, batch.heads, batch.relation
    cells: Cells = [[{} for _ in heads] for _ in range(RATES)]
    facts = Facts(graph, items, len(is_found))
    for q, head in enumerate(heads.tolist()):
        known = set(tails_of(graph, relation, head))
        seen = {e: int(times[e]) - (e in known) for e in range(len(times))}
        degree = Counter(t for _, _, t in facts.all)
        degree.subtract(known)
        found = answers.entity[answers.ptr[q] : answers.ptr[q + 1]]
        own = dict.fromkeys([*found.tolist(), *frequent.tolist()])
        own = {e: None for e in own if seen[e] > 0}
        cells[0][q] = dict.fromkeys(own, 1.0)
        cells[1][q] = {e: math.log1p(seen[e]) for e in own}
        cells[2][q] = {e: math.log1p(degree[e]) for e in own}
    return as_rows(cells, wanted)


class Facts:
    """All facts of a graph, with inverses, and what is true of entities."""

    def __init__(self, graph: GraphArrays, items: Items, num_entities: int) -> None:
        self.num_relations, relations = items.num_relations, range(2 * items.num_relations)
        self.all = {(h, r, t) for r in relations for h in range(num_entities) for t in tails_of(graph, r, h)}

    def inverse(self, relation: int) -> int:
        """The inverse of a relation."""
        return (relation + self.num_relations) % (2 * self.num_relations)

    def items_of(self, x: int) -> set[tuple[int, int]]:
        """What is true of an entity: relation and head of a fact; with head -1, that there is some fact."""
        exact = {(r, h) for h, r, t in self.all if t == x}
        return exact | {(r, -1) for r, _ in exact}

    def holders(self, item: tuple[int, int]) -> set[int]:
        """The entities that have an item."""
        return {t for h, r, t in self.all if r == item[0] and item[1] in (-1, h)}


def as_rows(cells: Cells, wanted: NDArray[np.bool_]) -> Output:
    """Values by feature and query as rows of the features wanted."""
    kept = [own for k in np.flatnonzero(wanted) for own in cells[k]]
    entity = np.array([e for own in kept for e in own], np.int32)
    return _ptr(kept), entity, np.array([value for own in kept for value in own.values()], np.float32)


def _ptr(parts: list[dict[int, float]] | list[list[int]]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64)


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
    rows = [
        [n for n in range(candidate_ptr[c], candidate_ptr[c + 1]) if column[rule[n]] >= 0]
        for c in held.tolist()
    ]
    kept = [n for row in rows for n in row]
    return _ptr(rows), column[rule[kept]].astype(np.int32), value[kept].astype(np.float32)


def _feature(count: float, feature: int) -> float:
    return (float(count), math.log1p(count), min(float(count), 1.0))[feature]


def features_of(
    count: NDArray[Any], rule: NDArray[np.integer], code: NDArray[np.int8], values: NDArray[Any]
) -> None:
    """The feature of each count [n] by the code [rules] of its rule [n], written to `values` [n]."""
    values[:] = [_feature(n, int(code[k])) for n, k in zip(count.tolist(), rule.tolist(), strict=True)]


def cells_of(ptr: NDArray[np.int64], queries: int) -> list[tuple[int, int, range]]:
    """(body, query, positions of its results) for every body and query."""
    return [(row // queries, row % queries, range(ptr[row], ptr[row + 1])) for row in range(len(ptr) - 1)]


def score_candidates(
    rows: Rows,
    weights: NDArray[np.float64],
    code: NDArray[np.int8],
    queries: int,
    sums: NDArray[np.float64],  # noqa: ARG001 - the kernel's memory
    reached: NDArray[np.bool_],  # noqa: ARG001 - the kernel's memory
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Sum of weight times feature over the grounded bodies, for every entity that any of them reaches."""
    scores: list[dict[int, float]] = [{} for _ in range(queries)]
    for body, query, positions in cells_of(rows.ptr, queries):
        for i in positions:
            gain = weights[body] * _feature(rows.value[i], int(code[body]))
            scores[query][int(rows.entity[i])] = scores[query].get(int(rows.entity[i]), 0.0) + gain
    return (
        np.append(0, np.cumsum([len(of_query) for of_query in scores], dtype=np.int64)),
        np.array([e for of_query in scores for e in of_query], np.int32),
        np.array([score for of_query in scores for score in of_query.values()], np.float64),
    )


def ascending(ids: NDArray[np.int32], most: int) -> NDArray[np.int32]:  # noqa: ARG001 - how large they are
    """Ids in ascending order."""
    return np.array(sorted(ids.tolist()), np.int32)


def group_by_candidate(
    rows: Rows,
    queries: int,
    answers: NDArray[np.int32],
    size: NDArray[np.int64],  # noqa: ARG001 - the kernel's memory
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Turn grounded bodies into candidates (query, entity), each with its rules and counts."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for body, query, positions in cells_of(rows.ptr, queries):
        for i in positions:
            found.setdefault((query, int(rows.entity[i])), []).append((body, rows.value[i]))
    candidates = sorted(c for c in found if not len(answers) or (c[0], int(answers[c[0]])) in found)
    lists = [found[candidate] for candidate in candidates]
    return (
        np.array([query for query, _ in candidates], np.int64),
        np.array([e for _, e in candidates], np.int32),
        np.append(0, np.cumsum([len(bodies) for bodies in lists], dtype=np.int64)),
        np.array([rows.place[body] for bodies in lists for body, _ in bodies], np.int32),
        np.array([n for bodies in lists for _, n in bodies], rows.value.dtype),
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
