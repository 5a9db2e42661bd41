"""What an explanation says first, said once for text, HTML, JSON, pages and agents.

The claim as a sentence, the reasons with their records, what speaks against it, and one line for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rnnlogic.base.text import printable
from rnnlogic.calibrate.level import shown
from rnnlogic.data.attributes import value_text
from rnnlogic.explain.question import comes_back, facts_of
from rnnlogic.explain.reasons import Family, Reason
from rnnlogic.explain.sentences import (
    Pattern,
    attribute_words,
    bounds_words,
    comparison_words,
    counted_sentence,
    entity_words,
    fact_sentence,
    listed,
    numbered,
    pattern_of,
    shortened,
    typed_words,
)
from rnnlogic.features.chains.paths import Fact
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import Constant, Feature, format_rule

if TYPE_CHECKING:
    from rnnlogic.explain.explanation import Explanation

ALONE = "This reason alone puts it first."
HIDDEN = "The fact is in the graph; it was hidden to apply the rules."
SEE_ALL = ": --all"
OBJECTIONS = 2  # that are named
LEAST = 0.005  # of what speaks for the answer, that an objection must take: less reads as 0 %


@dataclass(frozen=True)
class ReasonTold:
    """A reason in words."""

    lead: str  # because, or also
    sentence: str
    facts: tuple[str, ...]  # those behind it; empty where the sentence names them
    rule: str
    pattern: Pattern
    record: str  # on known facts, unless the sentence counts them; then nothing
    held_out: str  # on held-out facts; nothing if it says nothing about them
    is_enough: bool  # its contribution alone is more than the score of any rival
    share: float
    sources: str = ""  # where its facts come from, if that is told

    @property
    def about(self) -> str:
        """The pattern, what it adds, its record on held-out facts, and where its facts come from."""
        more = "".join(f"; {text}" for text in (self.held_out, printable(self.sources)) if text)
        return f"{self.pattern}, adds {percent(self.share)}{more}"


@dataclass(frozen=True)
class Summary:
    """An explanation as it is shown first."""

    claim: str
    verdict: str
    reasons: tuple[ReasonTold, ...]
    against: tuple[str, ...]  # exclusions and rules that speak against it
    base_rate: str | None
    rest: str | None  # one line for all that is not named

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the reasons."""
        values = {name: value for name, value in vars(self).items() if name != "reasons"}
        return values | {"against": list(self.against)}


def summary_of(told: Explanation, number: int | None = None, length: int | None = None) -> Summary:
    """What an explanation says first; `number` reasons, names in at most `length` columns."""
    reasons = told.reasons[:number]
    return Summary(
        claim(told, length),
        verdict(told),
        tuple(reason_told(reason, told, place, length) for place, reason in enumerate(reasons)),
        tuple(_against(told)),
        _base_rate(told),
        _rest(told, len(reasons)),
    )


def claim(told: Explanation, most: int | None = None) -> str:
    """The fact in question as a sentence, its ends with their types."""
    ends = [typed_words(end, told.vocab, most) for end in (told.head, told.tail)]
    return printable(fact_sentence(ends[0], told.relation, ends[1], told.vocab))


def verdict(told: Explanation) -> str:
    """How probable it is, and which place it has."""
    rank, sure = told.filtered_rank, ""
    is_first = rank.better == 0 and rank.tied == 1
    place = f"first of {rank.candidates:,}" if is_first else f"rank {rank.text()}"
    if not math.isfinite(told.score):
        place += ": no rule reaches it"
    elif told.probability is None:
        sure = "probability not calibrated, "
    else:
        sure = f"probability {shown(told.probability)}, "
    return sure + place + (", but it breaks a constraint" if told.broken else "")


def reason_told(reason: Reason, told: Explanation, place: int, length: int | None = None) -> ReasonTold:
    """A reason in words: what is true of how many others, or the facts that lead to the answer."""
    vocab, rule, record = told.vocab, reason.rule.chain, reason.rule.record

    def name(entity: int) -> str:
        words = printable(entity_words(entity, vocab))
        return words if length is None else shortened(words, length)

    def fact(one: Fact) -> str:
        return printable(fact_sentence(name(one[0]), one[1], name(one[2]), vocab) + vocab.told_of(*one))

    facts = () if reason.path is None else tuple(map(fact, facts_of(reason.path, vocab)))
    counted = ""
    if isinstance(rule, Constant) and record is not None:
        sentence = printable(counted_sentence(rule, record.right, record.cases, vocab, name))
    elif isinstance(rule, Condition):
        sentence = _condition_sentence(rule, told, name)
        if record is not None and rule.compares:
            counted = f"right in {record.text()} cases"
        elif record is not None:
            sentence += f", and {printable(counted_sentence(rule, record.right, record.cases, vocab, name))}"
    else:
        again = None if reason.path is None else comes_back(reason.path)
        sentence = listed(list(facts)) or "the two are the same"
        sentence += "" if again is None else f" (comes back to {name(again)})"
        counted = "" if record is None else f"right in {record.text()} cases"
        facts = ()
    tried = None if told.records is None else told.records.of_held_out(rule)
    return ReasonTold(
        "also" if place else "because",
        sentence,
        facts,
        printable(format_rule(rule, vocab, labels=True)),
        pattern_of(rule, vocab.num_relations),
        counted,
        "" if tried is None else f"held out: right in {tried.text()}",
        told.kind == "sum" and reason.rule.contribution > told.best_other,
        reason.share,
        "" if vocab.notes is None else vocab.notes.sources_in_words(reason.facts(vocab)),
    )


