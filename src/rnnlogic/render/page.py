"""A page of sections with tables and small pictures, as Markdown and as HTML that needs nothing else.

All names come from data: HTML escapes them, Markdown shows them as they are written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from rnnlogic.base.text import printable
from rnnlogic.calibrate.probability import Bin
from rnnlogic.render.html import page, table
from rnnlogic.render.svg import AGAINST, COLOURS

WIDTH, HEIGHT, MARGIN = 340, 250, 46  # of a picture
SMALLEST, LARGEST = 2.0, 9.0  # radius of a dot

Point = tuple[float, float]
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


def reliability_picture(bins: Sequence[Bin]) -> str:
    """Predicted against observed: on the diagonal, probabilities are right. Larger dots are more facts."""
    if not bins:
        return ""
    most = max(one.facts for one in bins)
    dots = [
        _dot(_spot((one.predicted, one.observed), (0, 1), (0, 1)), _radius(one.facts, most)) for one in bins
    ]
    ticks = [(value, f"{value:.1f}") for value in (0.0, 0.5, 1.0)]
    diagonal = _polyline([_spot((end, end), (0, 1), (0, 1)) for end in (0.0, 1.0)], "currentColor", "4 4")
    axes = _axes(ticks, ticks, (0, 1), (0, 1), "predicted probability", "share that is true")
    return _svg([axes, diagonal, *dots], "reliability: predicted probability and the share that is true")


def frontier_picture(rules: Sequence[int], mrr: Sequence[float], chosen: int, full: float) -> str:
    """Validation MRR by number of rules, the chosen size marked, the full model as a dashed line."""
    sizes = [math.log10(max(size, 1)) for size in rules]
    across, up = _padded(sizes), _padded([*mrr, full])
    points = sorted(zip(sizes, mrr, strict=True))
    wanted = range(math.ceil(across[0]), math.floor(across[1]) + 1)
    ends = (min(sizes), max(sizes))
    xs = [(float(power), f"{10**power:,}") for power in wanted] or [(x, f"{10**x:,.0f}") for x in ends]
    ys = [(y, f"{y:.3f}") for y in sorted({min(mrr), full})]
    parts = [
        _axes(xs, ys, across, up, "rules", "validation MRR"),
        _polyline([_spot((x, full), across, up) for x in across], "currentColor", "4 4"),
        _polyline([_spot(point, across, up) for point in points], COLOURS[0]),
        _dot(_spot((sizes[chosen], mrr[chosen]), across, up), 5, AGAINST),
    ]
    return _svg(parts, "frontier: validation MRR by number of rules")


def _padded(values: Sequence[float]) -> Point:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.05
    return low - room, high + room


def _spot(point: Point, across: Point, up: Point) -> Point:
    x = (point[0] - across[0]) / (across[1] - across[0])
    y = (point[1] - up[0]) / (up[1] - up[0])
    return MARGIN + x * (WIDTH - 1.5 * MARGIN), HEIGHT - MARGIN - y * (HEIGHT - 1.5 * MARGIN)


def _radius(facts: float, most: float) -> float:
    return SMALLEST + (LARGEST - SMALLEST) * math.log1p(facts) / math.log1p(most)


def _dot(spot: Point, radius: float, colour: str = COLOURS[0]) -> str:
    return f'<circle cx="{spot[0]:.1f}" cy="{spot[1]:.1f}" r="{radius:.1f}" fill="{colour}"/>'


def _polyline(spots: Iterable[Point], colour: str, dashes: str = "") -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    style = f' stroke-dasharray="{dashes}" opacity=".5"' if dashes else ""
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"{style}/>'


def _axes(
    xs: Sequence[tuple[float, str]],
    ys: Sequence[tuple[float, str]],
    across: Point,
    up: Point,
    below: str,
    beside: str,
) -> str:
    left, top, right, bottom = MARGIN, MARGIN / 2, WIDTH - MARGIN / 2, HEIGHT - MARGIN
    parts = [_polyline([(left, top), (left, bottom), (right, bottom)], "currentColor")]
    for value, text in xs:
        parts.append(_words(_spot((value, up[0]), across, up)[0], bottom + 16, text, "middle"))
    for value, text in ys:
        parts.append(_words(left - 5, _spot((across[0], value), across, up)[1] + 4, text, "end"))
    parts.append(_words((left + right) / 2, HEIGHT - 10, below, "middle"))
    parts.append(_words(left, top - 8, beside, "start"))
    return "".join(parts)


def _words(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{text}</text>'


def _svg(parts: Iterable[str], label: str) -> str:
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    style = 'style="max-width:100%" font-family="system-ui,sans-serif" font-size="12"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )
