"""What people see instead of names: labels of entities and relations, and templates of relations.

Labels come from `name<TAB>label` files or a mapping, templates from files with lines of
`relation<TAB>X depends on Y<TAB>Y is needed by X`. X is the head and Y the tail in both texts; the second one
says the same of Y and may be left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.errors import MENTIONED, DataError
from rnnlogic.data.places import Place, shown, suffix_of
from rnnlogic.data.raw import RawFacts, Tally, shortened
from rnnlogic.data.readers import read_rows
from rnnlogic.data.vocab import Vocab

Labels = Mapping[str, str] | str | os.PathLike[str]
LABELS = "labels are for names"
EXPECTED = "name<TAB>label"
HEADERS = {(name, "label") for name in ("name", "id", "entity", "relation")}


class Relabelled(NamedTuple):
    """A vocabulary with other labels, and what was found."""

    vocab: Vocab
    entities: int  # that were labelled
    relations: int
    note: str | None  # on labels for names that the graph lacks


def add_labels(raw: RawFacts, labels: Labels) -> None:
    """Label entities and relations; labels given here go before those of the data."""
    texts = _texts(labels)
    raw.entity_labels |= {name: label for name, label in texts.items() if name in raw.entities}
    raw.relation_labels |= {name: label for name, label in texts.items() if name in raw.relations}
    if note := _unknown(texts, LABELS, raw.entities, raw.relations):
        raw.tally.note(note)


def relabelled(vocab: Vocab, labels: Labels | Vocab) -> Relabelled:
    """The same names with labels, which go before those that it has; another vocabulary is taken as it is."""
    if isinstance(labels, Vocab):
        return Relabelled(labels, len(labels.entity_labels), len(labels.relation_labels), None)
    texts, entities, relations = _texts(labels), set(vocab.entities), set(vocab.relations)
    of_entities = {name: label for name, label in texts.items() if name in entities}
    of_relations = {name: label for name, label in texts.items() if name in relations}
    new = replace(
        vocab,
        entity_labels={**vocab.entity_labels, **of_entities},
        relation_labels={**vocab.relation_labels, **of_relations},
    )
    note = _unknown(texts, LABELS, entities, relations)
    return Relabelled(new, len(of_entities), len(of_relations), note)


def _unknown(texts: Mapping[str, object], what: str, *known: Container[str]) -> str | None:
    """A remark on texts for names that are not known, if there are any."""
    unknown = [name for name in texts if not any(name in names for names in known)]
    if not unknown:
        return None
    some = ", ".join(map(shortened, unknown[:MENTIONED])) + (", ..." if len(unknown) > MENTIONED else "")
    return f"{len(unknown):,} of {len(texts):,} {what} that the graph lacks: {some}"


def read_labels(place: Place) -> dict[str, str]:
    """Labels of a file; a name with two different labels is an error."""
    labels: dict[str, str] = {}
    rows = read_pairs(place, EXPECTED, "," if suffix_of(place) == ".csv" else "\t")
    for number, (line, (name, label)) in enumerate(rows):
        if number == 0 and (name.lower(), label.lower()) in HEADERS:
            continue
        if labels.setdefault(name, label) != label:
            problem = f"{name!r} has two labels, {labels[name]!r} and {label!r}; keep one"
            raise DataError(problem, shown(place), line)
    return labels


def read_pairs(place: Place, expected: str, sep: str = "\t") -> Iterator[tuple[int, tuple[str, str]]]:
    """Lines of two fields, with their numbers."""
    for line, fields in read_rows(place, sep, Tally()):
        if len(fields) != 2 or not all(fields):
            raise DataError(f"expected {expected}, found {len(fields)} column(s)", shown(place), line)
        yield line, (fields[0], fields[1])


def _texts(labels: Labels) -> dict[str, str]:
    if isinstance(labels, Mapping):
        return {
            str(name): " ".join(str(label).split()) for name, label in labels.items() if str(label).strip()
        }
    path = Path(labels)
    if not path.is_file():
        raise DataError(f"no such file; labels are lines of {EXPECTED}", path)
    return read_labels(path)


Texts = str | Sequence[str]
Templates = Mapping[str, Texts] | str | os.PathLike[str]
EXPECTED_TEMPLATE = "relation<TAB>X depends on Y<TAB>Y is needed by X"
TEMPLATE_HEADER = "relation"
_SLOT = re.compile(r"\b[XY]\b")


class Templated(NamedTuple):
    """A vocabulary with templates, and what was found."""

    vocab: Vocab
    relations: int  # that have got one
    note: str | None  # on templates for relations that the graph lacks


def templated(vocab: Vocab, templates: Templates) -> Templated:
    """The same names with templates, which go before those that it has."""
    texts, known = dict(_template_texts(templates)), set(vocab.relations)
    chosen = {name: pair for name, pair in texts.items() if name in known}
    note = _unknown(texts, "templates are for relations", known)
    return Templated(replace(vocab, templates={**vocab.templates, **chosen}), len(chosen), note)


def _template_texts(templates: Templates) -> Iterator[tuple[str, tuple[str, str]]]:
    if isinstance(templates, Mapping):
        for name, texts in templates.items():
            yield name, _checked([texts] if isinstance(texts, str) else list(texts), str(name), None, None)
        return
    path = Path(templates)
    if not path.is_file():
        raise DataError(f"no such file; templates are lines of {EXPECTED_TEMPLATE}", path)
    seen: dict[str, int] = {}
    for line, fields in read_rows(path, "\t", Tally()):
        if fields[0].lower() == TEMPLATE_HEADER and not seen and not _SLOT.search("\t".join(fields[1:])):
            continue
        if fields[0] in seen:
            raise DataError(f"{fields[0]!r} has a template in line {seen[fields[0]]} already", path, line)
        seen[fields[0]] = line
        yield fields[0], _checked(fields[1:], fields[0], path, line)


def _checked(texts: list[str], name: str, path: Path | None, line: int | None) -> tuple[str, str]:
    """The two texts, each with one X and one Y."""
    said = [" ".join(text.split()) for text in texts]
    if not 1 <= len(said) <= 2 or not said[0]:
        raise DataError(f"expected {EXPECTED_TEMPLATE}, found {len(said)} text(s) for {name!r}", path, line)
    for text in filter(None, said):
        if sorted(_SLOT.findall(text)) != ["X", "Y"]:
            problem = f"a template has one X (the head) and one Y (the tail), {text!r} has not"
            raise DataError(f"{problem}; see {EXPECTED_TEMPLATE}", path, line)
    return said[0], said[1] if len(said) == 2 else ""
