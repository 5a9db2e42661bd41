"""Named evidence as a source: it adds its values to what chains have reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.grounding.evidence.counting.kernels import Items
from rnnlogic.grounding.evidence.kernels import find_evidence
from rnnlogic.grounding.evidence.output.kernels import HEAD, KINDS
from rnnlogic.grounding.evidence.tables import RelationTables, find_items, relation_tables
from rnnlogic.rules.evidence import FIRST

__all__ = ["Source", "Walked", "find_items"]


class Walked(NamedTuple):
    """What rules reach: rule `place[k]` reaches entity[ptr[i] : ptr[i + 1]] with i = k * queries + query."""

    place: NDArray[np.int64]  # [k] positions among the rules of the relation
    ptr: NDArray[np.int64]  # [k*q+1]
    entity: NDArray[np.int32]  # [n]
    counts: NDArray[Any]  # [n] walks; values of named evidence as negative numbers

    def followed_by(
        self,
        place: NDArray[np.int64],
        sizes: NDArray[np.int64],
        entity: NDArray[np.int32],
        value: NDArray[np.float32],
    ) -> Walked:
        """What is reached, then named evidence: sizes [k*q] of its results, their entities and values."""
        dtype = np.float32 if self.counts.max(initial=0) < 1 << 24 else np.float64
        return Walked(
            np.append(self.place, place),
            np.append(self.ptr, self.ptr[-1] + np.cumsum(sizes)),
            np.append(self.entity, entity),
            np.append(self.counts.astype(dtype), np.negative(value, dtype=dtype)),
        )


@dataclass(frozen=True, eq=False)
class Source:
    """The named evidence of one relation on one graph."""

    relation: int
    items: Items
    tables: RelationTables
    wanted: NDArray[np.bool_]  # [KINDS]
    place: NDArray[np.int64]  # [wanted kinds] positions among the rules of the relation

    @classmethod
    def of(cls, graph: Graph, items: Items, relation: int, places: dict[int, int]) -> Source:
        """The evidence with these ids, each at a position among the rules of the relation."""
        of_kind = {FIRST - body: place for body, place in places.items()}
        wanted = np.array([kind in of_kind for kind in range(KINDS)], bool)
        tables = relation_tables(graph, items, relation, constants=bool(wanted[HEAD:].any()))
        place = np.array([of_kind[kind] for kind in np.flatnonzero(wanted).tolist()], np.int64)
        return cls(relation, items, tables, wanted, place)

    def added(
        self, graph: Graph, walked: Walked, heads: NDArray[np.int32], hidden: NDArray[np.int32]
    ) -> Walked:
        """What chains reach, followed by the evidence about it and about the candidates that it adds."""
        entity, value, ptr = find_evidence(
            graph.arrays,
            self.items,
            *self.tables,
            self.wanted,
            heads,
            hidden,
            self.relation,
            walked.entity,
            walked.ptr,
            graph.num_entities,
        )
        sizes = np.diff(ptr).reshape(KINDS, len(heads))[self.wanted].ravel()
        return walked.followed_by(self.place, sizes, entity, value)
