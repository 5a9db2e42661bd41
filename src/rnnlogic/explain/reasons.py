"""The parts of an explanation: contributions of rules, and the ideas that they add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.ideas import Family
from rnnlogic.explain.names import numbered
from rnnlogic.explain.sentences import rule_sentence
from rnnlogic.explain.walks import comes_back, facts_of, named_facts
from rnnlogic.features.chains.paths import Path
from rnnlogic.rules.rule import Rule, format_rule

NOTHING: Mapping[Rule, dict[str, Any]] = {}


@dataclass(frozen=True)
class Rank:
    """Place of an answer among all entities."""

    better: int
    tied: int  # the answer included
    candidates: int

    @property
    def mean(self) -> float:
        """The mean of the places that the answer shares with those tied with it."""
        return self.better + (self.tied + 1) / 2

    def text(self) -> str:
        """For people: the place, or the range of tied places."""
        first, last = self.better + 1, self.better + self.tied
        place = f"{first:,}" if first == last else f"{first:,} to {last:,} (tied)"
        return f"{place} of {self.candidates:,}"


@dataclass(frozen=True)
class Record:
    """How often a rule is right on known facts, those asked about left out."""

    right: int
    cases: int
    confidence: float  # smoothed: five wrong cases more, so that rare rules are trusted less
    doubted: int = 0  # people who said that it was a bad reason

    @property
    def standing(self) -> float:
        """The confidence that decides its place among reasons: a bad reason loses half, a second one more."""
        return self.confidence / (1 + self.doubted)

    def text(self) -> str:
        """For people."""
        return f"{self.right:,} of {self.cases:,}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {"right": self.right, "cases": self.cases, "confidence": self.confidence}
        return told | ({"doubted": self.doubted} if self.doubted else {})


@dataclass(frozen=True)
class Contribution:
    """What one rule adds to the score: its weight times the feature of its number of paths, times phi.

    In RNNLogic+ it is the score minus the score without the rule; in a comparison, the difference of two.
    """

    rule: str
    weight: float
    count: float  # of paths; where facts have weights, how many paths these are worth
    contribution: float
    paths: tuple[Path, ...]  # those without repeated entities first; empty where none were looked up
    phi: float | None  # the embedding's score of all these paths, which share their ends; None: without
    chain: Rule  # the rule as ids
    because: tuple[str, ...] = ()  # why this rule weighs more
    record: Record | None = None  # None where nothing was counted

    @property
    def paths_in_words(self) -> str:
        """How many paths it has, or what they are worth."""
        if isinstance(self.count, int):
            return numbered(self.count, "path")
        return f"paths worth {self.count:.2f}"

    def as_dict(self, vocab: Vocab) -> dict[str, Any]:
        """Plain values for JSON; a path is a list of facts with names, in the direction of the graph."""
        return {
            "rule": self.rule,
            "label": format_rule(self.chain, vocab, labels=True),
            "sentence": rule_sentence(self.chain, vocab),
            "weight": self.weight,
            "count": self.count,
            "phi": self.phi,
            "contribution": self.contribution,
            "because": list(self.because),
            "record": None if self.record is None else self.record.as_dict(),
            "paths": [[list(fact) for fact in named_facts(path, vocab)] for path in self.paths],
            "comes_back": [comes_back(path) is not None for path in self.paths],
        }


class Part(NamedTuple):
    """A contribution and where it belongs; without a rule it is what the embedding adds."""

    family: Family
    sentence: str
    value: float
    rule: Contribution | None


@dataclass(frozen=True)
class Idea:
    """Rules of one family that all speak for an answer, or all against it."""

    name: str
    sentence: str
    contribution: float  # the sum of its rules
    share: float  # of all that speaks for the answer; negative if it speaks against
    groups: tuple[tuple[Contribution, ...], ...]  # rules that are alike stand together

    @property
    def rules(self) -> tuple[Contribution, ...]:
        """All rules, group by group."""
        return tuple(rule for group in self.groups for rule in group)

    def as_dict(self, vocab: Vocab, told: Mapping[Rule, dict[str, Any]] = NOTHING) -> dict[str, Any]:
        """Plain values for JSON; rules of the same group rest on the same facts, in either direction.

        `told` are rules as plain values, where they are known.
        """
        return {
            "name": self.name,
            "sentence": self.sentence,
            "contribution": self.contribution,
            "share": self.share,
            "rules": [
                (told.get(rule.chain) or rule.as_dict(vocab)) | {"group": number}
                for number, group in enumerate(self.groups)
                for rule in group
            ],
        }


def total(rules: Iterable[Contribution]) -> float:
    """The sum of contributions."""
    return math.fsum(rule.contribution for rule in rules)


def group_ideas(parts: Sequence[Part], vocab: Vocab) -> tuple[Idea, ...]:
    """Parts by family, sentence and sign: what speaks for the answer first, then what speaks against it.

    The strongest come first in each half; all ideas together sum to all parts. The base rate is one number.
    """
    found: dict[tuple[bool, Family, str], list[Part]] = {}
    for part in parts:
        is_against = part.value < 0 and part.family != Family.often
        found.setdefault((is_against, part.family, part.sentence), []).append(part)
    sums = {key: math.fsum(part.value for part in members) for key, members in found.items()}
    whole = math.fsum(value for value in sums.values() if value > 0) or math.fsum(map(abs, sums.values()))
    order = sorted(found, key=lambda key: (sums[key] < 0, -abs(sums[key])))
    return tuple(
        Idea(
            str(key[1]),
            key[2],
            sums[key],
            sums[key] / whole if whole else 0.0,
            _groups([part.rule for part in found[key] if part.rule is not None], vocab),
        )
        for key in order
    )


def _groups(rules: list[Contribution], vocab: Vocab) -> tuple[tuple[Contribution, ...], ...]:
    """Rules by the facts of their first paths, whichever way round, the strongest groups and rules first.

    sibling(a, b) and sibling(b, a) say the same to a reader, and so do rules by the one and by the other.
    """
    groups: dict[object, list[Contribution]] = {}
    for i, rule in enumerate(sorted(rules, key=lambda rule: -abs(rule.contribution))):
        facts = facts_of(rule.paths[0], vocab) if rule.paths else ()
        key = frozenset((relation, frozenset((head, tail))) for head, relation, tail in facts) or i
        groups.setdefault(key, []).append(rule)
    return tuple(map(tuple, sorted(groups.values(), key=lambda group: -abs(total(group)))))
