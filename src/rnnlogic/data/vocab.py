"""Names of entities and relations, and the ids that everything else works with."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from rnnlogic.base.errors import MENTIONED, DataError, RNNLogicError, UnknownNameError, nearest_spellings

if TYPE_CHECKING:
    from rnnlogic.data.annotations import FactNotes
    from rnnlogic.data.attributes import Attribute
    from rnnlogic.data.types import EntityTypes

INVERSE = "^-1"  # suffix that shows an inverse relation: `friend^-1`
LETTERS = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"})
_GAPS = re.compile(r"[\s_\-]+")


@dataclass(frozen=True, eq=False)
class Vocab:
    """Entity and relation names by id; relation `r + len(relations)` is the inverse of `r`.

    Labels are display names; `entity_label` and `relation_label` are the only place where an id becomes what
    people see. Where names with one label must be told apart, they see `Paris [Q90]`. Questions may use
    names, what is shown, and labels that belong to one name only; a text that is the name of one thing and
    the label of another means the name.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]  # without inverses
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    relation_labels: Mapping[str, str] = field(default_factory=dict)
    shows_labels: bool = True  # False: people see the names, though questions may use labels
    types: EntityTypes | None = None  # what kind of thing each entity is, where that is to be shown
    templates: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # of relations; see data/labels
    notes: FactNotes | None = None  # what is shown beside facts, where anything is told about them
    attributes: tuple[Attribute, ...] = ()  # numbers and dates of entities

    def __post_init__(self) -> None:
        labels = (self.entity_labels.values(), self.relation_labels.values())
        for names in (self.entities, self.relations, [one.name for one in self.attributes], *labels):
            _require_text(names)

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

    @property
    def has_labels(self) -> bool:
        """Whether people see anything but the names."""
        return self.shows_labels and bool(self.entity_labels or self.relation_labels)

    def inverse(self, relation: int) -> int:
        """The id of the inverse relation.

        Args:
            relation: The id of a relation, 0..2R-1.

        Returns:
            The id of its inverse; that of an inverse is the relation.
        """
        r = self.num_relations
        return relation - r if relation >= r else relation + r

    def relation_name(self, relation: int) -> str:
        """The name of a relation.

        Args:
            relation: Its id, 0..2R-1.

        Returns:
            The name; inverses end in `^-1`.
        """
        r = self.num_relations
        return self.relations[relation] if relation < r else self.relations[relation - r] + INVERSE

    def relation_label(self, relation: int) -> str:
        """Display name of a relation id; inverses end in `^-1`. Relations of one label are told apart."""
        r = self.num_relations
        name = self.relations[relation if relation < r else relation - r]
        shown = _told_apart(self._shown(name, self.relation_labels), name, self._labelled_relations)
        return shown + INVERSE if relation >= r else shown

    def entity_label(self, entity: int) -> str:
        """Display name of an entity id."""
        return self._shown(self.entities[entity], self.entity_labels)

    def entity_title(self, entity: int) -> str:
        """The same; entities of one label are told apart, as lists of answers need it."""
        return _told_apart(self.entity_label(entity), self.entities[entity], self._labelled_entities)

    def entity_type(self, entity: int) -> str | None:
        """Display name of what kind of thing an entity is; None where that is unknown or not to be shown."""
        kind = None if self.types is None else self.types.shown(entity)
        return None if kind is None else self.entity_label(kind)

    def described(self, entity: int) -> str:
        """Display name of an entity with its type, where that is to be shown: `aspirin (drug)`."""
        kind = self.entity_type(entity)
        return self.entity_label(entity) if kind is None else f"{self.entity_label(entity)} ({kind})"

    def told_of(self, head: int, relation: int, tail: int) -> str:
        """What is shown beside a fact, either way round: ` (.8, ORPHA)`; mostly nothing."""
        return "" if self.notes is None else self.notes.text(self.as_fact(head, relation, tail))

    def as_fact(self, head: int, relation: int, tail: int) -> tuple[int, int, int]:
        """A fact in the direction of the graph."""
        if relation < self.num_relations:
            return head, relation, tail
        return tail, relation - self.num_relations, head

    def with_ids(self) -> Vocab:
        """The same names, shown as they are instead of by their labels."""
        return replace(self, shows_labels=False)

    def labels_of(self, entities: Iterable[int], relations: Iterable[int]) -> dict[str, dict[str, str]]:
        """The labels of some names, for JSON; names without a label are left out."""
        named = {relation % max(self.num_relations, 1) for relation in relations}
        return {
            "entities": _chosen(self.entity_labels, (self.entities[e] for e in sorted(set(entities)))),
            "relations": _chosen(self.relation_labels, (self.relations[r] for r in sorted(named))),
        }

    def types_of(self, entities: Iterable[int]) -> dict[str, list[str]]:
        """All types of some entities by name, for JSON; entities without a type are left out."""
        if self.types is None:
            return {}
        kinds = {e: self.types.of(e).tolist() for e in sorted(set(entities))}
        return {self.entities[e]: [self.entities[k] for k in own] for e, own in kinds.items() if own}

    def _shown(self, name: str, labels: Mapping[str, str]) -> str:
        return labels.get(name, name) if self.shows_labels else name

    def has_entity(self, name: str) -> bool:
        """Whether `entity_id` knows a name."""
        return name in self._entity_ids or len(self._labelled_entities.get(name, ())) == 1

    def entity_id(self, name: str) -> int:
        """The id of an entity.

        Args:
            name: Its name, a label that only one has, or either in other case or accents.

        Returns:
            The id.

        Raises:
            RNNLogicError: If there is none, or more than one; the message lists those that are near.
        """
        place = bisect_left(self.entities, name)
        if place < len(self.entities) and self.entities[place] == name:
            return place  # names ascend, unless their order was given: no need to index millions of them
        found = self._entity_ids.get(name)
        if found is None:
            found = _only("entity", name, self._labelled_entities, self.entities, self._entity_ids)
        if found is None:
            alike = self.entities_like(name)
            if len(alike) == 1:
                return alike[0]
            if alike:
                raise AmbiguousLabelError("entity", name, [self.entities[place] for place in alike], "like")
            raise UnknownNameError("entity", name, [*self.entities, *self._labelled_entities])
        return found

    def entities_like(self, name: str) -> list[int]:
        """Entities whose name or label differs from a text only by case, accents or gaps."""
        return self._folded_entities.get(folded(name), [])

    def relation_id(self, name: str) -> int:
        """The id of a relation.

        Args:
            name: Its name, or a label that only one relation has; with `^-1`, that of its inverse.

        Returns:
            The id, 0..2R-1.

        Raises:
            RNNLogicError: If there is none, or more than one, or if it holds numbers or dates.
        """
        found = self._find_relation(name)
        if found is not None:
            return found
        if name.endswith(INVERSE):
            found = self._find_relation(name.removesuffix(INVERSE))
        if found is None and name.removesuffix(INVERSE) in self._attribute_ids:
            raise RNNLogicError(
                f"{name} holds numbers or dates, which are conditions of rules and are not predicted; to "
                "take them for entities, load the data with --numeric off (numeric='off' in Python)"
            )
        if found is None:
            near = nearest_spellings(name, self.relations)
            raise UnknownNameError("relation", name, near or self._labelled_relations)
        return found + self.num_relations

    def attribute_id(self, name: str) -> int:
        """The id of an attribute.

        Args:
            name: Its name, or a label that only it has.

        Returns:
            The id.

        Raises:
            RNNLogicError: If there is none, or more than one; the message lists those that are near.
        """
        found = self._attribute_ids.get(name)
        if found is None:
            named = [i for i, one in enumerate(self.attributes) if self.attribute_label(i) == name]
            if len(named) != 1:
                raise UnknownNameError("attribute", name, [one.name for one in self.attributes])
            return named[0]
        return found

    def attribute_label(self, attribute: int) -> str:
        """Display name of an attribute."""
        return self._shown(self.attributes[attribute].name, self.relation_labels)

    def _find_relation(self, name: str) -> int | None:
        found = self._relation_ids.get(name)
        if found is not None:
            return found
        return _only("relation", name, self._labelled_relations, self.relations, self._relation_ids)

    @cached_property
    def _entity_ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.entities)}

    @cached_property
    def _folded_entities(self) -> dict[str, list[int]]:
        """Entities by names and labels without case and accents: `muller` for `Müller`."""
        found: dict[str, list[int]] = {}
        labels = (
            (self._entity_ids[name], label)
            for name, label in self.entity_labels.items()
            if name in self._entity_ids
        )
        for place, text in chain(enumerate(self.entities), labels):
            alike = found.setdefault(folded(text), [])
            if place not in alike:
                alike.append(place)
        return found

    @cached_property
    def _attribute_ids(self) -> dict[str, int]:
        return {one.name: i for i, one in enumerate(self.attributes)}

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
    """A label that several names share, or a spelling that is like several."""

    def __init__(self, kind: str, label: str, names: Sequence[str], how: str = "the label of") -> None:
        some = " and ".join(repr(name) for name in names[:MENTIONED])
        more = f" (and {len(names) - MENTIONED} more)" if len(names) > MENTIONED else ""
        text = f"unknown {kind} {label!r}: it is {how} {some}{more}; use one of these names"
        self.nearest = list(names[:MENTIONED])
        RNNLogicError.__init__(self, text)


