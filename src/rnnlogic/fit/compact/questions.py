"""What the student is asked, and what it shall answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.fit.compact.ground import query_of
from rnnlogic.fit.compact.types import Floats, Grounded, Ids, Imitation, Teacher


def sampled_heads(teacher: Teacher, relation: int) -> NDArray[np.int32]:
    """Entities to ask about: all, or a random sample in which those with facts of the relation come first."""
    rng = np.random.default_rng([teacher.seed, relation, 2])
    has_facts = np.zeros(teacher.graph.num_entities, bool)
    has_facts[teacher.graph.edges(relation)[0]] = True
    heads = [rng.permutation(np.flatnonzero(has_facts)), rng.permutation(np.flatnonzero(~has_facts))]
    return np.concatenate(heads)[: teacher.settings.queries_per_relation].astype(np.int32)


def is_functional(graph: Graph, relation: int) -> bool:
    """Whether most facts of the relation are the only ones of their head."""
    facts = np.bincount(graph.edges(relation)[0])
    return 2 * int((facts == 1).sum()) > int(facts.sum())


class Questions(NamedTuple):
    """What the student is asked: heads, and the answers that are hidden meanwhile (-1: none)."""

    heads: NDArray[np.int32]  # [q]
    hidden: NDArray[np.int32]  # [q]
    weights: Floats  # [q]


def questions(teacher: Teacher, relation: int) -> Questions:
    """Questions like those to be answered later.

    Mostly these are about heads with further answers: heads, nothing hidden. But if a head has one answer as
    a rule, or an answer one head, then what is not known is hardly ever true: training facts, each hidden.
    """
    if not any(is_functional(teacher.graph, r) for r in (relation, teacher.graph.inverse(relation))):
        heads = sampled_heads(teacher, relation)
        return Questions(heads, np.full(len(heads), -1, np.int32), head_weights(teacher, relation, heads))
    heads, tails = teacher.graph.edges(relation)
    rng = np.random.default_rng([teacher.seed, relation, 2])
    picked = rng.permutation(len(heads))[: teacher.settings.queries_per_relation]
    return Questions(heads[picked], tails[picked], np.ones(len(picked)))


def head_weights(teacher: Teacher, relation: int, heads: NDArray[np.int32]) -> Floats:
    """How much each head [q] counts: more if it has facts of the relation, as those are asked about."""
    facts = np.bincount(teacher.graph.edges(relation)[0], minlength=teacher.graph.num_entities)
    return teacher.settings.unasked + np.sqrt(facts[heads])


def imitation(teacher: Teacher, weights: Floats, grounded: Grounded) -> Imitation:
    """What the student learns: the full model's distribution over candidates, none of them known already."""
    query, many = query_of(grounded.query_ptr), grounded.multiplicity
    weights = np.where(np.diff(grounded.query_ptr) < 2, 0.0, weights[: len(grounded.heads)])  # 1: trivial
    weights /= max(weights.sum(), 1e-300)
    share = softmax(grounded.query_ptr, teacher.settings.temperature * grounded.score + np.log(many))
    return Imitation(grounded.query_ptr, share * weights[query], many, grounded.rest, grounded.columns)


def softmax(query_ptr: NDArray[np.int64], scores: Floats) -> Floats:
    """Softmax of scores [c] within each query."""
    query = query_of(query_ptr)
    highest = np.full(len(query_ptr) - 1, -np.inf)
    np.maximum.at(highest, query, scores)
    odds = np.exp(scores - highest[query])
    share: Floats = odds / np.bincount(query, odds, minlength=len(query_ptr) - 1)[query]
    return share


def without_twins(
    hashes: NDArray[np.uint64], lengths: Ids, pinned: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Mask [k] of the rules that reach something, and not exactly what a shorter or earlier one reaches.

    Pinned rules stay anyway, so others make way for them.
    """
    gives_way = np.zeros(len(lengths), bool) if pinned is None else ~pinned
    order = np.lexsort((np.arange(len(lengths)), lengths, gives_way))
    first = order[np.unique(hashes[order], return_index=True)[1]]
    mask = np.zeros(len(lengths), bool)
    mask[first] = True
    mask &= hashes != 0
    return mask
