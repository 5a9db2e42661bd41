"""Named evidence as a source: it adds its values to what chains have reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.features.evidence.counting.kernels import Items
from rnnlogic.features.evidence.kernels import find_evidence
from rnnlogic.features.evidence.output.kernels import HEAD, KINDS
from rnnlogic.features.evidence.tables import RelationTables, find_items, relation_tables
from rnnlogic.rules.features import of_groups

__all__ = ["Source", "Walked", "find_items"]
ORDER = of_groups({"exclusions", "base_rate", "constants"})  # of the kernel


class Walked(NamedTuple):
    """What rules reach: rule `place[k]` reaches entity[ptr[i] : ptr[i + 1]] with i = k * queries + query."""

    place: NDArray[np.int64]  # [k] positions among the rules of the relation
    ptr: NDArray[np.int64]  # [k*q+1]
    entity: NDArray[np.int32]  # [n]
    counts: NDArray[Any]  # [n] paths, or values of features

    def followed_by(self, more: Sequence[Told]) -> Walked:
        """What is reached, then what named evidence says."""
        dtype = np.float32 if self.counts.max(initial=0) < 1 << 24 else np.float64
        place, sizes, entity, value = (np.concatenate(column) for column in zip(*more, strict=True))
        return Walked(
            np.append(self.place, place),
            np.append(self.ptr, self.ptr[-1] + np.cumsum(sizes)),
            np.append(self.entity, entity),
            np.concatenate([self.counts, value], dtype=dtype, casting="same_kind"),
        )


class Told(NamedTuple):
    """What some kinds of named evidence say."""

    place: NDArray[np.int64]  # [k] positions among the rules of the relation
    sizes: NDArray[np.int64]  # [k*q] results of each kind and query
    entity: NDArray[np.int32]  # [n]
    value: NDArray[np.float32]  # [n]


@dataclass(frozen=True, eq=False)
class Source:
    """The named evidence of one relation on one graph."""

    relation: int
    items: Items
    tables: RelationTables
    wanted: NDArray[np.bool_]  # [KINDS]
    place: NDArray[np.int64]  # [wanted kinds] positions among the rules of the relation

    @classmethod
    def of(cls, graph: Graph, items: Items, relation: int, places: dict[str, int]) -> Source:
        """The features of these names, each at a position among the rules of the relation."""
        of_kind = {ORDER.index(name): place for name, place in places.items()}
        wanted = np.array([kind in of_kind for kind in range(KINDS)], bool)
        tables = relation_tables(graph, items, relation, constants=bool(wanted[HEAD:].any()))
        place = np.array([of_kind[kind] for kind in np.flatnonzero(wanted).tolist()], np.int64)
        return cls(relation, items, tables, wanted, place)

    def told(self, graph: Graph, walked: Walked, heads: NDArray[np.int32], hidden: NDArray[np.int32]) -> Told:
        """The evidence about what chains reach, and about the candidates that it adds."""
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
        return Told(self.place, sizes, entity, value)
