"""Names of entities and relations, and the ids that everything else works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rnnlogic.base.errors import RNNLogicError, UnknownNameError, nearest_spellings

INVERSE = "^-1"  # suffix that shows an inverse relation: `friend^-1`
MENTIONED = 3  # names that an error lists


@dataclass(frozen=True, eq=False)
class Vocab:
    """Entity and relation names by id; relation `r + len(relations)` is the inverse of `r`.

    Labels are display names. Questions may use names, and labels that belong to one name only; a text that is
    the name of one thing and the label of another means the name.
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
        return name in self._entity_ids or len(self._labelled_entities.get(name, ())) == 1

    def entity_id(self, name: str) -> int:
        """Id of an entity by name, or by a label that only one entity has."""
        found = self._entity_ids.get(name)
        if found is None:
            found = _only("entity", name, self._labelled_entities, self.entities)
        if found is None:
            raise UnknownNameError("entity", name, [*self.entities, *self._labelled_entities])
        return found

    def relation_id(self, name: str) -> int:
        """Id of a relation by name, or by a label that only one relation has; with `^-1`, of its inverse."""
        found = self._find_relation(name)
        if found is not None:
            return found
        if name.endswith(INVERSE):
            found = self._find_relation(name.removesuffix(INVERSE))
        if found is None:
            near = nearest_spellings(name, self.relations)
            raise UnknownNameError("relation", name, near or self._labelled_relations)
        return found + self.num_relations

    def _find_relation(self, name: str) -> int | None:
        found = self._relation_ids.get(name)
        return _only("relation", name, self._labelled_relations, self.relations) if found is None else found

    @cached_property
    def _entity_ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.entities)}

    @cached_property
    def _relation_ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.relations)}

    @cached_property
    def _labelled_entities(self) -> dict[str, list[int]]:
        return _by_label(self.entity_labels, self._entity_ids)

    @cached_property
    def _labelled_relations(self) -> dict[str, list[int]]:
        return _by_label(self.relation_labels, self._relation_ids)


class AmbiguousLabelError(UnknownNameError):
    """A label that several names share."""

    def __init__(self, kind: str, label: str, names: Sequence[str]) -> None:
        some = " and ".join(repr(name) for name in names[:MENTIONED])
        more = f" (and {len(names) - MENTIONED} more)" if len(names) > MENTIONED else ""
        text = f"unknown {kind} {label!r}: it is the label of {some}{more}; use one of these names"
        self.nearest = list(names[:MENTIONED])
        RNNLogicError.__init__(self, text)


def _by_label(labels: Mapping[str, str], ids: Mapping[str, int]) -> dict[str, list[int]]:
    """The ids that each label stands for."""
    found: dict[str, list[int]] = {}
    for name, label in labels.items():
        if name in ids:
            found.setdefault(label, []).append(ids[name])
    return found


def _only(kind: str, label: str, labelled: Mapping[str, list[int]], names: Sequence[str]) -> int | None:
    ids = labelled.get(label, [])
    if len(ids) > 1:
        raise AmbiguousLabelError(kind, label, [names[i] for i in ids])
    return ids[0] if ids else None
