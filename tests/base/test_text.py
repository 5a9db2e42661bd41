"""Text and tables from data are shown as they are and steer nothing; numbers in them are read, or None."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.text import cell, json_text, printable, text_table, valid_json, visible, whole_number

NASTY = "a\x1b[31m\x07\x9b\u202eb\u2066\ufeff\x00\ud800"


def test_what_steers_is_escaped_and_the_rest_stays():
    assert printable(NASTY) == r"a\x1b[31m\x07\x9b\u202eb\u2066\ufeff\x00\ud800"
    assert visible("é\tß\nसंस्कृतम् 日本 👩\u200d🚀\r") == "é\tß\nसंस्कृतम् 日本 👩\u200d🚀\\r"


@given(st.text())
def test_json_is_exact_and_safe(text):
    shown = json_text({"name": text + "\x9b\u202e"})
    assert json.loads(shown) == {"name": text + "\x9b\u202e"}
    assert not set(shown) & set("\x1b\x9b\u202e\u2066\ufeff\u2028")


def test_json_has_no_numbers_that_are_none():
    odd = {"a": [1.5, math.inf, (math.nan, "NaN")], "b": {"c": -math.inf}}
    assert json.loads(valid_json(odd), parse_constant=pytest.fail) == {
        "a": [1.5, None, [None, "NaN"]],
        "b": {"c": None},
    }
    assert json_text([math.inf], indent=1) == "[\n null\n]"


@pytest.mark.parametrize("text", ["=1+1", "+a", "-a", "@a", "\tx"])
def test_formulas(text):
    assert cell(text, excel_safe=True) == "'" + text
    assert cell(text, excel_safe=False) == text
    assert cell("a=1", excel_safe=True) == "a=1"


def test_a_table_is_aligned_and_names_steer_nothing():
    lines = text_table(["name", "n"], [["a\x1b[2J", 1], ["b", 22.5], ["c", None]], most=2).split("\n")
    assert lines == ["name         n", "a\\x1b[2J     1", "b         22.5", "... and 1 more"]


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("\u0663", 3)])
def test_digits_are_a_number(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1.0", "1_0", "\u00b2", "x", "9" * 19, "1" * 5000])
def test_anything_else_is_none(text):
    assert whole_number(text) is None
