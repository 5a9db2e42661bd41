"""Lists of answers and rules that notebooks show as tables."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from rnnlogic.answering.explaining.html import table


class Row(Protocol):
    """Something with plain values by name."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        ...


Item = TypeVar("Item", bound=Row)


class Listed(list[Item]):
    """A list like any other, with a table for notebooks: a row for each item, a column for each value."""

    def _repr_html_(self) -> str:
        rows = [item.as_dict() for item in self]
        return table(list(rows[0]), [list(row.values()) for row in rows]) if rows else "<p>nothing found</p>"
