"""What a score is made of: the part of each rule, patterns of rules, and the reasons a person would give.

What an aggregate adds is split exactly among the rules behind it: the best rule with constants gets what
"best" adds, each rule in a noisy-or gets its term. So parts, patterns and scores have the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import Question, comes_back, facts_of, named_facts, shown_paths
from rnnlogic.explain.records import Record, Records, without_one
from rnnlogic.explain.sentences import (
    entity_words,
    fact_sentence,
    numbered,
    pattern_of,
    relation_words,
    rule_sentence,
)
from rnnlogic.features import conditions
from rnnlogic.features.base import Query, Term
from rnnlogic.features.chains.paths import Fact, Path
from rnnlogic.features.constants.source import counted
from rnnlogic.features.sources import counts_paths, terms_of
from rnnlogic.predictors.base import AnswerScorer, Contributions
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.features import FEATURES
from rnnlogic.rules.rule import CLOSE, Constant, Feature, ReadingOrder, Rule, format_rule, reading_order
from rnnlogic.rules.ruleset import RuleSet

NOTHING: Mapping[Rule, dict[str, Any]] = {}
REASONS = 3  # named at most
LEAST_SHARE = 0.01  # of what speaks for the answer, that a further reason must add
REASON_PATHS = 8  # of a rule, among which one is looked for that rests on facts of its own
TRIED = 40  # rules whose paths are looked up for one reason, at most

Paths = Callable[[Rule], tuple[Path, ...]]  # of a rule to the answer, those without a detour first


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
    def standing(self) -> float:
        """The smoothed confidence of the rule, less where people doubt it; 0 where nothing was counted."""
        return 0.0 if self.record is None else self.record.standing

    @property
    def paths_in_words(self) -> str:
        """How many paths it has, or what they are worth."""
        if isinstance(self.count, int):
            return numbered(self.count, "path")
        return f"paths worth {self.count:.2f}"

    @property
    def numbers(self) -> str:
        """Its weight, paths, phi and record, for people."""
        paths = f", {self.paths_in_words}" if self.count else ""
        phi = "" if self.phi is None else f", phi {self.phi:.4f}"
        record = "" if self.record is None else f", right in {self.record.text()}"
        return f"weight {self.weight:.4f}{paths}{phi}{record}"

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


class Share(NamedTuple):
    """What one rule adds to a score."""

    rule: Rule
    place: int | None  # among the rules of the model; None if only an aggregate holds it
    weight: float
    walks: float  # 0 for a feature; where facts have weights, how many walks these are worth
    value: float
    phi: float | None
    counted: Term | None  # how often a rule with constants is right
    is_best: bool = False  # whether it is the best chain, and being that adds to its value

    @property
    def has_own_record(self) -> bool:
        """Whether the records of the model say how often it is right."""
        return self.counted is None and not isinstance(self.rule, Feature)


def shares(
    graph: Graph, rules: RuleSet, parts: Contributions, question: Question, is_hidden: bool
) -> list[Share]:
    """The parts of a score by rules, the strongest first; they sum to the parts.

    A rule with constants that gets something from several aggregates has it in one share.
    """
    found: dict[Rule, Share] = {}
    for share in _own(graph, rules, parts, question):
        for one in _split(graph, share, question, is_hidden):
            known = found.get(one.rule)
            found[one.rule] = one if known is None else _sum(known, one)
    return sorted(found.values(), key=lambda share: -abs(share.value))


def _own(graph: Graph, rules: RuleSet, parts: Contributions, question: Question) -> Iterator[Share]:
    """The parts as they are; rules of the model come before features, which share with them."""
    with_paths = counts_paths(rules[parts.rule]) if len(parts.rule) else np.empty(0, bool)
    for i in np.argsort(~with_paths, kind="stable").tolist():
        place = int(parts.rule[i])
        rule, phi = rules[place], None if parts.phi is None else float(parts.phi[i])
        record = None
        if isinstance(rule, Constant | Condition):
            about = question.tail if rule.at_head else question.head
            if isinstance(rule, Constant):
                record = counted(graph.likely, rule, about)
            elif not rule.compares:
                record = conditions.counted(graph.likely, rule, about)
        walks = float(parts.count[i]) if with_paths[i] else 0
        if graph.weights is None or isinstance(rule, Constant):
            walks = int(walks)
        numbers = float(parts.weight[i]), walks, float(parts.values[i])
        yield Share(rule, place, *numbers, phi, record, i == parts.best)


def _split(graph: Graph, share: Share, question: Question, is_hidden: bool) -> list[Share]:
    """What a feature adds, by the rules behind it that no model holds; other shares stay whole.

    The last takes what rounding leaves.
    """
    if not isinstance(share.rule, Feature):
        return [share]
    behind = terms_of(graph, share.rule.name, Query(*question, is_hidden))
    if not behind:
        return [share]
    total = math.fsum(one.weight for one in behind)
    values = [share.value * one.weight / total for one in behind[:-1]]
    values.append(share.value - math.fsum(values))
    return [
        Share(one.rule, None, value, 1, value, None, one) for one, value in zip(behind, values, strict=True)
    ]


def _sum(one: Share, more: Share) -> Share:
    """Two shares of the same rule; the weight is what gives their sum."""
    value = one.value + more.value
    weight = one.weight * value / one.value if one.value else value
    return one._replace(weight=weight, value=value)


def contributions(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    parts: Contributions,
    question: Question,
    records: Records | None,
) -> tuple[Contribution, ...]:
    """The parts of a score as rules with names and records, the strongest first; a known fact is hidden."""
    is_hidden, found = graph.has(*question), list[Contribution]()
    every = shares(graph, scorer.rules, parts, question, is_hidden)
    of_model = [one.place for one in every if one.place is not None and one.has_own_record]
    known = {} if records is None else dict(zip(of_model, records.of(of_model), strict=True))
    for one in every:
        if one.counted is not None:
            record: Record | None = Record(one.counted.support, one.counted.holders, one.counted.confidence)
        else:
            record = None if one.place is None else known.get(one.place)
            record = without_one(record) if is_hidden else record
        record = record if records is None else records.reviewed(one.rule, record)
        because = tuple[str, ...]()
        if one.is_best:
            trust = scorer.rules.trust[one.place]
            because = (f"the most trusted rule that reaches it ({trust:.0%}): its weight includes that",)
        numbers = one.weight, one.walks, one.value
        found.append(
            Contribution(format_rule(one.rule, vocab), *numbers, (), one.phi, one.rule, because, record)
        )
    return tuple(found)


class Family(StrEnum):
    """Patterns of rules that a person would give one name; the last one has no rules."""

    similar_heads = "entities like X have this answer"
    similar_answers = "X has answers like Y"
    similar_both = "entities like X have answers like Y"
    same_relation = "other facts of the relation lead from X to Y"
    turned_round = "entities like Y have answers like X"
    inverse = "the inverse says so"
    other_relation = "another relation says so"
    chain = "a chain of other relations"
    itself = "X is an answer of its own"
    linked = "an exclusion"
    often = "base rate"
    kind = "facts about X or Y"
    surest = "a rule that is often right"
    embedding = "the embedding says so"


_OF_GROUP = {
    "exclusions": Family.linked,
    "base_rate": Family.often,
    "constants": Family.kind,
    "best_rule": Family.surest,
}
# What rules of a family say of a question, and what each exclusion does
_SENTENCES: dict[Family | str, str] = {
    Family.same_relation: "Other facts of {relation} lead from {X} to {Y}",
    Family.inverse: "A fact from {Y} to {X} says so",
    Family.other_relation: "Another relation leads from {X} to {Y}",
    Family.chain: "Other relations lead from {X} to {Y}",
    Family.itself: "{X} is an answer of its own",
    Family.linked: "How {X} and {Y} are linked already",
    Family.often: "Base rate: how often {Y} is an answer of {relation}",
    Family.kind: "Facts about {X} or {Y} make this answer {more} likely",
    Family.surest: "A rule that is often right leads from {X} to {Y}",
    Family.embedding: "The embedding itself {finds} that {fact}",
    "reversed": "The other way round it is known: {turned}",
    "linked": "Another relation leads from {X} to {Y} already",
    "linked_back": "Another relation leads from {Y} to {X} already",
    "itself": "The answer is {X} itself",
}


def family_of(rule: Rule, num_relations: int) -> Family:
    """The family of a rule."""
    if isinstance(rule, Feature):
        return _OF_GROUP[FEATURES[rule.name].group]
    if isinstance(rule, Constant | Condition):
        return Family.kind
    head, body = rule
    if not body:
        return Family.itself
    if len(body) == 1:
        is_turned = (head < num_relations) != (body[0] < num_relations)
        return Family.inverse if is_turned else Family.other_relation
    if body[0] == head:
        return Family.same_relation if body[-1] == head else Family.similar_answers
    if body[-1] == head:
        return Family.similar_heads
    if head in body:
        return Family.similar_both
    is_turned = (head + num_relations) % (2 * num_relations) in body
    return Family.turned_round if is_turned else Family.chain


def sentence(family: Family | str, question: Question, vocab: Vocab, is_against: bool = False) -> str:
    """What rules of a family say of a question, or an exclusion by itself, with labels of entities."""
    x, y = entity_words(question.head, vocab), entity_words(question.tail, vocab)

    def said(subject: str, target: str) -> str:
        return fact_sentence(subject, question.relation, target, vocab)

    like_x, like_y = f"something similar to {x}", f"something similar to {y}"
    alike = {
        Family.similar_heads: (like_x, y),
        Family.similar_answers: (x, like_y),
        Family.similar_both: (like_x, like_y),
        Family.turned_round: (like_y, like_x),
    }
    if family in alike:
        text = said(*alike[Family(family)])
        return text[0].upper() + text[1:] if text.startswith("something ") else text
    return _SENTENCES[family].format(
        X=x,
        Y=y,
        relation=relation_words(question.relation, vocab),
        fact=said(x, y),
        turned=said(y, x),
        more="less" if is_against else "more",
        finds="doubts" if is_against else "finds",
    )


def says(rule: Rule, question: Question, vocab: Vocab, is_against: bool = False) -> str:
    """What a rule says of a question: an exclusion by itself, any other as its family does."""
    if isinstance(rule, Feature) and rule.name in _SENTENCES:
        return sentence(rule.name, question, vocab, is_against)
    return sentence(family_of(rule, vocab.num_relations), question, vocab, is_against)


class Part(NamedTuple):
    """A contribution and where it belongs; without a rule it is what the embedding adds."""

    family: Family
    sentence: str
    value: float
    rule: Contribution | None


@dataclass(frozen=True)
class Idea:
    """A pattern: rules of one family that all speak for an answer, or all against it; `ideas` in JSON."""

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
    rules: Sequence[Contribution], find: Paths, vocab: Vocab, whole: float, most: int = REASONS
) -> tuple[Reason, ...]:
    """At most three reasons for an answer; no two share a rule or a fact.

    The first is the shortest rule whose confidence is close to that of the best. The others are those that
    add most, of rules at least half as confident. A path that visits an entity twice is a reason only if no
    rule has another.
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
        picked = _strongest(left, simple, found[0]) if found else _pick(left, simple, vocab.num_relations)
        if picked is None:
            break
        rule, path = picked
        used.update(facts_of(path, vocab))
        found.append(Reason(rule, path, rule.contribution / whole))
        left = [one for one in left if one is not rule and one.contribution >= LEAST_SHARE * whole]
    if left and not found:
        any_path = _pick(left, lambda one: (looked_up(one.chain) or (None,))[0], vocab.num_relations)
        rule, path_there = any_path or (left[0], None)
        found.append(Reason(rule, path_there, rule.contribution / whole))
    return tuple(found)


