"""The knowledge graph: for every relation and its inverse, who is connected to whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from rnnlogic.base.errors import DataError
from rnnlogic.base.types import PathKind

Triples = NDArray[np.int32]  # shape [n, 3]: head, relation, tail; relation < R
EdgeWeights = NDArray[np.int64]

# A direct index (relation, head) -> edges costs 2R x E entries. It is built only if that is within
# so many entries per edge, or below a small absolute size; otherwise rows are found by bisection.
DIRECT_ENTRIES_PER_EDGE = 16
DIRECT_ENTRIES_FREE = 1 << 22
# Weights of edges are whole numbers of this unit, so that sums over paths are exact and differences vanish
# where they should. With eight bits paths of three steps leave 38 for their number.
WEIGHT_BITS = 8
LIKELY = 1 << (WEIGHT_BITS - 1)  # the weight of a fact that is as likely true as not


class GraphArrays(NamedTuple):
    """What kernels see of a graph. Rows are the (relation, head) pairs that have edges, in that order."""

    relation_rows: NDArray[np.int64]  # [2R+1] rows of relation r: relation_rows[r]:relation_rows[r+1]
    row_head: NDArray[np.int32]  # [rows]  head of each row, ascending within a relation
    row_edges: NDArray[np.int64]  # [rows+1] edges of row i: row_edges[i]:row_edges[i+1]
    tails: NDArray[np.int32]  # [2F]   tail of each edge, ascending within a row
    direct: NDArray[np.int32]  # [2R, E+1] edges of (r, h): direct[r, h]:direct[r, h+1]; [0, 0] if too large


@dataclass(frozen=True, eq=False)
class Graph:
    """An immutable set of facts with inverses; memory is linear in the number of facts.

    Relation ids run from 0 to 2R-1; `r + R` is the inverse of `r`. `path_kind` says which walks count as
    paths of a chain rule, wherever rules meet the graph.
    """

    num_entities: int
    num_relations: int  # R, without inverses
    arrays: GraphArrays
    path_kind: PathKind = "simple"
    weights: EdgeWeights | None = None  # [2F] in units of 2^-WEIGHT_BITS; None: all are 1
    values: NDArray[np.float64] | None = None  # [attributes, entities] numbers and dates; nan: none

    shared_once: ClassVar[bool] = True  # workers of a cluster keep a graph from one call to the next

    @staticmethod
    def from_triples(triples: ArrayLike, num_entities: int, num_relations: int) -> Graph:
        """Build a graph from facts; repeated ones count once.

        Args:
            triples: The ids of head, relation (< R) and tail, [n, 3].
            num_entities: How many entities there are.
            num_relations: How many relations R there are, inverses left out.

        Returns:
            The graph, with inverses.

        Raises:
            ValueError: If an id is out of range.
        """
        facts = np.asarray(triples).reshape(-1, 3)
        if len(facts):
            _check_range("entity", facts[:, [0, 2]], num_entities)
            _check_range("relation", facts[:, 1], num_relations)
        head, relation, tail = _sorted_edges(facts, num_entities, num_relations)
        starts_row = np.ones(len(head), dtype=bool)
        starts_row[1:] = (head[1:] != head[:-1]) | (relation[1:] != relation[:-1])
        first_edge = np.flatnonzero(starts_row)
        relation_rows = np.searchsorted(relation[first_edge], np.arange(2 * num_relations + 1))
        arrays = GraphArrays(
            relation_rows=relation_rows.astype(np.int64),
            row_head=head[first_edge],
            row_edges=np.append(first_edge, len(head)).astype(np.int64),
            tails=tail,
            direct=_direct_index(head, relation, num_entities, num_relations),
        )
        for array in arrays:
            array.setflags(write=False)
        return Graph(num_entities, num_relations, arrays)

    @staticmethod
    def from_arrays(arrays: GraphArrays, num_entities: int, num_relations: int) -> Graph:
        """Build from the arrays of a graph, which may be mapped files; ValueError if they do not fit."""
        kinds = [array.dtype for array in arrays]
        if kinds != [np.int64, np.int32, np.int64, np.int32, np.int32]:
            raise ValueError(f"the arrays of the graph have types {', '.join(map(str, kinds))}")
        for array in arrays:
            array.setflags(write=False)
        rows, edges = arrays.row_head, arrays.tails
        _check_steps(arrays.relation_rows, 2 * num_relations, len(rows))
        _check_steps(arrays.row_edges, len(rows), len(edges))
        for ids in (rows, edges):
            if len(ids):
                _check_range("entity", ids, num_entities)
        if arrays.direct.size:
            if arrays.direct.shape != (2 * num_relations, num_entities + 1):
                raise ValueError(f"the index of the graph has shape {arrays.direct.shape}")
            _check_steps(arrays.direct.ravel(), arrays.direct.size - 1, len(edges))
        return Graph(num_entities, num_relations, arrays)

    def __repr__(self) -> str:
        return f"Graph({self.num_entities:,} entities, {self.num_relations:,} relations, {len(self):,} facts)"

    def __len__(self) -> int:
        """Number of facts, inverses not counted."""
        return len(self.arrays.tails) // 2

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        more = 0 if self.weights is None else self.weights.nbytes
        return sum(array.nbytes for array in self.arrays) + more

    def counting(self, path_kind: PathKind) -> Graph:
        """The same facts, with another choice of the walks that count as paths."""
        return self if path_kind == self.path_kind else replace(self, path_kind=path_kind)

    def weighing(self, weights_of: Callable[[Triples], NDArray[np.float64]]) -> Graph:
        """The same facts with weights above 0 and at most 1, told for facts [n, 3]; as it is if all are 1."""
        relations = np.arange(2 * self.num_relations)
        relation = np.repeat(relations, self.num_edges)
        head = np.repeat(self.arrays.row_head, np.diff(self.arrays.row_edges))
        is_inverse, tail = relation >= self.num_relations, self.arrays.tails
        backwards = np.stack([tail, relation - self.num_relations, head])
        facts = np.where(is_inverse, backwards, np.stack([head, relation, tail]))
        told = weights_of(np.ascontiguousarray(facts.T, np.int32))
        if (told == 1).all():
            return self
        units = np.maximum(np.rint(np.ldexp(told, WEIGHT_BITS)), 1).astype(np.int64)
        units.setflags(write=False)
        return replace(self, weights=units)

    def weights_of(
        self, heads: NDArray[np.integer], relations: NDArray[np.integer], tails: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """The weights of edges [n]; 1 for those that the graph lacks, and if it has no weights."""
        if self.weights is None:
            return np.ones(len(heads))
        place = self.find(heads, relations, tails)
        units = np.where(place >= 0, self.weights[place], 1 << WEIGHT_BITS)
        return np.ldexp(units.astype(np.float64), -WEIGHT_BITS)

    def find(
        self, heads: NDArray[np.integer], relations: NDArray[np.integer], tails: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """The place of each edge [n] in `arrays.tails`; -1 for those that the graph lacks."""
        first, last = self.spans(heads, relations)
        which, found = self.tails_within(first, last)
        is_it = found == tails[which]
        starts = np.cumsum(last - first) - (last - first)
        place = np.full(len(heads), -1, np.int64)
        place[which[is_it]] = (np.arange(len(which)) + (first - starts)[which])[is_it]
        return place

    @cached_property
    def likely(self) -> Graph:
        """The facts that are more likely true than not, without weights."""
        if self.weights is None:
            return self
        facts, units = self.triples(), self.weights[: len(self)]  # inverses come last
        kept = facts[units >= LIKELY]
        likely = Graph.from_triples(kept, self.num_entities, self.num_relations)
        return likely.valued(self.values).counting(self.path_kind)

    def valued(self, values: NDArray[np.float64] | None) -> Graph:
        """The same facts with the numbers and dates of entities."""
        return replace(self, values=values)

    def inverse(self, relation: int) -> int:
        """The id of the inverse relation."""
        r = self.num_relations
        return relation - r if relation >= r else relation + r

    def neighbours(self, head: int, relation: int) -> NDArray[np.int32]:
        """All tails t with relation(head, t).

        Args:
            head: The id of an entity.
            relation: The id of a relation or of an inverse.

        Returns:
            The ids of the tails, ascending; a view.
        """
        a = self.arrays
        lo, hi = a.relation_rows[relation], a.relation_rows[relation + 1]
        row = lo + a.row_head[lo:hi].searchsorted(head)
        if row == hi or a.row_head[row] != head:
            return a.tails[:0]
        return a.tails[a.row_edges[row] : a.row_edges[row + 1]]

    def edge_ranges(
        self, heads: NDArray[np.integer], relation: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the tails of each head [n] begin and end in `arrays.tails`."""
        a = self.arrays
        low, high = a.relation_rows[relation], a.relation_rows[relation + 1]
        known = a.row_head[low:high]
        rows = known.searchsorted(heads)
        has_edges = known.searchsorted(heads, side="right") > rows
        return a.row_edges[low + rows], a.row_edges[low + rows + has_edges]

    def spans(
        self, heads: NDArray[np.integer], relations: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the tails of (head, relation) pairs [n] begin and end in `arrays.tails`."""
        found = np.zeros((2, len(heads)), np.int64)
        order = np.argsort(relations, kind="stable")
        bounds = np.flatnonzero(np.diff(relations[order], prepend=-1))
        for places in np.split(order, bounds[1:]) if len(order) else ():
            found[:, places] = self.edge_ranges(heads[places], int(relations[places[0]]))
        return found[0], found[1]

    def tails_within(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The tails of all ranges [n], one after another, and the range of each."""
        lengths = last - first
        which = np.repeat(np.arange(len(first)), lengths)
        within = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return which, self.arrays.tails[first[which] + within]

    def has(self, head: int, relation: int, tail: int) -> bool:
        """Whether relation(head, tail) is a fact.

        Args:
            head: The id of an entity.
            relation: The id of a relation or of an inverse.
            tail: The id of an entity.

        Returns:
            True if it is.
        """
        tails = self.neighbours(head, relation)
        place = np.searchsorted(tails, tail)
        return bool(place < len(tails) and tails[place] == tail)

    def edges(self, relation: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The edges of one relation.

        Args:
            relation: The id of a relation or of an inverse.

        Returns:
            Heads and tails, sorted by head, then tail.
        """
        a = self.arrays
        lo, hi = a.relation_rows[relation], a.relation_rows[relation + 1]
        heads = np.repeat(a.row_head[lo:hi], np.diff(a.row_edges[lo : hi + 1]))
        return heads, a.tails[a.row_edges[lo] : a.row_edges[hi]]

    def triples(self) -> Triples:
        """All facts, inverses left out.

        Returns:
            The ids of head, relation and tail [n, 3], sorted by relation, head, tail.
        """
        blocks = []
        for relation in range(self.num_relations):
            heads, tails = self.edges(relation)
            blocks.append(np.stack([heads, np.full_like(heads, relation), tails], axis=1))
        return np.concatenate(blocks) if blocks else np.empty((0, 3), np.int32)

    @cached_property
    def num_edges(self) -> NDArray[np.int64]:
        """How many edges each of the 2R relations has."""
        return np.diff(self.arrays.row_edges[self.arrays.relation_rows]).astype(np.int64)

    @cached_property
    def linked_alike(self) -> NDArray[np.int64]:
        """Pairs of relations a, b that both join some x to some other y, as a * 2R + b, ascending."""
        relations = 2 * self.num_relations
        edges = [self.edges(relation) for relation in range(relations)]
        keys = [
            heads[heads != tails].astype(np.int64) * self.num_entities + tails[heads != tails]
            for heads, tails in edges
        ]
        pairs, place = np.unique(np.concatenate(keys or [np.empty(0, np.int64)]), return_inverse=True)
        relation = np.repeat(np.arange(relations), [len(own) for own in keys])
        joins = csr_matrix((np.ones(len(place), bool), (relation, place)), (relations, len(pairs)))
        both = (joins @ joins.T).tocoo()
        return np.sort(both.row.astype(np.int64) * relations + both.col)

    @cached_property
    def max_degree(self) -> NDArray[np.int64]:
        """Largest number of tails of any head, for each of the 2R relations."""
        a = self.arrays
        degree = np.diff(a.row_edges)
        largest = np.zeros(2 * self.num_relations, dtype=np.int64)
        used = np.flatnonzero(np.diff(a.relation_rows))
        if len(used):
            largest[used] = np.maximum.reduceat(degree, a.relation_rows[used])
        return largest


def _check_steps(starts: NDArray[np.integer], parts: int, size: int) -> None:
    """Starts [parts+1] of parts that lie one after another in so many elements."""
    is_wrong = starts.shape != (parts + 1,) or starts[0] != 0 or starts[-1] != size
    if is_wrong or (starts[1:] < starts[:-1]).any():
        raise ValueError("the arrays of the graph do not belong together")


def _check_range(kind: str, ids: NDArray[np.integer], size: int) -> None:
    if ids.min() < 0 or ids.max() >= size:
        raise ValueError(f"{kind} ids must lie in 0..{size - 1}, found {ids.min()}..{ids.max()}")


def _sorted_edges(
    facts: NDArray[np.integer], num_entities: int, num_relations: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Facts and inverses as columns head, relation, tail; sorted by relation, head, tail; no repeats."""
    head, relation, tail = (facts[:, i].astype(np.int64) for i in range(3))
    bits = max(num_entities - 1, 1).bit_length()
    if (2 * num_relations).bit_length() + 2 * bits > 63:
        return _sorted_by_relation(facts, bits, num_relations)
    # One integer per edge: sorting plain integers is many times faster than sorting by three columns.
    keys = np.concatenate(
        [
            ((relation << bits | head) << bits) | tail,
            (((relation + num_relations) << bits | tail) << bits) | head,
        ]
    )
    keys.sort()
    if len(keys):
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
    mask = (1 << bits) - 1
    columns = (keys >> bits & mask, keys >> (2 * bits), keys & mask)
    return columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2].astype(np.int32)


def _sorted_by_relation(
    facts: NDArray[np.integer], bits: int, num_relations: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The same where a relation and two entities do not fit into 64 bits: one relation after another."""
    order = np.argsort(facts[:, 1], kind="stable")
    ends = np.searchsorted(facts[order, 1], np.arange(num_relations + 1))
    columns: list[tuple[NDArray[np.int32], ...]] = [(np.empty(0, np.int32),) * 3]
    for relation in range(2 * num_relations):
        base = relation % num_relations
        rows = order[ends[base] : ends[base + 1]]
        first, second = (facts[rows, i].astype(np.int64) for i in ((0, 2) if base == relation else (2, 0)))
        keys = np.sort(first << bits | second)
        keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
        found = (keys >> bits, np.full(len(keys), relation), keys & ((1 << bits) - 1))
        columns.append(tuple(column.astype(np.int32) for column in found))
    head, relation_of, tail = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return head, relation_of, tail


def _direct_index(
    head: NDArray[np.int32], relation: NDArray[np.int32], num_entities: int, num_relations: int
) -> NDArray[np.int32]:
    entries = 2 * num_relations * (num_entities + 1)
    if entries > max(DIRECT_ENTRIES_FREE, DIRECT_ENTRIES_PER_EDGE * len(head)) or len(head) >= 1 << 31:
        return np.empty((0, 0), np.int32)
    edges_up_to = np.zeros(entries + 1, dtype=np.int32)
    slot = relation.astype(np.int64) * (num_entities + 1) + head
    edges_up_to[1:] = np.bincount(slot, minlength=entries)
    np.cumsum(edges_up_to, out=edges_up_to)
    return np.ascontiguousarray(edges_up_to[:-1].reshape(2 * num_relations, num_entities + 1))


def fact_keys(facts: Triples, num_entities: int, num_relations: int) -> NDArray[np.int64]:
    """One integer per fact, in the order of (relation, head, tail)."""
    if num_relations * num_entities**2 >= 1 << 63:
        raise DataError(f"{num_entities:,} entities with {num_relations:,} relations exceed 64-bit fact keys")
    head, relation, tail = (facts[:, i].astype(np.int64) for i in range(3))
    return np.asarray((relation * num_entities + head) * num_entities + tail)


def is_among(keys: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which keys [n] are among others; np.isin sorts both together, which takes many times as long."""
    if not len(others) or not len(keys):
        return np.zeros(len(keys), bool)
    ascending = np.sort(others)
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)
