"""Names of entities and relations, and the ids that everything else works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rnnlogic.base.errors import UnknownNameError

INVERSE = "^-1"  # suffix that shows an inverse relation: `friend^-1`


@dataclass(frozen=True, eq=False)
class Vocab:
    """Entity and relation names by id; relation `r + len(relations)` is the inverse of `r`.

    Labels are display names only: files, rules and questions always may use the names, and where a label
    is unique a question may use the label instead.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]  # without inverses
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    relation_labels: Mapping[str, str] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vocab) and self.entities == other.entities and self.relations == other.relations
        )

    def __hash__(self) -> int:
        return hash((len(self.entities), self.relations))

    def __repr__(self) -> str:
        return f"Vocab({self.num_entities:,} entities, {self.num_relations:,} relations)"

    @property
    def num_entities(self) -> int:
        """Number of entities."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """Number of relations R, without inverses."""
        return len(self.relations)

    def inverse(self, relation: int) -> int:
        """The id of the inverse relation."""
        r = self.num_relations
        return relation - r if relation >= r else relation + r

    def relation_name(self, relation: int) -> str:
        """Name of a relation id; inverses end in `^-1`."""
        r = self.num_relations
        return self.relations[relation] if relation < r else self.relations[relation - r] + INVERSE

    def relation_label(self, relation: int) -> str:
        """Display name of a relation id; inverses end in `^-1`."""
        r = self.num_relations
        base = self.relations[relation if relation < r else relation - r]
        return self.relation_labels.get(base, base) + (INVERSE if relation >= r else "")

    def entity_label(self, entity: int) -> str:
        """Display name of an entity id."""
        name = self.entities[entity]
        return self.entity_labels.get(name, name)

    def has_entity(self, name: str) -> bool:
        """Whether `entity_id` knows a name."""
        return name in self._entity_ids or name in self._unique_label_ids

    def entity_id(self, name: str) -> int:
        """Id of an entity by name, or by label where the label is unique."""
        found = self._entity_ids.get(name)
        if found is None:
            found = self._unique_label_ids.get(name)
        if found is None:
            raise UnknownNameError("entity", name, [*self.entities, *self._unique_label_ids])
        return found

    def relation_id(self, name: str) -> int:
        """Id of a relation by name; `name^-1` is the inverse."""
        if name in self._relation_ids:
            return self._relation_ids[name]
        base = name.removesuffix(INVERSE)
        if base != name and base in self._relation_ids:
            return self._relation_ids[base] + self.num_relations
        raise UnknownNameError("relation", name, self.relations)

    @cached_property
    def _entity_ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.entities)}

    @cached_property
    def _relation_ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.relations)}

    @cached_property
    def _unique_label_ids(self) -> dict[str, int]:
        ids: dict[str, int] = {}
        shared: set[str] = set()
        for name, label in self.entity_labels.items():
            if name in self._entity_ids:
                (shared.add(label) if label in ids else ids.__setitem__(label, self._entity_ids[name]))
        return {label: i for label, i in ids.items() if label not in shared}
