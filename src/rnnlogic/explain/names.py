"""Names of a graph as text for people: safe on a terminal, short where space is short, never interpreted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from rnnlogic.base.text import JOINERS
from rnnlogic.base.text import printable as printable
from rnnlogic.data.vocab import INVERSE, Vocab

_LOCAL = re.compile(r"[a-zA-Z][\w+.-]*://.*[/#]([^/#]+)[/#]?")


def entity_words(entity: int, vocab: Vocab) -> str:
    """The label of an entity; of an IRI without a label, its last part."""
    return _local(vocab.entity_label(entity), vocab)


def typed_words(entity: int, vocab: Vocab, most: int | None = None) -> str:
    """The same with its type, where that is known: `aspirin (drug)`; each in at most so many columns."""
    kind = vocab.entity_type(entity)
    words = [printable(entity_words(entity, vocab)), "" if kind is None else printable(_local(kind, vocab))]
    name, kind = words if most is None else (shortened(word, most) for word in words)
    return f"{name} ({kind})" if kind else name


def relation_words(relation: int, vocab: Vocab) -> str:
    """The label of a relation, without the mark of an inverse; of an IRI without a label, its last part."""
    shown = vocab.relation_label(relation)
    return _local(shown.removesuffix(INVERSE if relation >= vocab.num_relations else ""), vocab)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_columns_of(c) for c in text)


def shortened(text: str, most: int) -> str:
    """The text in at most so many columns; what is left out of its middle is an ellipsis."""
    if columns(text) <= most:
        return text
    ahead, behind = _prefix(text, (most - 1) - (most - 1) // 2), _prefix(text[::-1], (most - 1) // 2)[::-1]
    return f"{ahead}…{behind}"


def wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Lines of at most `width` columns, the first after `first`, the others after `rest`."""
    lead = " " * columns(first) if rest is None else rest
    lines, line, empty = [], first, True
    for word in text.split():
        if not empty and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line, empty = lead, True
        fitting = shortened(word, max(width - columns(line) - (not empty), 8))
        line, empty = line + fitting if empty else f"{line} {fitting}", False
    return [*lines, line]


def numbered(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 rule`, `2 rules`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def walk_words(entities: Sequence[str], relations: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """A walk step by step: an arrow for each relation (name, whether it is walked backwards), an entity."""
    yield entities[0]
    for (name, is_inverse), entity in zip(relations, entities[1:], strict=True):
        yield f"<-{name}- {entity}" if is_inverse else f"-{name}-> {entity}"


def _local(name: str, vocab: Vocab) -> str:
    found = _LOCAL.fullmatch(name) if vocab.shows_labels else None
    return found[1] if found else name


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or character in JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _prefix(text: str, most: int) -> str:
    taken = 0
    for i, character in enumerate(text):
        taken += _columns_of(character)
        if taken > most:
            return text[:i]
    return text
