"""Printing for all commands: tables that fit a terminal, aligned plain lines otherwise, JSON on request."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import Any

import typer

GAP = 2  # columns between those of a table
HANGING = "    "  # before the further lines of a text that takes more than one
NARROWEST, WIDEST = 40, 120  # columns that text is wrapped to


def print_json(value: Any) -> None:
    """Print a value as JSON, with nothing else around it."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def terminal_width() -> int:
    """Columns for text: those of the terminal within reason, 80 where there is none."""
    return min(max(get_terminal_size().columns, NARROWEST), WIDEST)


def print_text(text: str) -> None:
    """Print a paragraph whose lines break between words only."""
    typer.echo("\n".join(_wrapped(text, terminal_width())))


def styled(text: str, **style: Any) -> str:
    """The text in bold or in a colour, on a terminal that wants it."""
    wants = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return typer.style(text, **style) if wants else text


def print_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """Print rows under headers; columns of numbers are right-aligned.

    Where a terminal is too narrow, the widest texts get lines of their own above the rest of their rows, so
    that nothing is cut. Elsewhere, where programs may read it, a row is always one line.
    """
    if title:
        typer.echo(styled(title, bold=True))
    numeric = [all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(headers))]
    texts = [list(headers), *([_text(value) for value in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    apart = _too_wide(widths, numeric, get_terminal_size().columns) if sys.stdout.isatty() else []
    kept = [i for i in range(len(headers)) if i not in apart]
    fits = not sys.stdout.isatty() or _room([widths[i] for i in kept]) <= get_terminal_size().columns
    for number, row in enumerate(texts):
        lines = [line for i in apart for line in _wrapped(row[i], terminal_width(), HANGING)]
        cells = (_padded(row[i], widths[i], numeric[i]) for i in kept)
        rest = " " * (GAP if apart else 0) + (" " * GAP).join(cells).rstrip()
        lines += [rest] if fits else _in_words(texts[0], row, kept) if number else []
        for line in lines:
            typer.echo(styled(line, bold=True) if number == 0 else line)


def _too_wide(widths: Sequence[int], numeric: Sequence[bool], room: int) -> list[int]:
    """The columns of text that leave room for the others, as few as can be, the widest first."""
    apart: list[int] = []
    for i in sorted((i for i in range(len(widths)) if not numeric[i]), key=lambda i: -widths[i]):
        if _room([width for other, width in enumerate(widths) if other not in apart]) <= room:
            break
        apart.append(i)
    return sorted(apart)


def _room(widths: Sequence[int]) -> int:
    """Columns that a row takes, indented as it is under a text of its own."""
    return sum(widths) + GAP * len(widths)


def _in_words(headers: Sequence[str], row: Sequence[str], kept: Sequence[int]) -> list[str]:
    """Numbers that do not even fit without the texts, each after its heading."""
    words = ", ".join(f"{headers[i]} {row[i]}" for i in kept)
    return [" " * GAP + line for line in _wrapped(words, terminal_width() - GAP)]


def print_pairs(pairs: Sequence[tuple[str, Any]]) -> None:
    """Print names and values, one pair per line, values aligned."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        typer.echo(f"{name:<{width}}  {_text(value)}")


def _wrapped(text: str, width: int, more: str = "") -> list[str]:
    """Lines that break between words only, all but the first after `more`."""
    return textwrap.wrap(text, width, subsequent_indent=more, break_long_words=False, break_on_hyphens=False)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
    )


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    from rnnlogic.answering.explaining.names import columns

    return len(text) if text.isascii() else columns(text)


def _padded(cell: str, width: int, right: bool) -> str:
    blanks = " " * (width - _width(cell))
    return blanks + cell if right else cell + blanks
