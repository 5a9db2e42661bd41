"""The graph around an entity as a picture: it stands left, its facts to the right, theirs further right.

Plain SVG with links, so it needs no script: a name opens its page, a sign beside it opens its facts.
Facts that are only proposed are dashed. Every name is escaped; long ones are shortened, with a tooltip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from rich.cells import cell_len

from rnnlogic.base.text import printable
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.sentences import entity_words, fact_sentence, relation_words, shortened
from rnnlogic.render.svg import named_box

LETTER, STEP_LETTER = 7.1, 6.1  # widths of a letter of an entity and of a relation
NAME, STEP = 24, 22  # letters of an entity's name, and of a relation's
ROW, MARGIN = 36, 12  # distances
BEND, PAD, SIGN = 26, 10, 9  # width of a curve; room beside a relation's name; half of a sign


@dataclass(frozen=True)
class Around:
    """An entity and the facts that are drawn to its right."""

    entity: int
    relation: int | None = None  # of the fact that leads here, seen from the left; None: this is the middle
    why: str = ""  # of a proposal: how probable it is, and its reason
    link: str = ""  # of a proposal: the page that says more
    facts: tuple[Around, ...] = ()
    left_out: int = 0  # facts that are not drawn, of an entity with some that are
    can_open: bool = False  # whether it has facts to draw
    is_open: bool = False
    is_mutual: bool = False  # the fact is true both ways


@dataclass(frozen=True)
class Links:
    """Addresses that the picture leads to, by entity."""

    page: Callable[[int], str]
    turn: Callable[[int], str]  # the same picture with the facts of an entity opened or closed


@dataclass
class _Placed:
    """Where an entity stands: the left end and the middle of its box."""

    one: Around
    depth: int
    y: float = 0.0
    facts: list[_Placed] = field(default_factory=list)


def neighbourhood(middle: Around, vocab: Vocab, links: Links) -> str:
    """The SVG; its text alternative is the list of facts on the same page."""
    root, rows = _placed(middle, 0, 0.0)
    every = list(_walk(root))
    lefts = _lefts(every, vocab)
    width = MARGIN + max(lefts[spot.depth] + _width(spot.one, vocab) + 2 * SIGN for spot in every)
    height = rows * ROW + 2 * MARGIN
    title = escape(f"Facts around {printable(entity_words(middle.entity, vocab))}")
    parts = [part for spot in every for part in _drawn(spot, lefts, vocab, links)]
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    what = f'class="picture around" role="group" aria-label="{title}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {what} {size}>{"".join(parts)}</svg>'


def _placed(one: Around, depth: int, row: float) -> tuple[_Placed, float]:
    """The entity beside the middle of its facts, and the first row below them."""
    spot, start = _Placed(one, depth), row
    for fact in one.facts:
        below, row = _placed(fact, depth + 1, row)
        spot.facts.append(below)
    row = max(row + bool(one.left_out), start + 1)
    first, last = (spot.facts[0].y, spot.facts[-1].y) if spot.facts else (_height(start), _height(start))
    spot.y = (first + last) / 2
    return spot, row


def _height(row: float) -> float:
    return MARGIN + ROW * (row + 0.5)


def _walk(spot: _Placed) -> Iterator[_Placed]:
    yield spot
    for below in spot.facts:
        yield from _walk(below)


def _lefts(every: Sequence[_Placed], vocab: Vocab) -> list[float]:
    """Where the boxes of each column begin; names of relations fit before them."""
    lefts, right = list[float](), float(MARGIN)
    for depth in range(max(spot.depth for spot in every) + 1):
        column = [spot.one for spot in every if spot.depth == depth]
        label = max(_label_width(one, vocab) for one in column)
        lefts.append(right + (BEND + label + 2 * PAD if depth else 0))
        right = lefts[-1] + max(_width(one, vocab) for one in column) + 2 * SIGN
    return lefts


def _drawn(spot: _Placed, lefts: Sequence[float], vocab: Vocab, links: Links) -> Iterator[str]:
    """An entity, and the facts that lead from it."""
    one, left = spot.one, lefts[spot.depth]
    right = left + _width(one, vocab)
    for below in spot.facts:
        start = right + (2 * SIGN if one.relation is not None else 0), spot.y
        yield _fact(one.entity, start, below, (lefts[below.depth], below.y), vocab)
    yield _box(one, left, right, spot.y, vocab, links)
    if one.can_open and one.relation is not None:
        yield _sign(one, right + SIGN, spot.y, vocab, links)
    if one.left_out:
        x, y = lefts[spot.depth + 1], (spot.facts[-1].y if spot.facts else spot.y) + ROW
        address = escape(links.page(one.entity))
        text = f'<text x="{x:.1f}" y="{y + 4:.1f}">and {one.left_out:,} more</text>'
        yield f'<a class="more" href="{address}">{text}</a>'


def _box(one: Around, left: float, right: float, y: float, vocab: Vocab, links: Links) -> str:
    """The name of an entity, which leads to its page, or to what is said of a proposal."""
    kind = "end" if one.relation is None else "proposed" if one.why else "entity"
    told = f' data-why="{escape(one.why)}"' if one.why else ""
    place, title = ((left + right) / 2, y, right - left), one.why or printable(vocab.described(one.entity))
    address = escape(one.link or links.page(one.entity))
    return f'<a class="{kind}" href="{address}"{told}>{named_box(place, _name(one, vocab), title)}</a>'


def _fact(
    parent: int, start: tuple[float, float], below: _Placed, end: tuple[float, float], vocab: Vocab
) -> str:
    """The line of a fact, its arrow at the end that is the tail, and the name of its relation."""
    relation, is_proposed = below.one.relation, bool(below.one.why)
    assert relation is not None
    (x1, y1), (x2, y2) = start, end
    turn, is_back = x1 + BEND, relation >= vocab.num_relations
    kind = "fact proposed" if is_proposed else "fact"
    words = printable(relation_words(relation, vocab))
    told = fact_sentence(entity_words(parent, vocab), relation, entity_words(below.one.entity, vocab), vocab)
    points_back, points_on = is_back or below.one.is_mutual, not is_back or below.one.is_mutual
    heads = f"M{turn + 6:.1f},{y2 - 4:.1f} l-6,4 l6,4 " if points_back else ""
    heads += f"M{x2 - 6:.1f},{y2 - 4:.1f} l6,4 l-6,4" if points_on else ""
    bend = f"M{x1:.1f},{y1:.1f} C{turn:.1f},{y1:.1f} {x1:.1f},{y2:.1f} {turn:.1f},{y2:.1f}"
    return (
        f'<path class="{kind}" d="{bend} H{x2:.1f}"/><path class="fact" d="{heads}"/>'
        f'<text class="step" x="{(turn + x2) / 2:.1f}" y="{y2 + 4:.1f}" text-anchor="middle">'
        f"<title>{escape(printable(told))}</title>{escape(shortened(words, STEP))}</text>"
    )


def _sign(one: Around, x: float, y: float, vocab: Vocab, links: Links) -> str:
    """What opens and closes the facts of an entity."""
    does = "Hide" if one.is_open else "Show"
    label = escape(f"{does} the facts about {printable(entity_words(one.entity, vocab))}")
    upright = "" if one.is_open else f" M{x:.1f},{y - 4:.1f} v8"
    return (
        f'<a class="sign" href="{escape(links.turn(one.entity))}" data-turn="{one.entity}" '
        f'aria-label="{label}"><title>{label}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{SIGN - 1}"/>'
        f'<path d="M{x - 4:.1f},{y:.1f} h8{upright}"/></a>'
    )


def _width(one: Around, vocab: Vocab) -> float:
    return cell_len(_name(one, vocab)) * LETTER + 20


def _name(one: Around, vocab: Vocab) -> str:
    return shortened(printable(entity_words(one.entity, vocab)), NAME)


def _label_width(one: Around, vocab: Vocab) -> float:
    if one.relation is None:
        return 0.0
    return cell_len(shortened(printable(relation_words(one.relation, vocab)), STEP)) * STEP_LETTER
