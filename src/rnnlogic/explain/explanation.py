"""Why an answer has its score, or another one than a rival: as text, as HTML, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from rnnlogic.base.text import frame
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.dependence import Dependence
from rnnlogic.explain.question import Question, Rank
from rnnlogic.explain.reasons import (
    Contribution,
    Family,
    Idea,
    Part,
    Paths,
    Reason,
    choose,
    family_of,
    group_ideas,
    says,
    sentence,
)
from rnnlogic.explain.records import Records
from rnnlogic.explain.sentences import entity_words
from rnnlogic.explain.summary import ReasonTold, Summary, reason_line, summary_of
from rnnlogic.render import html, text
from rnnlogic.rules.rule import Feature, relations_of

Kind = Literal["sum", "leave-one-out"]


@dataclass(frozen=True, repr=False)
class Explanation:
    """A fact, its score, and what makes it up: ideas, the rules of each idea, the facts of each rule.

    The ideas sum to the score, and so do the contributions with what the embedding adds, unless each rule was
    left out in turn.
    """

    vocab: Vocab
    head: int
    relation: int  # 0..2R-1
    tail: int
    score: float  # -inf if the answer is no candidate
    share: float  # softmax of the score among all candidates, other answers in the evidence left out
    filtered_rank: Rank
    raw_rank: Rank
    is_known: bool  # the fact is in the evidence; it was hidden while rules were applied, as in training
    contributions: tuple[Contribution, ...]  # of every rule that reaches the answer, the strongest first
    embedding: float | None  # what the embedding adds by itself; None where it has no say
    kind: Kind  # what contributions are
    probability: float | None  # that the fact is true; None: not calibrated
    best_other: float  # score of the best rival
    broken: str  # the constraint that the fact breaks, as a sentence
    doubt: str  # what it would be an exception to, as a sentence
    find_dependence: Callable[[Explanation], Dependence | None] = field(compare=False)
    find_paths: Paths = field(compare=False)
    records: Records | None = field(compare=False)

    def __repr__(self) -> str:
        names = self.vocab
        ends = f"{names.entities[self.head]}, {names.entities[self.tail]}"
        fact = f"{names.relation_name(self.relation)}({ends})"
        return f"Explanation({fact}, rank {self.filtered_rank.text()}, {len(self.contributions):,} rules)"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return html.explanation(self)

    @property
    def question(self) -> Question:
        """What was asked, as ids."""
        return Question(self.head, self.relation, self.tail)

    @cached_property
    def ideas(self) -> tuple[Idea, ...]:
        """What speaks for the answer, the strongest idea first, then what speaks against it."""
        vocab, parts, said = self.vocab, [], dict[tuple[Family, bool], str]()
        for rule in self.contributions:
            family, is_against = family_of(rule.chain, vocab.num_relations), rule.contribution < 0
            if isinstance(rule.chain, Feature) or (family, is_against) not in said:
                said[family, is_against] = says(rule.chain, self.question, vocab, is_against)
            parts.append(Part(family, said[family, is_against], rule.contribution, rule))
        if self.embedding is not None:
            told = sentence(Family.embedding, self.question, vocab, self.embedding < 0)
            parts.append(Part(Family.embedding, told, self.embedding, None))
        return group_ideas(parts, vocab)

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """At most three rules that a person would name, the first one first."""
        whole = math.fsum(idea.contribution for idea in self.ideas if idea.contribution > 0)
        return choose(self.contributions, self.find_paths, self.vocab, whole)

    @cached_property
    def summary(self) -> Summary:
        """What is shown first, in words: the claim, the reasons and their records, what speaks against it."""
        return summary_of(self)

    def _reason(self, reason: Reason, told: ReasonTold) -> dict[str, Any]:
        """A reason for JSON."""
        tried = None if self.records is None else self.records.of_held_out(reason.rule.chain)
        return {
            "reason": reason_line(told),
            **reason.as_dict(self.vocab),
            "held_out": None if tried is None else {"right": tried.right, "cases": tried.cases},
            "is_enough": told.is_enough,
        }

    @cached_property
    def hangs_on(self) -> Dependence | None:
        """Facts without which it is no longer first, searched for when asked; None if it is not first."""
        return self.find_dependence(self) if self.filtered_rank.mean == 1 else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = self.vocab
        rules = {one.chain: one.as_dict(names) for one in self.contributions}
        return {
            "head": names.entities[self.head],
            "relation": names.relation_name(self.relation),
            "tail": names.entities[self.tail],
            "score": self.score if math.isfinite(self.score) else None,
            "probability": self.probability,
            "share": self.share,
            "rank": self.filtered_rank.mean,
            "raw_rank": self.raw_rank.mean,
            "is_known": self.is_known,
            "breaks": self.broken or None,
            "embedding": self.embedding,
            "contributions": self.kind,
            **self.summary.as_dict(),
            "reasons": [
                self._reason(one, told) for one, told in zip(self.reasons, self.summary.reasons, strict=True)
            ],
            "ideas": [idea.as_dict(names, rules) for idea in self.ideas],
            "hangs_on": None if self.hangs_on is None else self.hangs_on.as_dict(names),
            "rules": list(rules.values()),
            **self._names_for_people(),
        }

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each rule."""
        return frame("pandas", self.as_dict()["rules"])

    def to_polars(self) -> Any:
        """A polars DataFrame with a row for each rule."""
        return frame("polars", self.as_dict()["rules"])

    def _names_for_people(self) -> dict[str, Any]:
        """Labels and types of all that is mentioned, each under its own key, where there are any."""
        vocab, paths = self.vocab, [path for rule in self.contributions for path in rule.paths]
        paths += [reason.path for reason in self.reasons if reason.path is not None]
        facts = () if self.hangs_on is None else self.hangs_on.facts
        entities = {self.head, self.tail, *(entity for path in paths for entity in path.entities)}
        entities |= {end for head, _, tail in facts for end in (head, tail)}
        relations = {
            self.relation,
            *(step for rule in self.contributions for step in relations_of(rule.chain)),
        }
        relations |= {relation for _, relation, _ in facts}
        found: dict[str, Any] = {"labels": vocab.labels_of(entities, relations)}
        if vocab.types is not None:
            found["types"] = vocab.types_of(entities)
        return {key: value for key, value in found.items() if any(value.values())}

    def lines(self, everything: bool = False, width: int = 80, height: int = 24) -> Iterator[str]:
        """For people: one screen of so many columns and lines, or everything."""
        return iter(text.explanation(self, everything, width, height))

    def page(self) -> str:
        """A page of HTML that needs nothing else."""
        names = self.vocab
        ends = f"{names.entity_label(self.head)}, {names.entity_label(self.tail)}"
        return html.page(f"{names.relation_label(self.relation)}({ends})", html.explanation(self))


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
