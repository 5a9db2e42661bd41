"""Printing for all commands: rich tables on a terminal, aligned plain lines otherwise, JSON on request."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer

from rnnlogic.base.text import json_text, printable, visible


def echo(text: str = "", err: bool = False) -> None:
    """Print text for people; nothing in it steers the terminal. All commands print through this module."""
    typer.echo(visible(text), err=err)


def print_title(text: str) -> None:
    """Print a line that stands out."""
    typer.secho(visible(text), bold=True)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON, with nothing else around it."""
    typer.echo(json_text(value, indent))


def print_row(cells: Sequence[str]) -> None:
    """Print a line of columns separated by tabs; exact in a pipe or a file, safe on a terminal."""
    line = "\t".join(cells)
    typer.echo(visible(line) if sys.stdout.isatty() else line.encode("utf-8", "backslashreplace"))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """Print rows under headers; columns of numbers are right-aligned."""
    if title:
        echo(title)
    texts = [[_text(value) for value in row] for row in rows]
    numeric = [all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(headers))]
    if sys.stdout.isatty():
        _print_rich(headers, texts, numeric)
    else:
        _print_plain(headers, texts, numeric)


def print_pairs(pairs: Sequence[tuple[str, Any]]) -> None:
    """Print names and values, one pair per line, values aligned."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        echo(f"{name:<{width}}  {_text(value)}")


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return printable(str(value))


def _print_rich(headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for header, right in zip(headers, numeric, strict=True):
        table.add_column(header, justify="right" if right else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


def _print_plain(headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    for row in (headers, *rows):
        cells = zip(row, widths, numeric, strict=True)
        line = "  ".join(f"{cell:>{width}}" if right else f"{cell:<{width}}" for cell, width, right in cells)
        echo(line.rstrip())
