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

    On a terminal that is too narrow every row becomes a block of lines, a value on each, so that nothing is
    cut. Elsewhere, where programs may read it, a row is always one line.
    """
    if title:
        typer.echo(styled(title, bold=True))
    texts = [[_text(value) for value in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(headers, *texts, strict=True)]
    if sys.stdout.isatty() and sum(widths) + GAP * (len(widths) - 1) > get_terminal_size().columns:
        _print_blocks(headers, texts)
        return
    numeric = [all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(headers))]
    for number, row in enumerate([list(headers), *texts]):
        cells = zip(row, widths, numeric, strict=True)
        line = (" " * GAP).join(_padded(cell, width, right) for cell, width, right in cells).rstrip()
        typer.echo(styled(line, bold=True) if number == 0 else line)


def print_pairs(pairs: Sequence[tuple[str, Any]]) -> None:
    """Print names and values, one pair per line, values aligned."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        typer.echo(f"{name:<{width}}  {_text(value)}")


def _print_blocks(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A block for each row; empty values are left out."""
    width = max(map(len, headers))
    for number, row in enumerate(rows):
        if number:
            typer.echo()
        for header, cell in zip(headers, row, strict=True):
            lines = _wrapped(cell, terminal_width() - width - GAP)
            first = styled(header.ljust(width), bold=True)
            for lead, line in zip([first, *[" " * width] * len(lines)], lines, strict=False):
                typer.echo(f"{lead}{' ' * GAP}{line}")


def _wrapped(text: str, width: int) -> list[str]:
    """Lines that break between words only."""
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)


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
