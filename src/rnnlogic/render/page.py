"""A page of sections with tables and small pictures, as Markdown and as HTML that needs nothing else.

All names come from data: HTML escapes them, Markdown shows them as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from rnnlogic.explain.names import printable
from rnnlogic.render.html import page, table

_MARKS = re.compile(r"([\\`*_\[\]<>|#~&$])")  # characters that Markdown would act upon


@dataclass(frozen=True)
class Table:
    """Rows under headers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # texts and numbers


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    text: tuple[str, ...] = ()  # paragraphs
    table: Table | None = None
    picture: str = ""  # SVG; left out in Markdown, where the table says the same


@dataclass(frozen=True)
class Card:
    """What there is to say about a run, on one page; shown in notebooks as it is."""

    title: str
    sections: tuple[Section, ...] = field(repr=False)

    def markdown(self) -> str:
        """The page as Markdown."""
        return "\n".join([f"# {_plain(self.title)}\n", *map(_markdown, self.sections)])

    def page(self) -> str:
        """The page as HTML that loads nothing from anywhere."""
        return page(self.title, self._repr_html_())

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"title": self.title} | {
            section.title: {
                "text": list(section.text),
                "rows": [] if section.table is None else _records(section.table),
            }
            for section in self.sections
        }

    def _repr_html_(self) -> str:
        sections = "".join(map(_html, self.sections))
        return f'<div class="rnnlogic"><h1>{escape(printable(self.title))}</h1>{sections}</div>'


def _records(shown: Table) -> list[dict[str, Any]]:
    return [dict(zip(shown.headers, row, strict=True)) for row in shown.rows]


def _markdown(section: Section) -> str:
    parts = [f"## {_plain(section.title)}\n", *(f"{_plain(text)}\n" for text in section.text)]
    if section.table is not None:
        parts.append("\n".join(_rows(section.table)) + "\n")
    return "\n".join(parts)


def _rows(shown: Table) -> Iterator[str]:
    right = _numeric(shown)
    yield _line(shown.headers)
    yield _line(["---:" if is_right else "---" for is_right in right], escaped=False)
    yield from map(_line, shown.rows)


def _line(cells: Sequence[Any], escaped: bool = True) -> str:
    texts = [_plain(_text(cell)) if escaped else cell for cell in cells]
    return f"| {' | '.join(texts)} |"


def _plain(text: str) -> str:
    """The text so that Markdown shows it and does nothing else."""
    return _MARKS.sub(r"\\\1", printable(text))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _numeric(shown: Table) -> list[bool]:
    columns = zip(*shown.rows, strict=True) if shown.rows else ([] for _ in shown.headers)
    return [all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in c) for c in columns]


def _html(section: Section) -> str:
    text = "".join(f"<p>{escape(printable(text))}</p>" for text in section.text)
    shown = "" if section.table is None else _table(section.table)
    both = f'<div style="display:flex;flex-wrap:wrap;gap:0 2rem">{section.picture}{shown}</div>'
    return f"<h2>{escape(printable(section.title))}</h2>{text}{both if section.picture else shown}"


def _table(shown: Table) -> str:
    right = _numeric(shown)
    rows = [
        [cell if is_right else _text(cell) for cell, is_right in zip(row, right, strict=True)]
        for row in shown.rows
    ]
    return f'<div class="scroll">{table(shown.headers, rows)}</div>'
