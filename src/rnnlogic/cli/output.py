"""Printing for all commands: tables that fit a terminal, aligned plain lines otherwise, JSON on request."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import typer

from rnnlogic.base.errors import DataError
from rnnlogic.base.files import write_atomically
from rnnlogic.base.text import json_text, printable, visible

GAP = 2  # columns between those of a table
HANGING = "    "  # before the further lines of a text that takes more than one
NARROWEST, WIDEST = 40, 120  # columns that text is wrapped to


def echo(text: str = "", err: bool = False, **style: Any) -> None:
    """Print text for people; nothing in it steers the terminal. All commands print through this module.

    A style (bold=True, fg="red") shows on a terminal that wants it.
    """
    shown = visible(text)
    stream = sys.stderr if err else sys.stdout
    wants = style and stream.isatty() and not os.environ.get("NO_COLOR")
    typer.echo(typer.style(shown, **style) if wants else shown, err=err)


def print_note(text: str, err: bool = True) -> None:
    """Print a remark: lines that break between words on a terminal, one line elsewhere."""
    note, stream = f"note: {text}", sys.stderr if err else sys.stdout
    echo("\n".join(_wrapped(note, terminal_width(), HANGING)) if stream.isatty() else note, err)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON, with nothing else around it."""
    typer.echo(json_text(value, indent))


def write_file(path: Path, text: str) -> None:
    """Write a file whole, or say in one line why it cannot be written."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror or error})", str(path)) from None


def print_row(cells: Sequence[str]) -> None:
    """Print a line of columns separated by tabs; exact in a pipe or a file, safe on a terminal."""
    line = "\t".join(cells)
    typer.echo(visible(line) if sys.stdout.isatty() else line.encode("utf-8", "backslashreplace"))


def terminal_width() -> int:
    """Columns for text: those of the terminal within reason, 80 where there is none."""
    return min(max(get_terminal_size().columns, NARROWEST), WIDEST)


def print_text(text: str) -> None:
    """Print a paragraph whose lines break between words only."""
    echo("\n".join(_wrapped(text, terminal_width())))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """Print rows under headers; columns of numbers are right-aligned.

    Where a terminal is too narrow, the widest texts get lines of their own above the rest of their rows, so
    that nothing is cut. Elsewhere, where programs may read it, a row is always one line.
    """
    if title:
        echo(title, bold=True)
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
            echo(line, **({"bold": True} if number == 0 else {}))


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
        echo(f"{name:<{width}}  {_text(value)}")


def _wrapped(text: str, width: int, more: str = "") -> list[str]:
    """Lines that break between words only, all but the first after `more`."""
    return textwrap.wrap(text, width, subsequent_indent=more, break_long_words=False, break_on_hyphens=False)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return printable(str(value))


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    from rich.cells import cell_len as columns

    return len(text) if text.isascii() else columns(text)


def _padded(cell: str, width: int, right: bool) -> str:
    blanks = " " * (width - _width(cell))
    return blanks + cell if right else cell + blanks
