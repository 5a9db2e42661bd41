"""The paths of an explanation as a picture: head left, answers right, shared entities merged.

The picture is plain SVG in the colours of the page around it. Every name is escaped; long ones are shortened
and shown in full as a tooltip.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from rnnlogic.answering.explaining.names import columns, entity_words, printable, relation_words, shortened
from rnnlogic.answering.explaining.walks import facts_of
from rnnlogic.data.vocab import Vocab
from rnnlogic.grounding.paths import Fact, Path

COLOURS = ("#2f80d0", "#d9731a", "#2a9d68", "#a05fd0", "#b08c00")  # of ideas for; readable on light and dark
AGAINST = "#d6456b"
LETTER, STEP_LETTER = 6.9, 6.0  # widths of a letter of an entity and of a relation
NAME, STEP = 26, 24  # letters of an entity's name, and of a relation's
GAP, ROW, MARGIN, BOX = 44, 64, 14, 26  # distances; height of an entity's box
BOW = 32  # how far an edge goes out of the way of boxes


class Strand(NamedTuple):
    """A path of an idea, in one of the colours."""

    path: Path
    colour: str
    is_against: bool


class _Spot(NamedTuple):
    layer: int
    x: float
    y: float
    width: float


class _Edge(NamedTuple):
    fact: Fact
    colour: str
    is_against: bool
    bend: float  # 0: straight


def picture(strands: Sequence[Strand], vocab: Vocab) -> str:
    """An SVG of some paths that begin at the same entity; nothing if there are none."""
    if not strands:
        return ""
    spots = _spots(strands, vocab)
    width = max(spot.x + spot.width / 2 for spot in spots.values()) + MARGIN
    height = max(spot.y for spot in spots.values()) + BOX / 2 + MARGIN + BOW
    drawn = [_edge(edge, spots, vocab) for edge in _edges(strands, vocab)]
    ends = {strand.path.entities[0] for strand in strands} | {strand.path.entities[-1] for strand in strands}
    boxes = [_box(entity, spot, entity in ends, vocab) for entity, spot in spots.items()]
    return (
        f'<svg class="picture" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="paths from the head to the answer">'
        f"<defs>{_arrows(strands)}</defs>{''.join(line for line, _ in drawn)}{''.join(boxes)}"
        f"{''.join(label for _, label in drawn)}</svg>"
    )


def _spots(strands: Sequence[Strand], vocab: Vocab) -> dict[int, _Spot]:
    """Where entities stand: by their mean place on paths, those of a column below one another."""
    places: dict[int, list[float]] = defaultdict(list)
    longest = max(len(strand.path.relations) for strand in strands)
    for strand in strands:
        steps = max(len(strand.path.relations), 1)
        for i, entity in enumerate(strand.path.entities):
            places[entity].append(i / steps)
    head, tails = strands[0].path.entities[0], {strand.path.entities[-1] for strand in strands}
    layers: dict[int, list[int]] = defaultdict(list)
    for entity, found in places.items():
        middle = round(sum(found) / len(found) * longest)
        inner = min(max(middle, 1), max(longest - 1, 1))
        layers[0 if entity == head else longest if entity in tails else inner].append(entity)
    layers = {i: layers[layer] for i, layer in enumerate(sorted(layers))}  # no empty columns
    rows = max(map(len, layers.values()))
    spots: dict[int, _Spot] = {}
    for layer, x in _columns(layers, strands, vocab).items():
        for row, entity in enumerate(_ordered(layers[layer], strands)):
            below = rows / len(layers[layer]) * (row + 0.5) - 0.5
            y = MARGIN + BOX / 2 + ROW * below + (8 if layer % 2 else 0)
            spots[entity] = _Spot(layer, x, y, _width(entity, vocab))
    return spots


def _columns(layers: dict[int, list[int]], strands: Sequence[Strand], vocab: Vocab) -> dict[int, float]:
    """The middle of each column; the names of relations fit between two of them."""
    relations = {relation for strand in strands for relation in strand.path.relations}
    label = max((min(columns(relation_words(r, vocab)), STEP) for r in relations), default=0) * STEP_LETTER
    middles, edge = {}, float(MARGIN)
    for layer in sorted(layers):
        width = max(_width(entity, vocab) for entity in layers[layer])
        middles[layer] = edge + width / 2
        edge += width + label + GAP
    return middles


def _width(entity: int, vocab: Vocab) -> float:
    return columns(_name(entity, vocab)) * LETTER + 20


def _ordered(entities: list[int], strands: Sequence[Strand]) -> list[int]:
    """Entities of a column by the first path that they are on, so that paths cross little."""
    first = {
        entity: min(i for i, strand in enumerate(strands) if entity in strand.path.entities)
        for entity in entities
    }
    return sorted(entities, key=lambda entity: (first[entity], entity))


def _edges(strands: Sequence[Strand], vocab: Vocab) -> list[_Edge]:
    """Every fact once, in the colour of the strongest idea; facts between the same two bend apart."""
    style: dict[Fact, Strand] = {}
    for strand in strands:
        for fact in facts_of(strand.path, vocab):
            style.setdefault(fact, strand)
    between: dict[frozenset[int], list[Fact]] = defaultdict(list)
    for fact in style:
        between[frozenset((fact[0], fact[2]))].append(fact)
    return [
        _Edge(fact, style[fact].colour, style[fact].is_against, i - (len(facts) - 1) / 2)
        for facts in between.values()
        for i, fact in enumerate(facts)
    ]


def _edge(edge: _Edge, spots: dict[int, _Spot], vocab: Vocab) -> tuple[str, str]:
    """The line of a fact with its arrow, and its label."""
    fact, colour, is_against, bend = edge
    start, end = spots[fact[0]], spots[fact[2]]
    if fact[0] == fact[2]:
        middle, line = _loop(start, bend)
    else:
        middle, line = _curve(start, end, bend)
    dashes = ' stroke-dasharray="5 4"' if is_against else ""
    words = printable(relation_words(fact[1], vocab))
    full = escape(
        f"{printable(vocab.entity_label(fact[0]))} {words} {printable(vocab.entity_label(fact[2]))}"
    )
    return (
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes} '
        f'marker-end="url(#arrow-{colour[1:]})"/>',
        f'<text class="step" x="{middle[0]:.1f}" y="{middle[1]:.1f}" fill="{colour}" text-anchor="middle">'
        f"<title>{full}</title>{escape(shortened(words, STEP))}</text>",
    )


def _curve(start: _Spot, end: _Spot, bend: float) -> tuple[tuple[float, float], str]:
    """A curve from the side of one box to the side of another; entities of one column bow out."""
    if abs(start.x - end.x) < 1:
        down = 1 if end.y > start.y else -1
        y1, y2 = start.y + down * BOX / 2, end.y - down * (BOX / 2 + 3)
        x = start.x + 40 * bend
        middle = (x + 20 * bend, (y1 + y2) / 2 + 4)
        return (
            middle,
            f"M{start.x:.1f},{y1:.1f} Q{x + 40 * bend:.1f},{(y1 + y2) / 2:.1f} {end.x:.1f},{y2:.1f}",
        )
    if abs(start.layer - end.layer) > 1 and abs(start.y - end.y) < ROW:
        bend += BOW / 16  # below the boxes between the two
    right = 1 if end.x > start.x else -1
    x1, x2 = start.x + right * start.width / 2, end.x - right * (end.width / 2 + 3)
    y1, y2 = start.y + 7 * bend, end.y + 7 * bend
    control = (x2 - x1) / 2
    sag = 26 * bend
    line = (
        f"M{x1:.1f},{y1:.1f} C{x1 + control:.1f},{y1 + sag:.1f} {x2 - control:.1f},{y2 + sag:.1f} "
        f"{x2:.1f},{y2:.1f}"
    )
    return ((x1 + x2) / 2, (y1 + y2) / 2 + 0.75 * sag - 4), line


def _loop(spot: _Spot, bend: float) -> tuple[tuple[float, float], str]:
    """A fact of an entity with itself."""
    top, reach = spot.y - BOX / 2, 26 + 10 * bend
    line = (
        f"M{spot.x - 10:.1f},{top:.1f} C{spot.x - 24:.1f},{top - reach:.1f} "
        f"{spot.x + 24:.1f},{top - reach:.1f} {spot.x + 10:.1f},{top - 3:.1f}"
    )
    return (spot.x, top - reach + 6), line


def _box(entity: int, spot: _Spot, is_end: bool, vocab: Vocab) -> str:
    kind = "end" if is_end else "entity"
    return (
        f'<g class="{kind}"><title>{escape(printable(vocab.entity_label(entity)))}</title>'
        f'<rect x="{spot.x - spot.width / 2:.1f}" y="{spot.y - BOX / 2:.1f}" width="{spot.width:.1f}" '
        f'height="{BOX}" rx="{BOX / 2}"/>'
        f'<text x="{spot.x:.1f}" y="{spot.y + 4.5:.1f}" text-anchor="middle">{escape(_name(entity, vocab))}'
        "</text></g>"
    )


def _name(entity: int, vocab: Vocab) -> str:
    return shortened(printable(entity_words(entity, vocab)), NAME)


def _arrows(strands: Sequence[Strand]) -> str:
    return "".join(
        f'<marker id="arrow-{colour[1:]}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" '
        f'markerHeight="6" orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        for colour in sorted({strand.colour for strand in strands})
    )
