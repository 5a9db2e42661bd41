"""What kind of thing an entity is, by a relation of the graph such as `rdf:type` or `instance of`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph

if TYPE_CHECKING:
    from rnnlogic.data.vocab import Vocab

OFF = "off"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
# Relations that give types wherever they occur, the clearest first. `isa` and the like also join types to
# types, so they count only where the user says so.
TYPE_WORDS = ("rdf:type", "p31", "instance of", "type", "entity type")
SUBTYPE_WORDS = ("rdfs:sub class of", "p279", "subclass of")  # relations from a type to a wider one
RDFS_SUBTYPE = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
WIKIDATA = ("http://www.wikidata.org/prop/direct/", "http://www.wikidata.org/entity/", "wdt:", "wd:")
_CAMEL = re.compile("(?<=[a-z])(?=[A-Z])")  # between the words of `instanceOf`
FEWEST_MEMBERS = 2  # on average: with fewer, a relation called `type` gives no types


@dataclass(frozen=True, eq=False)
class EntityTypes:
    """The types of entities; types are entities themselves."""

    relation: int  # that gives them, 0..2R-1
    entity: NDArray[np.int32]  # [n] ascending
    kind: NDArray[np.int32]  # [n] a type of that entity
    members: NDArray[np.int64]  # [E] how many entities have this type

    @staticmethod
    def from_graph(graph: Graph, relation: int) -> EntityTypes:
        """The types that one relation gives."""
        entity, kind = graph.edges(relation)
        return EntityTypes(relation, entity, kind, np.bincount(kind, minlength=graph.num_entities))

    def of(self, entity: int) -> NDArray[np.int32]:
        """All types of an entity, ascending; empty where none is known."""
        first, last = np.searchsorted(self.entity, [entity, entity + 1])
        return self.kind[first:last]

    def shown(self, entity: int) -> int | None:
        """The type that says most: the one with the fewest members, if it has other members at all."""
        kinds = self.of(entity).tolist()
        return min(
            kinds, key=lambda kind: (self.members[kind] < FEWEST_MEMBERS, self.members[kind]), default=None
        )


def type_relation(vocab: Vocab, graph: Graph, wanted: str | None = None) -> int | None:
    """The relation that gives types, chosen by name or found by a usual one; None if there is none.

    One that was not chosen must have far fewer tails than heads.
    """
    if wanted == OFF:
        return None
    if wanted is not None:
        return vocab.relation_id(wanted)
    words = [_words(vocab, relation) for relation in range(vocab.num_relations)]
    for word in TYPE_WORDS:
        for relation, own in enumerate(words):
            if word in own and _gives_types(graph, relation):
                return relation
    return None


def subtype_relation(vocab: Vocab) -> int | None:
    """The relation from a type to a wider one, found by a usual name; None if there is none."""
    for relation in range(vocab.num_relations):
        if any(word in SUBTYPE_WORDS for word in _words(vocab, relation)):
            return relation
    return None


def with_types(vocab: Vocab, graph: Graph, wanted: str | None = None) -> Vocab:
    """The vocabulary with the types of its entities, if the graph has types."""
    relation = type_relation(vocab, graph, wanted)
    return vocab if relation is None else replace(vocab, types=EntityTypes.from_graph(graph, relation))


def _words(vocab: Vocab, relation: int) -> list[str]:
    """What a relation is called: its name and its label, spelled alike."""
    name = vocab.relations[relation]
    usual = {RDF_TYPE: "rdf:type", RDFS_SUBTYPE: "rdfs:subClassOf"}
    names = [usual.get(name, name), vocab.relation_labels.get(name, name)]
    for prefix in WIKIDATA:
        names = [name.removeprefix(prefix) for name in names]
    return [_CAMEL.sub(" ", name).replace("_", " ").lower() for name in names]


def _gives_types(graph: Graph, relation: int) -> bool:
    heads, tails = graph.edges(relation)
    return len(np.unique(heads)) >= FEWEST_MEMBERS * len(np.unique(tails)) > 0
