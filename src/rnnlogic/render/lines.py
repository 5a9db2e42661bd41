"""Sentences, paths and facts on few lines of a terminal: names get shorter until they fit."""

from __future__ import annotations

from collections.abc import Iterable

from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.names import entity_words, printable, shortened, wrapped
from rnnlogic.explain.sentences import fact_sentence

SENTENCE_LENGTHS = (40, 30, 24, 20, 16)  # names of a sentence get so short to fit


def fitted(text: str, width: int, first: str, most_lines: int) -> list[str]:
    """A sentence on few lines if shorter names make that possible."""
    return fewest(
        (
            wrapped(" ".join(shortened(word, length) for word in text.split()), width, first)
            for length in SENTENCE_LENGTHS
        ),
        most_lines,
    )


def fewest(tries: Iterable[list[str]], most_lines: int) -> list[str]:
    """The first with at most so many lines; if there is none, the first of those with fewest."""
    found: list[list[str]] = []
    for lines in tries:
        if len(lines) <= most_lines:
            return lines
        found.append(lines)
    return min(found, key=len)


def fact_line(head: int, relation: int, tail: int, vocab: Vocab, length: int | None) -> str:
    """A fact in words, in the direction of the graph, its names in at most so many columns."""
    ends = [printable(entity_words(entity, vocab)) for entity in (head, tail)]
    if length is not None:
        ends = [shortened(end, length) for end in ends]
    return printable(fact_sentence(ends[0], relation, ends[1], vocab) + vocab.told_of(head, relation, tail))
