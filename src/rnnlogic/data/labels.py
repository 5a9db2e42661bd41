"""Labels: what people see instead of names, from `name<TAB>label` files or a mapping."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.data.places import Place, shown, suffix_of
from rnnlogic.data.raw import RawFacts, Tally, shortened
from rnnlogic.data.readers import read_rows
from rnnlogic.data.vocab import Vocab

Labels = Mapping[str, str] | str | os.PathLike[str]
EXPECTED = "name<TAB>label"
HEADERS = {(name, "label") for name in ("name", "id", "entity", "relation")}
EXAMPLES = 3


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
    if note := _unknown(texts, raw.entities, raw.relations):
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
    note = _unknown(texts, entities, relations)
    return Relabelled(new, len(of_entities), len(of_relations), note)


def _unknown(texts: Mapping[str, str], *known: Container[str]) -> str | None:
    """A remark on labels for names that are not known, if there are any."""
    unknown = [name for name in texts if not any(name in names for names in known)]
    if not unknown:
        return None
    some = ", ".join(map(shortened, unknown[:EXAMPLES])) + (", ..." if len(unknown) > EXAMPLES else "")
    return f"{len(unknown):,} of {len(texts):,} labels are for names that the graph lacks: {some}"


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
