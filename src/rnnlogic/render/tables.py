"""Lists of answers and rules that notebooks show as tables, and that become data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeVar

from rnnlogic.base.text import frame, text_table
from rnnlogic.render.html import table


class Row(Protocol):
    """Something with plain values by name."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        ...


Item = TypeVar("Item", bound=Row)


class Listed(list[Item]):
    """A list like any other, shown as a table: a row for each item, a column for each value."""

    left_out: Mapping[str, int] = {}  # how many others break constraints, by kind

    def __str__(self) -> str:
        rows = [item.as_dict() for item in self]
        if not rows:
            return "nothing found"
        columns = [name for name in rows[0] if any(row[name] not in (None, "") for row in rows)]
        return text_table(columns, [[row[name] for name in columns] for row in rows])

    def _repr_html_(self) -> str:
        rows = [item.as_dict() for item in self]
        return table(list(rows[0]), [list(row.values()) for row in rows]) if rows else "<p>nothing found</p>"

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each item."""
        return frame("pandas", [item.as_dict() for item in self])

    def to_polars(self) -> Any:
        """A polars DataFrame with a row for each item."""
        return frame("polars", [item.as_dict() for item in self])


class Stream(Iterator[Item]):
    """Items that come one by one; a data frame takes those that are left."""

    def __init__(self, items: Iterator[Item], left_out: Mapping[str, int] | None = None) -> None:
        self._items = items
        self.left_out = {} if left_out is None else left_out  # how many others break constraints, by kind

    def __next__(self) -> Item:
        return next(self._items)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each item that is left."""
        return Listed(self).to_pandas()

    def to_polars(self) -> Any:
        """A polars DataFrame with a row for each item that is left."""
        return Listed(self).to_polars()
