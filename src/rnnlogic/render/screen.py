"""An explanation on one screen of a terminal: the claim, its reasons, what speaks against it, its facts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rnnlogic.explain.names import columns, printable, wrapped
from rnnlogic.explain.summary import (
    ALONE,
    SEE_ALL,
    ReasonTold,
    Summary,
    claim,
    reason_line,
    summary_of,
    verdict,
)
from rnnlogic.render.lines import fact_line, fewest, fitted

if TYPE_CHECKING:
    from rnnlogic.explain.explanation import Explanation

HIDDEN = "The fact is in the graph; it was hidden to apply the rules."
LEFT_OUT = "Each number: the score minus the score without it; they need not sum to it."
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
    whole = summary_of(told, number)
    tries = [summary_of(told, number, length) for length in NAMES]
    lines = list[str]()
    for place in range(len(whole.reasons)):
        lines += reason_lines([one.reasons[place] for one in tries], width)
    if not whole.reasons:
        strongest = [idea.sentence for idea in told.ideas if idea.contribution > 0][:1]
        lines += fitted(printable((strongest or ["nothing"])[0]), width, _lead("because"), 2)
    return [*lines, *_remarks(whole, width)]


def violation(told: Explanation, width: int) -> list[str]:
    """The constraint that an answer breaks, which is why it is left out of answers."""
    return fitted(printable(told.broken), width, _lead("against"), 3) if told.broken else []


def reason_lines(tries: list[ReasonTold], width: int) -> Iterator[str]:
    """A reason in words with its record, then the rule; of a rule with constants, the fact behind it too."""
    told = tries[0]
    yield from fewest((wrapped(reason_line(one), width, _lead(one.lead)) for one in tries), 2)
    if told.facts:
        yield from fewest((wrapped("; ".join(one.facts), width, _lead("  fact")) for one in tries), 1)
    yield from fitted(told.rule, width, _lead("  rule"), 2)
    alone = f". {ALONE}" if told.is_enough and told.lead == "because" else ""
    yield from wrapped(f"{told.about}{alone}", width, _lead(""))


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


def _remarks(whole: Summary, width: int) -> Iterator[str]:
    """What speaks against it, and the base rate."""
    for place, text in enumerate(whole.against or ("nothing",)):
        yield from fitted(text, width, _lead("" if place else "against"), 3)
    if whole.base_rate:
        yield from fitted(whole.base_rate, width, _lead("base rate"), 1)


def _blocks(told: Explanation, number: int, width: int) -> list[list[str]]:
    top = _top(told, width)
    if told.is_known:
        top += wrapped(HIDDEN, width, "  ")
    if not math.isfinite(told.score):
        return [[*top, *violation(told, width)]]
    top += [f"  {LEFT_OUT}"] if told.kind == "leave-one-out" else []
    more = summary_of(told, number).rest
    bottom = [*dependence(told, False, width), *(wrapped(more + SEE_ALL, width) if more else [])]
    return [block for block in (top, because(told, number, width), bottom) if block]


def _top(told: Explanation, width: int) -> list[str]:
    """The claim, and the verdict at the right of it, or below where there is no room."""
    left, right = claim(told), verdict(told)
    if columns(left) + 2 + columns(right) <= width:
        return [left + " " * (width - columns(left) - columns(right)) + right]
    lines = fewest((wrapped(claim(told, most), width) for most in NAMES), 1)
    return [*lines, *wrapped(right, width, "  ")]


def _lead(word: str) -> str:
    return word.ljust(10)  # columns of "because" and the like
