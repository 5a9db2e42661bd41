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

    Attributes:
        head: An end by its name in the data, or by its label.
        relation: The relation; `relation^-1` is its inverse.
        tail: The other end.
        instead: Why not this tail?
        most: How many answers or facts to list.
        facts: Those that are known.
        known: Whether to "drop" answers that are known facts, or to "keep" and mark them.
        min_probability: Of new facts.
        allow_violations: List what breaks a constraint, too.
        missing: How many facts are missing, or below 1 their share of the known ones. By default an estimate.
        types: The relation that gives the types of entities, or "off".

    Examples:
        >>> model.answers([Question(head="brazil", relation="embassy", most=3)])
    """

    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    instead: str | None = None
    most: int = 10
    facts: Evidence = "all"
    known: Known = "drop"
    min_probability: float = 0.0
    allow_violations: bool = False
    missing: float | None = None
    types: str | None = None

    def forward(self, vocab: Vocab) -> tuple[str, str]:
        """The question as (head, relation, ?); heads are asked for by the inverse relation.

        Args:
            vocab: The names of the graph.

        Returns:
            The head and the relation.

        Raises:
            RNNLogicError: If the relation is missing or unknown, or if both ends or none are given.
        """
        if self.relation is None or (self.head is None) == (self.tail is None):
            raise RNNLogicError("give a relation, and either head or tail; `explain` takes both ends")
        if self.tail is None:
            return str(self.head), self.relation
        return self.tail, vocab.relation_name(vocab.inverse(vocab.relation_id(self.relation)))

    def by(self, entity: Callable[[str], str], relation: Callable[[str], str]) -> Question:
        """The same question by other names of its entities and its relation.

        Args:
            entity: Gives the other name of an entity.
            relation: Gives the other name of a relation.

        Returns:
            A new question.
        """
        head, tail, instead = (
            None if name is None else entity(name) for name in (self.head, self.tail, self.instead)
        )
        asked = None if self.relation is None else relation(self.relation)
        return replace(self, head=head, relation=asked, tail=tail, instead=instead)

    @property
    def without_ends(self) -> Question:
        """How it is asked, whatever it is about."""
        return replace(self, head=None, relation=None, tail=None)
