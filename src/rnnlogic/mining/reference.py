"""Plain-Python twins of the kernels: same signatures, same results, written to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import GraphArrays
from rnnlogic.features.chains.reference import tails_of
from rnnlogic.features.reference import cells_of
from rnnlogic.mining.kernels import EntityEdges, Fact, HeadsOfBodies, Limits, Matches, Reached, Weighed

WORD = (1 << 64) - 1


def bodies_between(
    edges: EntityEdges,
    fact: Fact,
    limits: Limits,
    seed: int,
    distance: Any,  # noqa: ARG001 - the kernel's buffers
    queue: Any,  # noqa: ARG001
) -> NDArray[np.int64]:
    """Keys of the walks of length 1..max_length between the ends of a fact that do not use it."""
    head, relation, tail, inverse = fact
    max_length, back, fanout, most, radix = limits
    steps_to_tail = _distances(edges, tail, back, fanout)
    random_below = _xorshift(2 * seed + 1)
    own_fact = {(head, relation, tail), (tail, inverse, head)}

    def walks(here: int, length: int) -> Iterator[int]:
        """Keys of the ways on from `here` after `length` steps, depth first."""
        left = max_length - length - 1
        for step, other in _tried_edges(edges, here, fanout, random_below):
            is_dead_end = left <= back and steps_to_tail.get(other, left + 1) > left
            if is_dead_end or (here, step, other) in own_fact:
                continue
            key = (step + 1) * radix**length
            if other == tail:
                yield key
            if left > 0:
                yield from (key + rest for rest in walks(other, length + 1))

    return np.array(list(islice(walks(head, 0), most)), np.int64)


def _tried_edges(
    edges: EntityEdges, entity: int, fanout: int, random_below: Callable[[int], int]
) -> Iterator[tuple[int, int]]:
    """(relation, tail) of all edges of an entity; if it has more than `fanout`, of that many random ones."""
    first, last = int(edges.ptr[entity]), int(edges.ptr[entity + 1])
    for i in range(min(last - first, fanout)):
        edge = first + (i if last - first <= fanout else random_below(last - first))
        yield int(edges.relation[edge]), int(edges.tail[edge])


def _distances(edges: EntityEdges, tail: int, most: int, fanout: int) -> dict[int, int]:
    """Steps to the tail, up to `most`, on walks that pass no other entity of more than `fanout` edges."""
    found, ring = {tail: 0}, [tail]
    for steps in range(1, most + 1):
        expanded = [e for e in ring if e == tail or edges.ptr[e + 1] - edges.ptr[e] <= fanout]
        reached = (int(other) for e in expanded for other in edges.tail[edges.ptr[e] : edges.ptr[e + 1]])
        ring = list(dict.fromkeys(other for other in reached if other not in found))
        found.update(dict.fromkeys(ring, steps))
    return found


def _xorshift(state: int) -> Callable[[int], int]:
    """A function that gives a random number in 0..bound-1."""

    def random_below(bound: int) -> int:
        nonlocal state
        state ^= state << 13 & WORD
        state ^= state >> 7
        state ^= state << 17 & WORD
        return (state >> 11) % bound

    return random_below


def count_hits(
    graph: GraphArrays,
    relation: int,
    reached: Reached,
    answers: NDArray[np.int32],
    weighed: Weighed | None,
    num_entities: int,  # noqa: ARG001 - the kernel sizes its buffers by it
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every grounded body: queries whose answer it reaches, and results that are not known answers."""
    heads, entity, ptr = reached
    bodies = (len(ptr) - 1) // max(len(answers), 1)
    hits, wrong = np.zeros(bodies), np.zeros(bodies)
    for body, query, positions in cells_of(ptr, len(answers)):
        known = tails_of(graph, relation, int(heads[query]))
        weight = 1.0 if weighed is None else float(weighed.importance[query])
        for i in positions:
            worth = 1.0 if weighed is None else min(float(weighed.value[i]), 1.0)
            if entity[i] == answers[query]:
                hits[body] += worth * weight
                wrong[body] += worth * (1 - weight)
            elif int(entity[i]) not in known:
                wrong[body] += worth * weight
    return hits, wrong


def add_matches(
    graph: GraphArrays,
    reached: Reached,
    rules: HeadsOfBodies,
    is_reached: NDArray[np.bool_],  # noqa: ARG001 - the kernel's marks
    found: Matches,
) -> None:
    """Compare what grounded bodies reach with the facts of the rules that have these bodies."""
    (heads, entity, ptr), (support, pca, pairs) = reached, found
    for body, query, positions in cells_of(ptr, len(heads)):
        head, ends = int(heads[query]), {int(entity[i]) for i in positions}
        for rule in range(rules.ptr[body], rules.ptr[body + 1]):
            known = tails_of(graph, int(rules.head[rule]), head)
            pca[rule] += len(ends) if known else 0
            for tail in known:
                if tail in ends:
                    pairs[rule, support[rule] : support[rule] + 1] = head, tail
                    support[rule] += 1


def count_simple(
    graph: GraphArrays,
    body: NDArray[np.int32],
    rule_head: NDArray[np.int32],
    starts: NDArray[np.int32],
    most: int,
    is_end: NDArray[np.bool_],  # noqa: ARG001 - the kernel's marks
    support: NDArray[np.int64],
) -> tuple[int, int]:
    """Count the pairs that paths without repeated entities join along a body of at least one step."""
    steps = 0

    def ends(path: tuple[int, ...]) -> Iterator[int]:
        """Where the ways on lead, depth first; an end may come more than once."""
        nonlocal steps
        for other in tails_of(graph, int(body[len(path) - 1]), path[-1]):
            if steps == most:
                return
            steps += 1
            if other not in path:
                longer = (*path, other)
                yield from [other] if len(path) == len(body) else ends(longer)

    predictions = 0
    for start in starts.tolist():
        found = set(ends((start,)))
        predictions += len(found)
        for rule, head in enumerate(rule_head.tolist()):
            support[rule] += len(found.intersection(tails_of(graph, head, start)))
    return predictions, steps