def _condition_sentence(rule: Condition, told: Explanation, name: Callable[[int], str]) -> str:
    """What is true of the ends: `age of anna (71) is at least 60`."""
    vocab = told.vocab

    def with_value(attribute: int, end: int) -> str:
        values = None if told.records is None else told.records.graph.values
        if values is None:
            return name(end)
        return f"{name(end)} ({value_text(float(values[attribute, end]), vocab.attributes[attribute].kind)})"

    if rule.compares:
        ends = with_value(rule.of_x, told.head), with_value(rule.of_y, told.tail)
        return printable(comparison_words(rule, vocab, *ends))
    end, attribute = (told.tail, rule.of_y) if rule.at_head else (told.head, rule.of_x)
    words = f"{attribute_words(attribute, vocab)} of {with_value(attribute, end)}"
    return printable(f"{words} {bounds_words(rule, vocab)}")


def reason_line(told: ReasonTold) -> str:
    """A reason with its record, as one sentence."""
    return f"{told.sentence}: {told.record}" if told.record else told.sentence


def percent(share: float) -> str:
    """A share for people."""
    if abs(share) >= 10:
        return "over 999 %" if share > 0 else "below -999 %"
    return f"{share * 100:.0f} %"


def _against(told: Explanation) -> Iterator[str]:
    """What speaks against it: exclusions as sentences, and rules with a negative weight."""
    yield from (printable(text) for text in (told.broken, told.doubt) if text)
    against = [
        idea
        for idea in told.ideas
        if idea.share <= -LEAST and idea.name not in (Family.often, Family.embedding)
    ]
    for idea in against[:OBJECTIONS]:
        rules = [
            printable(format_rule(one.chain, told.vocab, labels=True))
            for one in idea.rules[:1]
            if not isinstance(one.chain, Feature)
        ]
        why = f"; rule {rules[0]}" if rules else ""
        yield f"{printable(idea.sentence)} ({percent(idea.share)}{why})"
    more = against[OBJECTIONS:]
    if more:
        taken = sum(idea.share for idea in more)
        yield f"{numbered(len(more), 'more objection')} ({percent(taken)})"


def _base_rate(told: Explanation) -> str | None:
    """How common the answer is, as one number."""
    net = [idea for idea in told.ideas if idea.name == Family.often]
    if not net:
        return None
    tail = printable(entity_words(told.tail, told.vocab))
    value = math.fsum(idea.contribution for idea in net)
    kind = "a common" if value > 0 else "a rare"
    return f"{tail} is {kind} answer: {value:+.2f} to the score {told.score:.2f}"


def _rest(told: Explanation, number: int) -> str | None:
    """One sentence for all reasons that are not named."""
    named = {reason.rule.chain for reason in told.reasons[:number]}
    whole = math.fsum(idea.contribution for idea in told.ideas if idea.contribution > 0)
    others = [
        one.contribution
        for one in told.contributions
        if one.contribution > 0 and one.chain not in named and not isinstance(one.chain, Feature)
    ]
    parts = []
    if others:
        many = numbered(len(others), "weaker reason adds", "weaker reasons add")
        parts.append(f"{many} {percent(math.fsum(others) / whole)}")
    names = ((Family.embedding, "the embedding", "adds"), (Family.linked, "known links", "add"))
    for family, name, verb in names:
        share = math.fsum(idea.share for idea in told.ideas if idea.name == family and idea.share > 0)
        if share:
            words = name if parts else f"{name} {verb}".capitalize()
            parts.append(f"{words} {percent(share)}")
    doubts = [idea for idea in told.ideas if idea.name == Family.embedding and idea.contribution < 0]
    parts += [f"the embedding takes {percent(-idea.share)} back" for idea in doubts]
    return ", ".join(parts) if parts else None
