"""Finding constraints in facts. Each kind compares how often facts break it with how often chance would.

Chance means, for the number of answers: the facts of a relation fall at random on the entities that have
something else in common, and those that get one are looked at. For pairs: they fall at random on pairs that
are linked anyhow and have the right ends, an entity and itself among them. For roles: what an entity does is
independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import pdtrc  # of a Poisson number, the chance to exceed a value

from rnnlogic.constraints.belief import SELDOM, is_believed, is_listed
from rnnlogic.constraints.constraint import Constraint
from rnnlogic.data.graph import Graph
from rnnlogic.data.types import EntityTypes

LEAST_TYPED = 0.5  # share of the heads that must have types; with fewer, types say nothing of the others


def find(graph: Graph, types: EntityTypes | None = None) -> list[Constraint]:
    """All constraints that the facts of a graph make believable, those with exceptions too.

    `types` says what kind of thing an entity is, where the graph does.
    """
    if not len(graph):
        return []
    does = Does.of(graph)
    own = range(2 * graph.num_relations)
    return [
        *_functional(graph, does),
        *_pairs(graph),
        *_roles(does),
        *(() if types is None else (one for r in own for one in _types(graph, types, r))),
    ]


class Does(NamedTuple):
    """Which entities are heads of which of the 2R relations, and how often two go together."""

    heads: csr_matrix  # [2R, E] 1 where an entity is a head
    shared: csr_matrix  # [2R, 2R] entities that are heads of both
    facts: csr_matrix  # [2R, 2R] facts of the first whose head is a head of the second
    sizes: NDArray[np.int64]  # [2R] heads of each
    entities: int  # that have facts

    @staticmethod
    def of(graph: Graph) -> Does:
        """Counted by two sparse products."""
        a, shape = graph.arrays, (2 * graph.num_relations, graph.num_entities)
        degrees = np.diff(a.row_edges)
        heads = csr_matrix((np.ones(len(degrees), np.int64), a.row_head, a.relation_rows), shape)
        answers = csr_matrix((degrees, a.row_head, a.relation_rows), shape)
        transposed = heads.T.tocsr()
        active = int(np.count_nonzero(np.diff(transposed.indptr)))
        sizes = np.diff(a.relation_rows)
        return Does(heads, heads @ transposed, answers @ transposed, sizes, active)


def _functional(graph: Graph, does: Does) -> Iterator[Constraint]:
    """At most one answer, or as many as the fullest head has: whichever is believed, the smaller first."""
    a, inverses = graph.arrays, graph.num_relations
    for relation in np.flatnonzero(does.sizes).tolist():
        rows = slice(a.relation_rows[relation], a.relation_rows[relation + 1])
        degrees = np.diff(a.row_edges[rows.start : rows.stop + 1])
        part = slice(does.facts.indptr[relation], does.facts.indptr[relation + 1])
        domain, facts = does.facts.indices[part], does.facts.data[part]
        shared = does.shared[relation].toarray().ravel()[domain]
        # The relation itself says nothing of heads that could have more; nor does its inverse if symmetric.
        fair = (domain % inverses) != relation % inverses
        domain, facts = np.append(domain[fair], relation), np.append(facts[fair], degrees.sum())
        size = does.sizes[domain]
        size[-1] = does.entities  # all entities with facts are a domain too
        heads = np.append(shared[fair], len(degrees))
        mean = facts / size
        for most in dict.fromkeys((1, int(degrees.max()))):
            exceptions = int(np.count_nonzero(degrees > most))
            expected = float((heads * pdtrc(most, mean) / -np.expm1(-mean)).max())
            if is_listed(exceptions, expected):
                yield Constraint("functional", relation, -1, most, len(degrees), exceptions, expected)
                if not exceptions:
                    break


class Links(NamedTuple):
    """All edges between different entities, inverses included, sorted by pair."""

    first: NDArray[np.int64]  # [E+1] where the edges of each head begin
    tail: NDArray[np.int32]  # [n]
    relation: NDArray[np.int32]  # [n]
    pair: NDArray[np.int64]  # [n] number of the pair (head, tail)
    begins: NDArray[np.bool_]  # [n] whether it is the first edge of its pair

    @staticmethod
    def of(graph: Graph) -> Links:
        """Sorted once."""
        a = graph.arrays
        relation = np.repeat(np.arange(2 * graph.num_relations, dtype=np.int32), graph.num_edges)
        head = np.repeat(a.row_head, np.diff(a.row_edges))
        keys = head.astype(np.int64) * graph.num_entities + a.tails
        order = np.argsort(keys, kind="stable")
        order = order[head[order] != a.tails[order]]
        keys = keys[order]
        begins = np.append(np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1])
        first = np.searchsorted(head[order], np.arange(graph.num_entities + 1))
        return Links(first, a.tails[order], relation[order], np.cumsum(begins) - 1, begins)

    def of_heads(self, heads: NDArray[np.integer]) -> NDArray[np.int64]:
        """Places of the edges of some heads."""
        begin, length = self.first[heads], self.first[heads + 1] - self.first[heads]
        return np.repeat(begin - np.cumsum(length) + length, length) + np.arange(length.sum())


class Shared(NamedTuple):
    """Which pairs of a relation < R other relations have too, and how many would by chance."""

    relation: int
    facts: int
    plain: int  # facts between different entities
    expected_loops: float
    shared: NDArray[np.int64]  # [2R] pairs of which the other one holds as well
    chance: NDArray[np.float64]  # [2R]; 0 for the relation itself


def shared_pairs(graph: Graph) -> Iterator[Shared]:
    """Each relation with facts in turn. Chance: its facts fall at random on linked pairs of its own ends."""
    links, size = Links.of(graph), graph.num_relations
    marked, ends = np.zeros(len(links.begins), bool), np.zeros(graph.num_entities, bool)
    for relation in range(size):
        heads, tails = graph.edges(relation)
        if not len(heads):
            continue
        plain = int(np.count_nonzero(heads != tails))
        ends[tails] = True
        own = np.unique(heads)
        places = links.of_heads(own)
        places = places[ends[links.tail[places]]]
        itself = int(np.count_nonzero(ends[own]))
        near = int(np.count_nonzero(links.begins[places])) + itself
        ends[tails] = False
        pairs, others = links.pair[places], links.relation[places]
        marked[pairs[others == relation]] = True
        shared = np.bincount(others[marked[pairs]], minlength=2 * size)
        chance = plain * np.bincount(others, minlength=2 * size) / near
        marked[pairs] = False
        chance[relation] = 0
        yield Shared(relation, len(heads), plain, len(heads) * itself / near, shared, chance)


def _pairs(graph: Graph) -> Iterator[Constraint]:
    """Irreflexive and asymmetric relations, and those that exclude each other."""
    size = graph.num_relations
    both = dict[tuple[int, int], tuple[int, float]]()  # of relations a < R and b < 2R, by the facts of a
    plain = np.zeros(size, np.int64)
    for one in shared_pairs(graph):
        relation, plain[one.relation] = one.relation, one.plain
        loops = one.facts - one.plain
        if is_listed(loops, one.expected_loops):
            yield Constraint("irreflexive", relation, -1, 1, one.facts, loops, one.expected_loops)
        for other in np.flatnonzero(is_listed(one.shared, one.chance)).tolist():
            both[relation, other] = int(one.shared[other]), float(one.chance[other])
    for (relation, other), (exceptions, expected) in both.items():
        base = other % size
        if base == relation:
            cases = int(plain[relation])
            yield Constraint("asymmetric", relation, -1, 1, cases, exceptions, expected)
            continue
        back = both.get((base, relation + size * (other >= size)))
        if relation < base and back is not None:
            cases = int(plain[relation] + plain[base]) - exceptions
            expected = min(expected, back[1])
            yield Constraint("exclusive", relation, other, 1, cases, exceptions, expected)


@lru_cache(maxsize=1)  # weights are learned many times on one graph
def seldom_together(graph: Graph) -> Mapping[tuple[int, int], float]:
    """Relations in 0..2R-1 that seldom join the same entities, and which share of what chance would do so.

    So a fact of the second speaks against one of the first, though there are exceptions.
    """
    found = dict[tuple[int, int], float]()
    for one in shared_pairs(graph):
        for other in np.flatnonzero(is_believed(one.shared, one.chance, SELDOM)).tolist():
            share = float((one.shared[other] + 1) / (one.chance[other] + 1))
            found[one.relation, other] = share
            found[graph.inverse(one.relation), graph.inverse(other)] = share
    return found


def _roles(does: Does) -> Iterator[Constraint]:
    """Pairs of relations whose heads are never the same entities."""
    sizes, shared = does.sizes, does.shared
    for relation in range(len(sizes)):
        exceptions = shared[relation].toarray().ravel()
        expected = sizes[relation] * (sizes / does.entities)
        believed = is_believed(exceptions, expected)
        believed[: relation + 1] = False  # told once
        for other in np.flatnonzero(believed).tolist():
            figures = int(sizes[relation]), int(exceptions[other]), float(expected[other])
            yield Constraint("roles", relation, other, 1, *figures)


def _types(graph: Graph, types: EntityTypes, relation: int) -> Iterator[Constraint]:
    """Whether the heads of a relation keep to the types that others of its heads have."""
    if relation % graph.num_relations == types.relation % graph.num_relations:
        return
    typed = np.zeros(graph.num_entities, bool)
    typed[types.entity] = True
    heads = np.zeros(graph.num_entities, bool)
    heads[graph.edges(relation)[0]] = True
    cases = int(np.count_nonzero(heads & typed))
    if cases < LEAST_TYPED * np.count_nonzero(heads) or not cases:
        return
    often = np.bincount(types.kind[heads[types.entity]], minlength=graph.num_entities)  # heads of each type
    has_peers = np.zeros(graph.num_entities, bool)
    has_peers[types.entity[often[types.kind] > 1]] = True
    may = np.zeros(graph.num_entities, bool)
    may[types.entity[often[types.kind] > 0]] = True
    exceptions = int(np.count_nonzero(heads & typed & ~has_peers))
    expected = cases * float(np.count_nonzero(typed & ~may)) / int(np.count_nonzero(typed))
    if is_believed(exceptions, expected):
        yield Constraint("types", relation, types.relation, 1, cases, exceptions, expected)
