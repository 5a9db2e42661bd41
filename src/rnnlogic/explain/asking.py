"""What is asked of a model: one type for Python, the command line, HTTP and agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.dataset import Evidence
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.answers import Known


@dataclass(frozen=True, kw_only=True)
class Question:
    """(head, relation, ?) or (?, relation, tail) asks for answers, both ends for reasons, none for new facts.

    Names are those of the data, or labels; `relation^-1` is the inverse of a relation.
    """

    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    instead: str | None = None  # why not this tail?
    most: int = 10  # answers or facts
    facts: Evidence = "all"  # that are known
    known: Known = "drop"
    min_probability: float = 0.0  # of new facts
    allow_violations: bool = False  # of constraints
    missing: float | None = None  # facts, or below 1 the share of the known ones; without it an estimate
    types: str | None = None  # the relation that gives the types of entities, or "off"

    def forward(self, vocab: Vocab) -> tuple[str, str]:
        """The head and the relation of (head, relation, ?); heads are asked for by the inverse relation."""
        if self.relation is None or (self.head is None) == (self.tail is None):
            raise RNNLogicError("give a relation, and either head or tail; `explain` takes both ends")
        if self.tail is None:
            return str(self.head), self.relation
        return self.tail, vocab.relation_name(vocab.inverse(vocab.relation_id(self.relation)))

    def by(self, entity: Callable[[str], str], relation: Callable[[str], str]) -> Question:
        """The same question by other names of its entities and its relation."""
        head, tail, instead = (
            None if name is None else entity(name) for name in (self.head, self.tail, self.instead)
        )
        asked = None if self.relation is None else relation(self.relation)
        return replace(self, head=head, relation=asked, tail=tail, instead=instead)

    @property
    def without_ends(self) -> Question:
        """How it is asked, whatever it is about."""
        return replace(self, head=None, relation=None, tail=None)
