"""Names, links and facts as the pages show them: facts as sentences, every name escaped."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup

from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.sentences import entity_words, fact_sentence, pieces, shortened, template_of
from rnnlogic.render.html import bdi
from rnnlogic.serve.runs import Served

LONG, SHORT = 300, 60  # letters of a name in a heading, and in a list
OPEN = "?"  # stands for the end of a fact that is asked for


class Ends(NamedTuple):
    """The words for the first and the second end of a fact, also of one with an inverse relation."""

    first: str
    second: str


def name(text: str, most: int = SHORT) -> Markup:
    """A name: escaped, in its own direction of writing, shortened with the whole as a tooltip."""
    if len(text) <= most:
        return Markup(bdi(text))
    return Markup('<span title="{}">{}</span>').format(text, Markup(bdi(shortened(text, most))))


def link(run: Served, view: str = "", **query: Any) -> str:
    """The address of a page."""
    given = {key: value for key, value in query.items() if value not in (None, "", [])}
    path = f"/runs/{quote(run.name, safe='')}" + (f"/{view}" if view else "")
    return path + (f"?{urlencode(given, doseq=True)}" if given else "")


def linked_fact(run: Served, head: str | None, relation: int, tail: str | None, most: int = SHORT) -> Markup:
    """A fact as a sentence whose entities are links; an end that is not given is asked for."""
    names, labels = (head, tail), run.vocab.entity_labels
    words = Ends(*(OPEN if one is None else labels.get(one, one) for one in names))
    shown = Markup("")
    for place, text in _said(relation, run.vocab, words):
        if place is None and not text.strip():
            shown += text
        elif place is None:
            shown += Markup('<span class="relation">{}</span>').format(name(text, LONG))
        elif names[place] is None:
            shown += Markup("<b>?</b>")
        else:
            address = link(run, "entity", name=names[place])
            shown += Markup('<a href="{}">{}</a>').format(address, name(text, most))
    return shown


def fact_words(relation: int, vocab: Vocab, first: str, second: str) -> str:
    """The same as plain text."""
    return "".join(text for _, text in _said(relation, vocab, Ends(first, second)))


def facts_heading(relation: int, vocab: Vocab, entity: str) -> str:
    """What stands above the other ends of an entity's facts: `depends on`, `is needed by`."""
    told = fact_words(relation, vocab, "\0", "\1")
    if told.startswith("\0 "):
        told = told[2:]
    told = told.removesuffix(" \1")
    return told.replace("\0", shortened(entity, SHORT)).replace("\1", "…")


def said_fact(run: Served, head: int, relation: int, tail: int) -> str:
    """A fact as a sentence, by ids."""
    return fact_sentence(entity_words(head, run.vocab), relation, entity_words(tail, run.vocab), run.vocab)


def _said(relation: int, vocab: Vocab, words: Ends) -> list[tuple[int | None, str]]:
    """Parts of the sentence, each with the end that it names: 0, 1, or None for words between them.

    The inverse of a relation is said by the second text of its template, which begins with its first end.
    """
    template, is_inverse = template_of(relation, vocab), relation >= vocab.num_relations
    text = template.turned if is_inverse and template.turned else template.text
    ends = words[::-1] if is_inverse else words
    places = {"X": int(is_inverse), "Y": int(not is_inverse)}
    return [(places.get(slot), part) for slot, part in pieces(text, *ends)]
