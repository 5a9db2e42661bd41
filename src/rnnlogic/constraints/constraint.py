"""One constraint: what it forbids, how often the facts keep it, and how people read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rnnlogic.data.vocab import Vocab

Kind = Literal["functional", "irreflexive", "asymmetric", "exclusive", "roles", "types", "domain"]
Origin = Literal["found", "stated"]
KINDS: tuple[Kind, ...] = (
    *("functional", "irreflexive", "asymmetric", "exclusive"),
    *("roles", "types", "domain"),
)


@dataclass(frozen=True)
class Constraint:
    """What no fact may do. Relations are ids in 0..2R-1, so each kind speaks of either direction.

    functional   no head of `relation` has more than `most` answers
    irreflexive  no entity is its own answer
    asymmetric   no pair has `relation` in both directions
    exclusive    no pair (X, Y) has both `relation` and `other`
    roles        no entity is a head of `relation` and a head of `other`
    types        every head of `relation` is of a type that another of its heads has
    domain       every head of `relation` is of the type `other`, an entity
    """

    kind: Kind
    relation: int
    other: int = -1
    most: int = 1
    cases: int = 0  # heads, facts or entities that could have broken it
    exceptions: int = 0  # those that do
    expected: float = 0.0  # that would by chance
    origin: Origin = "found"

    @property
    def is_hard(self) -> bool:
        """Whether it rules answers out: people say so, or no known fact breaks it."""
        return self.origin == "stated" or not self.exceptions

    @property
    def key(self) -> tuple[Kind, int, int]:
        """What it is about, however many answers it allows."""
        return self.kind, self.relation, self.other

    def text(self, vocab: Vocab) -> str:
        """For people, with how often the facts keep it: `section: 57,107 of 57,107 heads have one answer`."""
        about = ends_of(self.relation, vocab)
        kept, cases = f"{self.cases - self.exceptions:,}", f"{self.cases:,}"
        name = vocab.relation_label(self.relation)
        other = self._other(vocab)
        if self.kind == "functional":
            return f"{about[0]}: {self.kept(vocab)}"
        if self.kind == "irreflexive":
            return f"{name}: {kept} of {cases} facts join different entities"
        if self.kind == "asymmetric":
            return f"{name}: {kept} of {cases} facts hold in one direction only"
        if self.kind == "exclusive":
            return f"{name} and {other}: {kept} of {cases} pairs have only one of them"
        if self.kind == "roles":
            return f"{about[1]} of {about[0]}: {kept} of {cases} are no {other}"
        if self.kind == "types":
            return f"{about[0]}: {kept} of {cases} {about[1]} are of a type that others have"
        return f"{about[0]}: {kept} of {cases} {about[1]} with a type are of type {other}"

    def kept(self, vocab: Vocab) -> str:
        """How many heads of a functional relation keep it: `57,107 of 57,107 heads have one answer`."""
        number = "one answer" if self.most == 1 else f"at most {self.most} answers"
        ends = ends_of(self.relation, vocab)[1]
        return f"{self.cases - self.exceptions:,} of {self.cases:,} {ends} have {number}"

    def as_dict(self, vocab: Vocab) -> dict[str, Any]:
        """Plain values for JSON."""
        values: dict[str, Any] = {"kind": self.kind, "relation": vocab.relation_name(self.relation)}
        if self.kind in ("exclusive", "roles"):
            values["other"] = vocab.relation_name(self.other)
        if self.kind == "domain":
            values["type"] = vocab.entities[self.other]
        if self.kind == "functional":
            values["most"] = self.most
        figures = {name: getattr(self, name) for name in ("cases", "exceptions")}
        figures["expected_by_chance"] = round(self.expected, 1)
        return values | figures | {"origin": self.origin, "excludes": self.is_hard, "text": self.text(vocab)}

    def _other(self, vocab: Vocab) -> str:
        if self.kind == "domain":
            return vocab.entity_label(self.other)
        if self.kind == "roles":
            base, ends = ends_of(self.other, vocab)
            return f"{ends} of {base}"
        return vocab.relation_label(self.other) if self.kind == "exclusive" else ""


def ends_of(relation: int, vocab: Vocab) -> tuple[str, str]:
    """A relation as the graph has it, and which of its ends are the heads of `relation`."""
    inverse = relation >= vocab.num_relations
    return vocab.relation_label(relation % vocab.num_relations), "tails" if inverse else "heads"