def first_reason(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    question: Question,
    parts: Contributions,
    records: Records,
) -> Reason | None:
    """The reason that an explanation names first, by the parts of the score; None without rules."""
    rules = contributions(graph, vocab, scorer, parts, question, records)
    return next(iter(choose(rules, paths_on(graph, question), vocab, 1.0, most=1)), None)


def paths_on(graph: Graph, question: Question, limit: int = REASON_PATHS) -> Paths:
    """Looks up the paths of rules to an answer, up to `limit` of each; a known fact is hidden."""
    hidden = question if graph.has(*question) else None
    return lambda rule: shown_paths(graph, question, rule, limit, hidden)


def _pick(
    rules: Sequence[Contribution], path_of: Callable[[Contribution], Path | None], num_relations: int
) -> tuple[Contribution, Path] | None:
    """The shortest rule with a path whose confidence is close to that of the best one with a path.

    Of equally short ones, the one that is right often and seldom wrong, as definitions are, then the one that
    adds more.
    """

    def length(one: Contribution) -> ReadingOrder:
        return reading_order(one.chain, num_relations)

    def right(one: Contribution) -> float:
        return 0.0 if one.record is None else one.record.right * one.standing

    by_confidence = sorted(rules, key=lambda one: (-one.standing, length(one), -one.contribution))
    best = _first(by_confidence, path_of)
    if best is None:
        return None
    good = [one for one in rules if one.standing >= CLOSE * best[0].standing]
    good.sort(key=lambda one: (length(one), -right(one), -one.contribution))
    return _first(good, path_of) or best


def _strongest(
    rules: Sequence[Contribution], path_of: Callable[[Contribution], Path | None], first: Reason
) -> tuple[Contribution, Path] | None:
    """The rule with a path that adds most, if it is nearly as confident as the first reason.

    What people doubt to be a reason counts for less.
    """

    def added(one: Contribution) -> float:
        return one.contribution / (1 + (0 if one.record is None else one.record.doubted))

    good = [one for one in rules if one.standing >= 0.5 * first.rule.standing]
    return _first(sorted(good, key=added, reverse=True), path_of)


def _first(
    rules: Sequence[Contribution], path_of: Callable[[Contribution], Path | None]
) -> tuple[Contribution, Path] | None:
    """The first rule that has a path, among as many as are tried, and the path."""
    return next(((one, path) for one in rules[:TRIED] if (path := path_of(one)) is not None), None)
