"""An answer and why it has its score, as something to print, to show in a notebook, and to write as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from rnnlogic.base.frames import frame
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.chosen import Paths, Reason, choose
from rnnlogic.explain.dependence import Dependence
from rnnlogic.explain.ideas import Family, Question, family_of, says, sentence
from rnnlogic.explain.reasons import Contribution, Idea, Part, Rank, group_ideas
from rnnlogic.explain.records import Records
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
    embedding: float | None = None  # what the embedding adds by itself; None where it has no say
    kind: Kind = "sum"  # what contributions are
    probability: float | None = None  # that the fact is true; None: not calibrated
    best_other: float = -math.inf  # score of the best rival
    broken: str = ""  # the constraint that the fact breaks, as a sentence
    doubt: str = ""  # what it would be an exception to, as a sentence
    find_dependence: Callable[[Explanation], Dependence | None] | None = field(default=None, compare=False)
    find_paths: Paths | None = field(default=None, compare=False)
    records: Records | None = field(default=None, compare=False)

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
        return (
            () if self.find_paths is None else choose(self.contributions, self.find_paths, self.vocab, whole)
        )

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
        is_first = self.filtered_rank.mean == 1
        return self.find_dependence(self) if self.find_dependence is not None and is_first else None

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
