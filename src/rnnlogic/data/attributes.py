"""Attributes: numbers, dates and date-times of entities, which are no entities themselves.

A relation gives an attribute if the user says so, if RDF gives its literals a datatype, or if its tails are
plainly numbers or dates: nearly all of them can be read as such, no such tail is anything else in the graph,
heads are no numbers, nearly every head has one value, and there are more values than cuts. Fewer values are
categories, which rules with constants name one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import MENTIONED, DataError
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.raw import RawFacts, shortened

Kind = Literal["number", "date", "time"]  # a date is days, a time seconds since 1970
Values = NDArray[np.float64]  # [attributes, entities], nan where an entity has none
CATEGORIES = 20  # as many values as mining has cuts: each can be named by a rule of its own
NEARLY = 0.95  # of the tails of a relation: a few typing errors make no other kind of relation
EPOCH, EPOCH_TIME = date(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
LARGEST_WHOLE = 1e15  # up to here a float shows all digits of a whole number
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_IDENTIFIER = re.compile(r"[+-]?0\d.*")  # 00260881: nobody writes a number so


class Attribute(NamedTuple):
    """What an attribute is called, and what its values are."""

    name: str
    kind: Kind


class Value(NamedTuple):
    """A value that was read."""

    kind: Kind
    number: float


def read_value(text: str) -> Value | None:
    """A number, date or date-time; None if the text is none, or a date that does not exist."""
    if _NUMBER.fullmatch(text):
        number = float(text)
        return Value("number", number) if math.isfinite(number) else None
    try:
        if match := _DATE.fullmatch(text):
            return Value("date", float((date.fromisoformat(match[1]) - EPOCH).days))
        if _TIME.fullmatch(text):
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return Value("time", (moment - EPOCH_TIME).total_seconds())
    except ValueError:
        return None
    return None


def value_of(text: str, kind: Kind) -> float | None:
    """A text as a value of an attribute of this kind; a date is also the beginning of its day."""
    value = read_value(text)
    if value is None or value.kind == kind:
        return None if value is None else value.number
    return value.number * 86_400 if (value.kind, kind) == ("date", "time") else None


def value_text(number: float, kind: Kind) -> str:
    """A value as people write it, and `value_of` reads it."""
    if kind == "date" and number.is_integer():
        return (EPOCH + timedelta(days=number)).isoformat()
    if kind == "time" and (number * 1e6).is_integer():
        return (EPOCH_TIME + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
    return str(int(number)) if number.is_integer() and abs(number) < LARGEST_WHOLE else repr(number)


class Found(NamedTuple):
    """Attributes of the entities of raw facts, by their ids."""

    attributes: tuple[Attribute, ...]
    entity: NDArray[np.int32]  # [n]
    attribute: NDArray[np.int32]  # [n]
    number: NDArray[np.float64]  # [n]

    @property
    def names(self) -> frozenset[str]:
        """What the attributes are called."""
        return frozenset(one.name for one in self.attributes)

    def values(self, entity_ids: NDArray[np.int32], num_entities: int) -> Values:
        """The values by final ids; of several values the first."""
        table = np.full((len(self.attributes), num_entities), np.nan)
        entity = entity_ids[self.entity]
        kept = np.flatnonzero(entity >= 0)[::-1]  # the last assignment wins
        table[self.attribute[kept], entity[kept]] = self.number[kept]
        return table


def attributes_of(raw: RawFacts, options: ReadOptions, is_named: bool) -> Found | None:
    """Take the facts that give attributes out of `raw`; None if there are none, and `raw` stays as it is.

    A dataset that was asked for by name is read as it is known, unless the user names relations.
    """
    wanted = _wanted(raw, options, is_named)
    beside = _beside(raw) if options.numeric is None else {}
    if not wanted and not beside:
        return None
    names = list(raw.entities)
    ids = {raw.relations[relation]: kind for relation, kind in wanted.items()}
    attributes = tuple(Attribute(name, kind) for name, kind in sorted((wanted | beside).items()))
    place = {raw.relations[one.name]: i for i, one in enumerate(attributes) if one.name in wanted}
    rows = list[tuple[int, int, float]]()
    strange = dict[str, list[str]]()
    masks = {split: np.ones(len(facts), bool) for split, facts in raw.splits.items()}
    for split, facts in raw.splits.items():
        for number in np.flatnonzero(np.isin(facts[:, 1], list(ids))).tolist():
            head, relation, tail = facts[number].tolist()
            value, name = value_of(names[tail], ids[relation]), attributes[place[relation]].name
            if value is None and name in (options.numeric or ()):
                raise _no_value(raw, split, number, (names[head], name, names[tail]))
            if value is not None:
                rows.append((head, place[relation], value))
            elif name not in raw.typed:
                strange.setdefault(name, []).append(names[tail])
            masks[split][number] = value is None and name in raw.typed  # RDF says which tails are values
    raw.keep(masks)
    if not sum(map(len, raw.splits.values())):
        some = ", ".join(shortened(name) for name in sorted(wanted)[:MENTIONED])
        raise DataError(
            f"no facts are left: all tails are numbers or dates ({some}), which are conditions of rules and "
            "no answers; add facts between entities, or read these as entities: --numeric off",
            raw.source,
        )
    for i, one in enumerate(attributes):
        own = [row for row in raw.beside if row[1] == one.name] if one.name in beside else []
        told = ((raw.entities[row[0]], i, value_of(row[2], one.kind)) for row in own)
        rows += [(head, i, value) for head, i, value in told if value is not None]
    entities, ids_of, numbers = zip(*rows, strict=True)
    columns = np.array(entities, np.int32), np.array(ids_of, np.int32), np.array(numbers, np.float64)
    found = Found(attributes, *columns)
    for line in _notes(found, strange, is_told=bool(options.numeric)):
        raw.tally.note(line)
    return found


def _wanted(raw: RawFacts, options: ReadOptions, is_named: bool) -> dict[str, Kind]:
    """The relations that give attributes, with the kind of their values."""
    if options.numeric is None:
        alike = {name: _kind_of(raw, name, NEARLY) for name in options.attributes}
        alike |= {name: _kind_of(raw, name, 0.0) for name in sorted(raw.typed)}
        told = {name: kind for name, kind in alike.items() if kind is not None}
        return told if is_named else _plain(raw) | told
    found = dict[str, Kind]()
    for name in options.numeric:
        if name not in raw.relations:
            some = ", ".join(sorted(raw.relations)[:5])
            raise DataError(f"--numeric {name}: no relation has this name; there are {some}", raw.source)
        found[name] = _kind_of(raw, name, 0.0) or "number"
    return found


def _beside(raw: RawFacts) -> dict[str, Kind]:
    """The attributes of a file of them, with the kind of their values; what is no value is an error."""
    found = dict[str, Kind]()
    for entity, name, text in raw.beside:
        value = read_value(text)
        if value is None:
            raise DataError(f"attributes.tsv: {text!r}, {name} of {entity}, is no number or date", raw.source)
        if raw.entities.fixed and entity not in raw.entities:
            raise DataError(f"attributes.tsv: {entity!r} is not in entities.dict; add it there", raw.source)
        found[name] = "time" if found.get(name) == "time" and value.kind == "date" else value.kind
    return found


def _plain(raw: RawFacts) -> dict[str, Kind]:
    """Relations whose tails are plainly numbers or dates: see above."""
    looks = np.array([name[:1] in "0123456789+-." and name != "" for name in raw.entities], bool)
    if not looks.any():
        return {}
    facts = np.concatenate(list(raw.splits.values()))
    read = np.zeros(len(looks), bool)
    names = list(raw.entities)
    tails = np.unique(facts[:, 2])
    for tail in tails[looks[tails]].tolist():
        read[tail] = read_value(names[tail]) is not None and not _IDENTIFIER.fullmatch(names[tail])
    names_of = {place: name for name, place in raw.relations.items()}
    found = set[int]()
    for relation in np.unique(facts[read[facts[:, 2]], 1]).tolist():
        own = facts[facts[:, 1] == relation]
        values = np.unique(own[read[own[:, 2]]][:, 2])
        heads = np.unique(own[:, 0])
        is_one = len(np.unique(own, axis=0)) <= len(heads) / NEARLY
        is_numbers = read[own[:, 2]].mean() >= NEARLY and looks[heads].mean() <= 1 - NEARLY
        if is_one and is_numbers and len(values) > CATEGORIES:
            found.add(relation)
    while found:  # whose values are nothing else
        others = facts[~np.isin(facts[:, 1], list(found))]
        used = np.zeros(len(looks), bool)
        used[others[:, [0, 2]]] = used[facts[:, 0]] = True
        rows = facts[np.isin(facts[:, 1], list(found)) & read[facts[:, 2]]]
        shared = set(np.unique(rows[used[rows[:, 2]], 1]).tolist())
        if not shared:
            break
        found -= shared
    kinds = {names_of[relation]: _kind_of(raw, names_of[relation], NEARLY) for relation in found}
    return {name: kind for name, kind in sorted(kinds.items()) if kind is not None}


def _kind_of(raw: RawFacts, name: str, least: float) -> Kind | None:
    """The kind of most values of a relation; None if it is that of fewer than this share of the tails."""
    if name not in raw.relations:
        return None
    relation, counts = raw.relations[name], dict[Kind, int]()
    names, total = list(raw.entities), 0
    for facts in raw.splits.values():
        own = facts[facts[:, 1] == relation, 2]
        total += len(own)
        for tail, times in zip(*np.unique(own, return_counts=True), strict=True):
            value = read_value(names[tail])
            if value is not None:
                counts[value.kind] = counts.get(value.kind, 0) + int(times)
    if "time" in counts and "date" in counts:
        counts["time"] += counts.pop("date")
    best = max(counts, key=lambda kind: counts[kind], default=None)
    return best if best is not None and counts[best] >= max(least * total, 1) else None


def _no_value(raw: RawFacts, split: str, place: int, fact: Sequence[str]) -> DataError:
    head, relation, tail = (shortened(name) for name in fact)
    where = "" if len(raw.splits) == 1 else f" of {split}"
    return DataError(
        f"fact {place + 1:,}{where} ({head} {relation} {tail}): {tail!r} is no number, date or date-time "
        "that exists; correct it, delete the row, or leave out --numeric",
        raw.source,
    )


def _notes(found: Found, strange: Mapping[str, Sequence[str]], is_told: bool) -> Iterator[str]:
    """What was read as attributes, and what could not be."""
    words, told = {"number": "numbers", "date": "dates", "time": "date-times"}, list[str]()
    for i, one in enumerate(found.attributes):
        own, name = found.attribute == i, shortened(one.name)
        entities = len(np.unique(found.entity[own]))
        told.append(f"{name} ({words[one.kind]} of {entities:,} entities)")
        values = np.unique(np.stack([found.entity[own], found.number[own]]), axis=1).shape[1]
        if values > entities:
            yield f"{name}: {values - entities:,} more value(s) than entities; the first of each counts"
        if one.name in strange:
            some = ", ".join(repr(shortened(text)) for text in strange[one.name][:MENTIONED])
            yield f"{name}: {len(strange[one.name]):,} value(s) skipped that are no number or date: {some}"
    some = ", ".join(told[:MENTIONED]) + (
        f" and {len(told) - MENTIONED:,} more" if len(told) > MENTIONED else ""
    )
    remedy = "" if is_told else "; to read them as entities: --numeric off (numeric='off' in Python)"
    yield f"attributes, for conditions of rules: {some}{remedy}"