def _by_label(labels: Mapping[str, str], ids: Mapping[str, int]) -> dict[str, list[int]]:
    """The ids that each label stands for."""
    found: dict[str, list[int]] = {}
    for name, label in labels.items():
        if name in ids:
            found.setdefault(label, []).append(ids[name])
    return found


def _only(
    kind: str,
    label: str,
    labelled: Mapping[str, list[int]],
    names: Sequence[str],
    ids: Mapping[str, int],
) -> int | None:
    """The id that a label stands for, or a label with the name behind it: `Paris [Q90]`."""
    found = labelled.get(label, [])
    if len(found) > 1:
        raise AmbiguousLabelError(kind, label, [names[i] for i in found])
    if found or not label.endswith("]"):
        return found[0] if found else None
    start, _, name = label[:-1].rpartition(" [")
    return ids[name] if ids.get(name) in labelled.get(start, ()) else None


def _told_apart(shown: str, name: str, labelled: Mapping[str, list[int]]) -> str:
    return f"{shown} [{name}]" if shown != name and len(labelled.get(shown, ())) > 1 else shown


def _chosen(labels: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: labels[name] for name in names if name in labels}


def _require_text(names: Iterable[str]) -> None:
    """Refuse half characters (lone surrogates), which JSON may hold and no file can."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError as problem:
        part = problem.object[max(problem.start - 20, 0) : problem.end]
        raise DataError(
            f"a name or label is no text: {part!r} ends in half a character; correct the data"
        ) from None


def folded(name: str) -> str:
    """A name without what people type differently: case, accents, kinds of gaps."""
    text = name.casefold()
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.translate(LETTERS))
        text = "".join(c for c in parts if not unicodedata.combining(c))
    return _GAPS.sub(" ", text).strip()
