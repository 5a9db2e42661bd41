"""The paths of an explanation as a picture: head left, answers right, shared entities merged.

The picture is plain SVG in the colours of the page around it. Every name is escaped; long ones are shortened
and shown in full as a tooltip.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from rich.cells import cell_len

from rnnlogic.base.text import printable
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import facts_of
from rnnlogic.explain.sentences import entity_words, relation_words, shortened
from rnnlogic.features.chains.paths import Fact, Path

COLOURS = ("#2f80d0", "#d9731a", "#2a9d68", "#a05fd0", "#b08c00")  # of ideas for; readable on light and dark
AGAINST = "#d6456b"
LETTER, STEP_LETTER = 6.9, 6.0  # widths of a letter of an entity and of a relation
NAME, STEP = 26, 24  # letters of an entity's name, and of a relation's
GAP, ROW, MARGIN, BOX = 44, 64, 14, 26  # distances; height of an entity's box
BOW = 32  # how far an edge goes out of the way of boxes
LABEL = 6  # half the height of a relation's name
ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)  # where on its line a name may stand

_Point = tuple[float, float]
_Curve = tuple[_Point, _Point, _Point, _Point]


class Strand(NamedTuple):
    """A path of an idea, in one of the colours."""

    path: Path
    colour: str
    is_against: bool
    mark: str = ""  # a word for what the path belongs to; lines and boxes carry the marks of their paths


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
    marks: str  # as an attribute


def picture(strands: Sequence[Strand], vocab: Vocab) -> str:
    """An SVG of some paths that begin at the same entity; nothing if there are none."""
    if not strands:
        return ""
    spots = _spots(strands, vocab)
    width = max(spot.x + spot.width / 2 for spot in spots.values()) + MARGIN
    height = max(spot.y for spot in spots.values()) + BOX / 2 + MARGIN + BOW
    edges = [
        (edge, _curve(spots[edge.fact[0]], spots[edge.fact[2]], edge.bend)) for edge in _edges(strands, vocab)
    ]
    ends = {strand.path.entities[0] for strand in strands} | {strand.path.entities[-1] for strand in strands}
    boxes = [
        _box(entity, spot, entity in ends, vocab, _marks(s for s in strands if entity in s.path.entities))
        for entity, spot in spots.items()
    ]
    return (
        f'<svg class="picture" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="paths from the head to the answer">'
        f"<defs>{_arrows(strands)}</defs>{''.join(_line(*edge) for edge in edges)}{''.join(boxes)}"
        f"{''.join(_labels(edges, spots, vocab))}</svg>"
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
    label = max((min(cell_len(relation_words(r, vocab)), STEP) for r in relations), default=0) * STEP_LETTER
    middles, edge = {}, float(MARGIN)
    for layer in sorted(layers):
        width = max(_width(entity, vocab) for entity in layers[layer])
        middles[layer] = edge + width / 2
        edge += width + label + GAP
    return middles


def _width(entity: int, vocab: Vocab) -> float:
    return cell_len(_name(entity, vocab)) * LETTER + 20


def _ordered(entities: list[int], strands: Sequence[Strand]) -> list[int]:
    """Entities of a column by the first path that they are on, so that paths cross little."""
    first = {
        entity: min(i for i, strand in enumerate(strands) if entity in strand.path.entities)
        for entity in entities
    }
    return sorted(entities, key=lambda entity: (first[entity], entity))


def _edges(strands: Sequence[Strand], vocab: Vocab) -> list[_Edge]:
    """Every fact once, in the colour of the strongest idea; facts between the same two bend apart."""
    style: dict[Fact, list[Strand]] = defaultdict(list)
    for strand in strands:
        for fact in facts_of(strand.path, vocab):
            style[fact].append(strand)
    between: dict[frozenset[int], list[Fact]] = defaultdict(list)
    for fact in style:
        between[frozenset((fact[0], fact[2]))].append(fact)
    return [
        _Edge(
            fact,
            style[fact][0].colour,
            style[fact][0].is_against,
            i - (len(facts) - 1) / 2,
            _marks(style[fact]),
        )
        for facts in between.values()
        for i, fact in enumerate(facts)
    ]


def _marks(strands: Iterable[Strand]) -> str:
    """The attribute that says which paths something belongs to; none if they have no marks."""
    marks = dict.fromkeys(strand.mark for strand in strands if strand.mark)
    return f' data-marks="{escape(" ".join(marks))}"' if marks else ""


def _line(edge: _Edge, curve: _Curve) -> str:
    """The line of a fact with its arrow."""
    (x1, y1), *controls = curve
    rest = " ".join(f"{x:.1f},{y:.1f}" for x, y in controls)
    dashes = ' stroke-dasharray="5 4"' if edge.is_against else ""
    return (
        f'<path d="M{x1:.1f},{y1:.1f} C{rest}" fill="none" stroke="{edge.colour}" stroke-width="1.8"{dashes} '
        f'marker-end="url(#arrow-{edge.colour[1:]})"{edge.marks}/>'
    )


def _labels(edges: list[tuple[_Edge, _Curve]], spots: dict[int, _Spot], vocab: Vocab) -> Iterator[str]:
    """The names of relations on their lines, where they hide neither boxes nor one another if that can be."""
    taken = [(spot.x, spot.y, spot.width / 2, BOX / 2) for spot in spots.values()]
    for edge, curve in edges:
        head, relation, tail = edge.fact
        words = printable(relation_words(relation, vocab))
        half = cell_len(shortened(words, STEP)) * STEP_LETTER / 2
        places = [_point(curve, along) for along in ALONG]
        x, y = next((at for at in places if not _covers(at, half, taken)), places[0])
        taken.append((x, y, half, LABEL))
        ends = [printable(vocab.entity_label(entity)) for entity in (head, tail)]
        yield (
            f'<text class="step" x="{x:.1f}" y="{y + 4:.1f}" fill="{edge.colour}" text-anchor="middle"'
            f"{edge.marks}>"
            f"<title>{escape(f'{ends[0]} {words} {ends[1]}')}</title>{escape(shortened(words, STEP))}</text>"
        )


def _covers(at: _Point, half: float, taken: list[tuple[float, float, float, float]]) -> bool:
    """Whether a label would overlap a rectangle (middle, half its width and height)."""
    return any(abs(at[0] - x) < half + w and abs(at[1] - y) < LABEL + h for x, y, w, h in taken)


def _point(curve: _Curve, t: float) -> _Point:
    """A point of a Bezier curve."""
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    x, y = (sum(w * point[i] for w, point in zip(weights, curve, strict=True)) for i in (0, 1))
    return x, y


def _curve(start: _Spot, end: _Spot, bend: float) -> _Curve:
    """From the side of one box to the side of another; boxes of one column are linked by top and bottom."""
    if start == end:
        top, reach = start.y - BOX / 2, 26 + 10 * bend
        high = top - reach
        return (start.x - 10, top), (start.x - 24, high), (start.x + 24, high), (start.x + 10, top - 3)
    if start.layer == end.layer:
        down = 1 if end.y > start.y else -1
        y1, y2 = start.y + down * BOX / 2, end.y - down * (BOX / 2 + 3)
        x, third = start.x + 60 * bend, (y2 - y1) / 3
        return (start.x, y1), (x, y1 + third), (x, y2 - third), (end.x, y2)
    if abs(start.layer - end.layer) > 1 and abs(start.y - end.y) < ROW:
        bend += BOW / 16  # below the boxes between the two
    right = 1 if end.x > start.x else -1
    x1, x2 = start.x + right * start.width / 2, end.x - right * (end.width / 2 + 3)
    y1, y2 = start.y + 7 * bend, end.y + 7 * bend
    middle, sag = (x1 + x2) / 2, 26 * bend
    return (x1, y1), (middle, y1 + sag), (middle, y2 + sag), (x2, y2)


def _box(entity: int, spot: _Spot, is_end: bool, vocab: Vocab, marks: str) -> str:
    kind = "end" if is_end else "entity"
    return (
        f'<g class="{kind}"{marks}>'
        f"{named_box(spot[1:], _name(entity, vocab), printable(vocab.described(entity)))}</g>"
    )


def named_box(place: tuple[float, float, float], name: str, title: str) -> str:
    """A box with a name and a tooltip; `place` is its middle (x, y), and its width."""
    x, y, width = place
    return (
        f"<title>{escape(title)}</title>"
        f'<rect x="{x - width / 2:.1f}" y="{y - BOX / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX}" rx="{BOX / 2}"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle">{escape(name)}</text>'
    )


def _name(entity: int, vocab: Vocab) -> str:
    return shortened(printable(entity_words(entity, vocab)), NAME)


def _arrows(strands: Sequence[Strand]) -> str:
    return "".join(
        f'<marker id="arrow-{colour[1:]}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" '
        f'markerHeight="6" orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        for colour in sorted({strand.colour for strand in strands})
    )
