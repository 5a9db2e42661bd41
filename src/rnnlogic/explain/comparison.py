"""Why this answer and not that one: the difference of two scores as contributions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.explanation import Explanation
from rnnlogic.explain.ideas import Family, family_of, says
from rnnlogic.explain.names import entity_words
from rnnlogic.explain.reasons import Contribution, Idea, Part, group_ideas
from rnnlogic.render import html, text


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two answers of one question, explained on the same evidence, from which both facts are left out."""

    answer: Explanation
    instead: Explanation

    def __repr__(self) -> str:
        return f"Comparison({self.answer!r}, {self.instead!r})"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return html.comparison(self)

    @property
    def vocab(self) -> Vocab:
        """The names."""
        return self.answer.vocab

    @property
    def difference(self) -> float | None:
        """The score of the answer minus that of the other one; None if either is no candidate."""
        found = self.answer.score - self.instead.score
        return found if math.isfinite(found) else None

    @cached_property
    def ideas(self) -> tuple[Idea, ...]:
        """What makes the difference: in favour of the answer first, then in favour of the other one.

        They sum to the difference of the scores, a score that no rule reaches counted as 0.
        """
        parts = [self._part(*pair) for pair in self.pairs]
        ours, others = self.answer.embedding, self.instead.embedding
        if ours is not None and others is not None:
            better = self.answer if ours >= others else self.instead
            told = f"The embedding itself prefers {entity_words(better.tail, self.vocab)}"
            parts.append(Part(Family.embedding, told, ours - others, None))
        return group_ideas(parts, self.vocab)

    @cached_property
    def pairs(self) -> tuple[tuple[Contribution | None, Contribution | None], ...]:
        """For each rule that reaches either answer, what it adds to the one and to the other."""
        ours = {rule.chain: rule for rule in self.answer.contributions}
        others = {rule.chain: rule for rule in self.instead.contributions}
        return tuple((ours.get(chain), others.get(chain)) for chain in {**ours, **others})

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        ours, others = self.answer.as_dict(), self.instead.as_dict()
        return {
            "head": ours["head"],
            "relation": ours["relation"],
            "tail": ours["tail"],
            "instead": others["tail"],
            "difference": self.difference,
            "contributions": self.answer.kind,
            "ideas": [idea.as_dict(self.vocab) for idea in self.ideas],
            "answers": [ours, others],
        }

    def lines(self, everything: bool = False, width: int = 80, height: int = 24) -> Iterator[str]:
        """For people: one screen of so many columns and lines, or everything."""
        return iter(text.comparison(self, everything, width, height))

    def page(self) -> str:
        """A page of HTML that needs nothing else."""
        names, one, other = self.vocab, self.answer.tail, self.instead.tail
        return html.page(f"{names.entity_label(one)} or {names.entity_label(other)}", html.comparison(self))

    def _part(self, ours: Contribution | None, others: Contribution | None) -> Part:
        """A difference; it is told of the answer that it helps, or as a reason against the one it harms."""
        one = 0.0 if ours is None else ours.contribution
        other = 0.0 if others is None else others.contribution
        helped = one > 0 if one > other else other <= 0
        about, shown = (self.answer, ours) if helped else (self.instead, others)
        rule = shown or ours or others
        assert rule is not None, "a rule reaches one of the two"
        family = family_of(rule.chain, self.vocab.num_relations)
        is_against = max(one, other) <= 0
        told = says(rule.chain, about.question, self.vocab, is_against)
        if is_against:
            told = f"Against {entity_words(about.tail, self.vocab)}: {told}"
        return Part(family, told, one - other, replace(rule, contribution=one - other))
