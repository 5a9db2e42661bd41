"""The one way in which text and tables from data are shown: nothing steers a terminal or a reader's eye."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from rnnlogic.base.errors import RNNLogicError

JOINERS = "\u200c\u200d"  # invisible, but part of how some scripts are written
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet may compute
_STEERING = re.compile(
    r"[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def printable(text: str) -> str:
    """The text with every character escaped that would steer a terminal instead of being shown."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else _escaped(c) for c in text)


def visible(text: str) -> str:
    """Lines of text that are `printable`; line breaks and tabs stay."""
    return text if text.isprintable() else re.sub(r"[^\n\t]+", lambda part: printable(part[0]), text)


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that any parser reads back exactly and no terminal obeys."""
    text = valid_json(value, indent)
    return text if text.isascii() else _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def valid_json(value: Any, indent: int | None = None) -> str:
    """JSON with null for what it has no number for: Python would write NaN and Infinity, which is no JSON."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_without_odd_numbers(value), indent=indent, ensure_ascii=False)


def _without_odd_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_odd_numbers(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_odd_numbers(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cell(text: str, excel_safe: bool) -> str:
    """A name for a CSV or TSV file; if wanted, so that no spreadsheet takes it for a formula."""
    return f"'{text}" if excel_safe and text.startswith(FORMULA) else text


def text_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], most: int = 60) -> str:
    """Rows under headers, numbers on the right, as `print` shows a data frame; the first `most` of them."""
    shown = [list(headers), *([_cell_text(value) for value in row] for row in rows[:most])]
    numeric = [all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(headers))]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row in shown:
        cells = zip(row, widths, numeric, strict=True)
        lines.append("  ".join(t.rjust(w) if right else t.ljust(w) for t, w, right in cells).rstrip())
    return "\n".join([*lines, f"... and {len(rows) - most:,} more"] if len(rows) > most else lines)


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def whole_number(text: str) -> int | None:
    """The number that digits stand for; None for other text, and for more digits than any count has.

    `str.isdigit` alone does not do: it takes a superscript for a digit, and `int` refuses endless numbers.
    """
    return int(text) if text.isdecimal() and len(text) <= 18 else None  # fits into 64 bits


def frame(library: Literal["pandas", "polars"], rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a DataFrame of pandas or polars."""
    try:
        made = import_module(library)
    except ImportError:
        raise RNNLogicError(f"{library} is not installed: pip install {library}") from None
    return made.DataFrame(list(rows))
