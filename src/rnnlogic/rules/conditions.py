"""Rules whose body is a condition on numbers or dates: `risk(X,high) <- age(X) >= 60`, and their text.

A condition is an interval that a value must lie in: an attribute of X, one of Y, or how much more one of Y
is than one of X, so `born(X) < born(Y)` and `|year(X) - year(Y)| <= 2` are intervals, too. An interval
has its lower bound and lacks its upper one; `> 2` begins at the next number after 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from rnnlogic.data.attributes import Kind, read_value, value_text
from rnnlogic.data.vocab import Vocab

WORDS: dict[Kind, str] = {"number": "", "date": " days", "time": " seconds"}  # of differences


class Interval(NamedTuple):
    """All numbers from `low` to below `high`."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def turned(self) -> Interval:
        """The numbers whose negatives these are."""
        return Interval(*(after(-end) if math.isfinite(end) else -end for end in (self.high, self.low)))

    @property
    def limits(self) -> list[tuple[str, float]]:
        """What a number must fulfil, with signs: `[(">=", 60.0)]`; bounds as they are shortest to write."""
        found = []
        for number, sign, other in ((self.low, ">=", ">"), (self.high, "<", "<=")):
            if math.isfinite(number):
                is_other = bound_text(number, "number")[1]
                found.append((other, math.nextafter(number, -math.inf)) if is_other else (sign, number))
        return found

    @property
    def is_one(self) -> bool:
        """Whether it is a single number."""
        return self.high == after(self.low)


class Condition(NamedTuple):
    """A rule whose body is a condition.

    head(X,constant) <- the attribute `of_x` of X lies in the interval; with `of_y` alone head(constant,Y) <-
    that of Y does; with both head(X,Y) <- that of Y minus that of X does.
    """

    head: int
    constant: int  # -1 where two attributes are compared
    of_x: int  # an attribute, or -1
    of_y: int
    interval: Interval

    @property
    def compares(self) -> bool:
        """Whether it compares X with Y."""
        return self.constant < 0

    @property
    def at_head(self) -> bool:
        """Whether it names X and is about Y."""
        return self.of_x < 0

    @property
    def sign(self) -> str | None:
        """How that of X compares with that of Y, if that is all the condition says: `<`."""
        signs = {
            Interval(high=0.0): ">",
            Interval(high=after(0.0)): ">=",
            Interval(low=0.0): "<=",
            Interval(low=after(0.0)): "<",
            Interval(0.0, after(0.0)): "=",
        }
        return signs.get(self.interval) if self.compares else None

    def turned(self, inverse: int) -> Condition:
        """The same rule read from Y to X, for the inverse of its head."""
        interval = self.interval.turned if self.compares else self.interval
        return Condition(inverse, self.constant, self.of_y, self.of_x, interval)


def after(number: float) -> float:
    """The next number."""
    return math.nextafter(number, math.inf)


def body_text(rule: Condition, vocab: Vocab, name: Callable[[int], str], labels: bool = False) -> str:
    """The body of a condition; `name` writes an attribute."""
    if not rule.compares:
        attribute, variable = (rule.of_y, "Y") if rule.at_head else (rule.of_x, "X")
        return _between(f"{name(attribute)}({variable})", rule.interval, vocab.attributes[attribute].kind)
    x, y, interval = f"{name(rule.of_x)}(X)", f"{name(rule.of_y)}(Y)", rule.interval
    if rule.sign is not None:
        return f"{x} {rule.sign} {y}"
    unit = WORDS[vocab.attributes[rule.of_x].kind] if labels else ""
    if interval.turned == interval:
        return f"|{x} - {y}| {_upper(interval.high, 'number')}{unit}"
    return _between(f"{y} - {x}", interval, "number") + unit


def _between(quantity: str, interval: Interval, kind: Kind) -> str:
    low, high = interval
    if interval.is_one:
        return f"{quantity} = {value_text(low, kind)}"
    if math.isinf(high):
        text, is_open = bound_text(low, kind)
        return f"{quantity} {'>' if is_open else '>='} {text}"
    if math.isinf(low):
        return f"{quantity} {_upper(high, kind)}"
    text, is_open = bound_text(low, kind)
    return f"{text} {'<' if is_open else '<='} {quantity} {_upper(high, kind)}"


def _upper(high: float, kind: Kind) -> str:
    text, is_closed = bound_text(high, kind)
    return f"{'<=' if is_closed else '<'} {text}"


def bound_text(number: float, kind: Kind) -> tuple[str, bool]:
    """A bound as text; whether that is the number before it, which is shorter to write."""
    before = math.nextafter(number, -math.inf)
    texts = [value_text(one, kind) for one in (number, before)]
    lengths = [
        len(text) if read_value(text) == (kind, one) else math.inf
        for text, one in zip(texts, (number, before), strict=True)
    ]
    return (texts[1], True) if lengths[1] < lengths[0] else (texts[0], False)
