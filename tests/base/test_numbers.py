"""Numbers in text: read, or None; never an error."""

import pytest

from rnnlogic.base.text import whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("\u0663", 3)])
def test_digits_are_a_number(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1.0", "1_0", "\u00b2", "x", "9" * 19, "1" * 5000])
def test_anything_else_is_none(text):
    assert whole_number(text) is None
