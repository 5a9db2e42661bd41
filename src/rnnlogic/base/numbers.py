"""Numbers in text that people or programs write."""

from __future__ import annotations

MOST_DIGITS = 18  # of a number that fits into 64 bits


def whole_number(text: str) -> int | None:
    """The number that digits stand for; None for other text, and for more digits than any count has.

    `str.isdigit` alone does not do: it takes a superscript for a digit, and `int` refuses endless numbers.
    """
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None
