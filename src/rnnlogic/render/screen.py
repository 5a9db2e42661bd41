"""An explanation on one screen of a terminal: the claim, its reasons, what speaks against it, its facts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rnnlogic.calibrate.level import shown
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.chosen import Reason
from rnnlogic.explain.ideas import Family
from rnnlogic.explain.names import (
    columns,
    entity_words,
    fact_words,
    numbered,
    printable,
    shortened,
    typed_words,
    wrapped,
)
from rnnlogic.explain.reasons import Idea
from rnnlogic.explain.walks import comes_back, facts_of
from rnnlogic.render.lines import fact_line, fewest, fitted
from rnnlogic.rules.rule import Constant, Feature, format_rule

if TYPE_CHECKING:
    from rnnlogic.explain.explanation import Explanation

HIDDEN = "The fact is in the graph; it was hidden to apply the rules."
LEFT_OUT = "Each number: the score minus the score without it; they need not sum to it."
LEAD = 10  # columns of "because" and the like
OBJECTIONS = 2  # that are shown
FACTS = 4  # of those that it depends on
NAMES = (40, 30, 24, 20, 16, 12)  # columns of a name, as many as fit


def screen(told: Explanation, width: int, height: int) -> list[str]:
    """As many reasons as fit, and empty lines if there is room for them."""
    for number in (*range(len(told.reasons), 1, -1), 1):
        blocks = _blocks(told, number, width)
        lines = [line for block in blocks for line in block]
        if len(lines) <= height:
            break
    airy = [line for block in blocks for line in ("", *block)][1:]
    if len(lines) > height:
        return [*lines[: height - 1], "... --all shows everything."]
    return airy if len(airy) <= height else lines


def because(told: Explanation, number: int, width: int) -> list[str]:
    """The reasons, so many of them, and what speaks against the answer."""
    lines, vocab = list[str](), told.vocab
    for place, reason in enumerate(told.reasons[:number]):
        lines += reason_lines(reason, told, "also" if place else "because", width)
    if not told.reasons:
        strongest = [idea.sentence for idea in told.ideas if idea.contribution > 0][:1]
        lines += fitted(printable((strongest or ["nothing"])[0]), width, _lead("because"), 2)
    against = [idea for idea in told.ideas if idea.contribution < 0]
    for place, idea in enumerate(against[:OBJECTIONS]):
        lines += _objection(idea, "" if place else "against", vocab, width)
    more = len(against) - OBJECTIONS
    if more > 0:
        taken = sum(idea.share for idea in against[OBJECTIONS:])
        lines.append(f"{_lead('')}{numbered(more, 'more objection')} ({_percent(taken)})")
    return lines if against else [*lines, f"{_lead('against')}nothing"]


def reason_lines(reason: Reason, told: Explanation, lead: str, width: int) -> Iterator[str]:
    """A reason in words with its record, then the rule; of a rule with constants, the fact behind it too."""
    vocab, rule = told.vocab, reason.rule.chain
    yield from fewest((wrapped(reason_words(reason, told, n), width, _lead(lead)) for n in NAMES), 2)
    text = printable(format_rule(rule, vocab, labels=True))
    yield from fitted(f"{text} ({_percent(reason.share)})", width, f"{_lead('')}rule  ", 2)
    if isinstance(rule, Constant) and reason.path is not None:
        facts = [fact_line(*fact, vocab, NAMES[0]) for fact in facts_of(reason.path, vocab)]
        yield from fitted("; ".join(facts), width, f"{_lead('')}fact  ", 1)


def reason_words(reason: Reason, told: Explanation, length: int | None = None) -> str:
    """Why a rule is a reason: what is true of how many others, or the facts that lead to the answer."""
    vocab, rule, record = told.vocab, reason.rule.chain, reason.rule.record
    if isinstance(rule, Constant):
        body = format_rule(rule, vocab, labels=True).partition(" <- ")[2]
        head = entity_words(told.head, vocab)
        end = f"are answers for {_short(head, length)}" if rule.at_head else "have this answer"
        others = "others" if record is None else f"{record.text()} others"
        return printable(f"{others} with {body} {end}")
    path = reason.path
    facts = [] if path is None else [fact_line(*fact, vocab, length) for fact in facts_of(path, vocab)]
    words = " and ".join(facts) or "the two are the same"
    again = None if path is None else comes_back(path)
    mark = (
        "" if again is None else f" (comes back to {_short(printable(entity_words(again, vocab)), length)})"
    )
    return words + mark + ("" if record is None else f": right in {record.text()} cases")


def claim(told: Explanation, most: int | None = None) -> str:
    """The fact in question as words, its ends with their types."""
    ends = [typed_words(end, told.vocab, most) for end in (told.head, told.tail)]
    return printable(fact_words(ends[0], told.relation, ends[1], told.vocab))


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
    return sure + place


def rest(told: Explanation, number: int) -> str | None:
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
        parts.append(f"{many} {_percent(math.fsum(others) / whole)}")
    names = (
        (Family.often, "the base rate", "adds"),
        (Family.embedding, "the embedding", "adds"),
        (Family.linked, "known links", "add"),
    )
    for family, name, verb in names:
        share = math.fsum(idea.share for idea in told.ideas if idea.name == family and idea.share > 0)
        if share:
            words = name if parts else f"{name} {verb}".capitalize()
            parts.append(f"{words} {_percent(share)}")
    return f"{', '.join(parts)}: --all" if parts else None


def dependence(told: Explanation, everything: bool, width: int) -> Iterator[str]:
    """The facts without which it is no longer first."""
    found = told.hangs_on
    if found is None:
        return
    yield from wrapped(found.text(), width)
    facts = found.facts if everything else found.facts[:FACTS]
    words = [fact_line(*fact, told.vocab, None if everything else NAMES[2]) for fact in facts]
    more = len(found.facts) - len(facts)
    if words:
        yield from wrapped("; ".join(words) + (f"; and {more} more" if more else ""), width, "  ")


def _blocks(told: Explanation, number: int, width: int) -> list[list[str]]:
    top = _top(told, width)
    if told.is_known:
        top += wrapped(HIDDEN, width, "  ")
    if not math.isfinite(told.score):
        return [top]
    top += [f"  {LEFT_OUT}"] if told.kind == "leave-one-out" else []
    more = rest(told, number)
    bottom = [*dependence(told, False, width), *(wrapped(more, width) if more else [])]
    return [block for block in (top, because(told, number, width), bottom) if block]


def _top(told: Explanation, width: int) -> list[str]:
    """The claim, and the verdict at the right of it, or below where there is no room."""
    left, right = claim(told), verdict(told)
    if columns(left) + 2 + columns(right) <= width:
        return [left + " " * (width - columns(left) - columns(right)) + right]
    lines = fewest((wrapped(claim(told, most), width) for most in NAMES), 1)
    return [*lines, *wrapped(right, width, "  ")]


def _objection(idea: Idea, lead: str, vocab: Vocab, width: int) -> Iterator[str]:
    """An idea against the answer, with its strongest rule."""
    yield from fitted(f"{printable(idea.sentence)} ({_percent(idea.share)})", width, _lead(lead), 2)
    rules: Sequence[str] = [
        format_rule(one.chain, vocab, labels=True)
        for one in idea.rules[:1]
        if not isinstance(one.chain, Feature)
    ]
    for text in rules:
        yield from fitted(printable(text), width, f"{_lead('')}rule  ", 2)


def _lead(word: str) -> str:
    return word.ljust(LEAD)


def _short(name: str, length: int | None) -> str:
    return name if length is None else shortened(name, length)


def _percent(share: float) -> str:
    if abs(share) >= 10:
        return "over 999 %" if share > 0 else "below -999 %"
    return f"{share * 100:.0f} %"
