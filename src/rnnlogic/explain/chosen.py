"""The reasons a person would give: short rules whose record is close to the best, on facts of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.reasons import Contribution
from rnnlogic.explain.sentences import pattern_of, rule_sentence
from rnnlogic.explain.walks import comes_back, facts_of, named_facts
from rnnlogic.features.chains.paths import Fact, Path
from rnnlogic.rules.rule import CLOSE, Feature, Rule, format_rule, reading_order

REASONS = 3  # named at most
# Of the confidence of the first reason, that a further one must have: no guess stands beside a good reason.
LEAST_SHARE = 0.01  # of what speaks for the answer, that a further reason must add
TRIED = 40  # rules whose paths are looked up for one reason, at most

Paths = Callable[[Rule], tuple[Path, ...]]  # of a rule to the answer, those without a detour first


@dataclass(frozen=True)
class Reason:
    """A rule that is named as a reason, with the facts that make it apply."""

    rule: Contribution
    path: Path | None
    share: float  # of all that speaks for the answer

    def facts(self, vocab: Vocab) -> list[Fact]:
        """The facts behind it, in the direction of the graph."""
        return [] if self.path is None else list(facts_of(self.path, vocab))

    def as_dict(self, vocab: Vocab) -> dict[str, Any]:
        """Plain values for JSON."""
        record, notes = self.rule.record, vocab.notes
        told = {} if notes is None else {"told": [notes.as_dict(fact) for fact in self.facts(vocab)]}
        return {
            "rule": self.rule.rule,
            "label": format_rule(self.rule.chain, vocab, labels=True),
            "sentence": rule_sentence(self.rule.chain, vocab),
            "pattern": str(pattern_of(self.rule.chain, vocab.num_relations)),
            "record": None if record is None else record.as_dict(),
            "facts": [] if self.path is None else [list(fact) for fact in named_facts(self.path, vocab)],
            **told,
            "contribution": self.rule.contribution,
            "share": self.share,
        }


def choose(
    rules: Sequence[Contribution],
    find: Paths,
    vocab: Vocab,
    whole: float,
    close: float = CLOSE,
    most: int = REASONS,
) -> tuple[Reason, ...]:
    """At most three reasons for an answer; no two share a rule or a fact.

    The first is the shortest rule whose confidence is at least `close` times that of the best. The others are
    those that add most, of rules at least half as confident. A path that visits an entity twice is a reason
    only if no rule has another.
    """
    left = [one for one in rules if one.contribution > 0 and not isinstance(one.chain, Feature)]
    looked_up, used, found = cache(find), set[Fact](), list[Reason]()

    def simple(rule: Contribution) -> Path | None:
        """A path without detours on facts that no other reason has used."""
        return next(
            (
                path
                for path in looked_up(rule.chain)
                if comes_back(path) is None and used.isdisjoint(facts_of(path, vocab))
            ),
            None,
        )

    while left and len(found) < most:
        picked = _strongest(left, simple, found) if found else _pick(left, simple, close, vocab.num_relations)
        if picked is None:
            break
        rule, path = picked
        used.update(facts_of(path, vocab))
        found.append(Reason(rule, path, rule.contribution / whole))
        left = [one for one in left if one is not rule and one.contribution >= LEAST_SHARE * whole]
    if left and not found:
        any_path = _pick(left, lambda one: (looked_up(one.chain) or (None,))[0], close, vocab.num_relations)
        rule, path_there = any_path or (left[0], None)
        found.append(Reason(rule, path_there, rule.contribution / whole))
    return tuple(found)


def _pick(
    rules: Sequence[Contribution],
    path_of: Callable[[Contribution], Path | None],
    close: float,
    num_relations: int,
) -> tuple[Contribution, Path] | None:
    """The shortest rule with a path whose confidence is close to that of the best one with a path.

    Of equally short ones, the one that is right often and seldom wrong, then the one that adds more.
    """
    by_confidence = sorted(
        rules, key=lambda one: (-_confidence(one), reading_order(one.chain, num_relations), -one.contribution)
    )
    best = next((one for one in by_confidence[:TRIED] if path_of(one) is not None), None)
    if best is None:
        return None
    good = [one for one in rules if _confidence(one) >= close * _confidence(best)]
    good.sort(key=lambda one: (reading_order(one.chain, num_relations), -_worth(one), -one.contribution))
    for one in (*good[:TRIED], best):
        path = path_of(one)
        if path is not None:
            return one, path
    return None


def _strongest(
    rules: Sequence[Contribution],
    path_of: Callable[[Contribution], Path | None],
    found: Sequence[Reason],
) -> tuple[Contribution, Path] | None:
    """The rule with a path that adds most, if it is nearly as confident as the first reason."""
    least = 0.5 * _confidence(found[0].rule)
    good = [one for one in rules if _confidence(one) >= least]
    for one in sorted(good, key=lambda one: -_added(one))[:TRIED]:
        path = path_of(one)
        if path is not None:
            return one, path
    return None


def _worth(rule: Contribution) -> float:
    """Large for a rule that is right often and seldom wrong, as definitions are."""
    return 0.0 if rule.record is None else rule.record.right * rule.record.standing


def _confidence(rule: Contribution) -> float:
    """The smoothed confidence of a rule, less where people doubt it; 0 where nothing was counted."""
    return 0.0 if rule.record is None else rule.record.standing


def _added(rule: Contribution) -> float:
    """What a rule adds, less where people doubt that it is a reason."""
    return rule.contribution / (1 + (0 if rule.record is None else rule.record.doubted))
