"""What experiments print: tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def print_table(rows: Sequence[Mapping[str, Any]], form: str = ".3f") -> None:
    """Print rows that have the same columns; `form` is that of decimals."""
    print(f"| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}")
    for row in rows:
        cells = [f"{value:{form}}" if isinstance(value, float) else str(value) for value in row.values()]
        print(f"| {' | '.join(cells)} |")
