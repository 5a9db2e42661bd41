"""Which facts are possible: those whose ends are of types that the relation has in the training facts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.types import EntityTypes, type_relation

LEAST_TYPED = 0.5  # share of the entities seen on a side that must have types; with fewer, types say nothing

Mask = NDArray[np.bool_]


def possible_facts(
    dataset: Dataset, types: str | PossibleFacts | None, evidence: Evidence
) -> PossibleFacts | None:
    """What tells possible facts by the types of their ends; None if the graph has no types.

    `types` is the relation that says what kind of thing an entity is, or "off"; usual names are found.
    """
    if isinstance(types, PossibleFacts):
        return types
    graph = dataset.graph(evidence)
    relation = type_relation(dataset.vocab, graph, types)
    if relation is None:
        return None
    return PossibleFacts(EntityTypes.from_graph(graph, relation), dataset.graph("train"))


class PossibleFacts:
    """Leaves out facts with an end of a type that was never seen on that side of the relation.

    An entity without a type may stand anywhere, and so may any entity where most of those seen have no type.
    The relation that gives the types is not judged by them.
    """

    def __init__(self, types: EntityTypes, train: Graph) -> None:
        self.types, self._train = types, train
        self.left_out = 0  # facts so far, counted by who asks
        self._masks: dict[int, Mask] = {}

    def keeps(self, facts: Triples) -> Mask:
        """Which facts [n, 3] of one relation are possible."""
        if not len(facts):
            return np.ones(0, bool)
        relation = int(facts[0, 1])
        kept: Mask = self.heads(relation)[facts[:, 0]]
        kept &= self.heads(self._train.inverse(relation))[facts[:, 2]]
        return kept

    def heads(self, relation: int) -> Mask:
        """Which entities [E] may be heads of a relation; of an inverse relation, which may be tails."""
        if relation not in self._masks:
            self._masks[relation] = self._find(relation)
        return self._masks[relation]

    def _find(self, relation: int) -> Mask:
        size = self._train.num_entities
        everything = np.ones(size, bool)
        if relation in (self.types.relation, self._train.inverse(self.types.relation)):
            return everything
        is_typed = np.zeros(size, bool)
        is_typed[self.types.entity] = True
        seen = np.zeros(size, bool)
        seen[self._train.edges(relation)[0]] = True
        if not seen.any() or is_typed[seen].mean() < LEAST_TYPED:
            return everything
        is_seen_type = np.zeros(size, bool)
        is_seen_type[self.types.kind[seen[self.types.entity]]] = True
        possible = ~is_typed
        possible[self.types.entity[is_seen_type[self.types.kind]]] = True
        return possible
