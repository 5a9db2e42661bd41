"""Which column is the head, the relation and the tail: by the words people use, or as the user says.

A header counts as known when it has both words of a pair (`subject` and `object`, `source` and `target`, ...)
and a word for the relation. Upper and lower case, `_`, `-`, blanks, `CamelCase` and Neo4j's colons do not
matter; an ending such as `_id` or `_name` is looked through if nothing matches without it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.base.text import whole_number
from rnnlogic.data.options import ROLES, ReadOptions
from rnnlogic.data.raw import (
    Extra,
    Tally,
    shortened,
)

# Words for head and tail. The words of a pair belong together, so `object, type, source` is not a header.
PAIRS = (
    ("head", "tail"),  # PyKEEN, papers
    ("subject", "object"),  # RDF
    ("subj", "obj"),
    ("source", "target"),  # networkx, Gephi, Cytoscape
    ("src", "dst"),
    ("src", "dest"),
    ("sub", "obj"),
    ("start", "end"),  # Neo4j: :START_ID and :END_ID, _start and _end
    ("from", "to"),
    ("from_node", "to_node"),
    ("start_node", "end_node"),
    ("head_entity", "tail_entity"),
    ("entity1", "entity2"),
    ("entity_1", "entity_2"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("arg1", "arg2"),
    ("e1", "e2"),
    ("x", "y"),
    ("source_node_uuid", "target_node_uuid"),  # Graphiti
    ("source_node_id", "target_node_id"),  # Cognee
    ("src_id", "tgt_id"),  # LightRAG
)
RELATION_WORDS = (
    "relation",
    "predicate",
    "relationship",
    "rel",
    "pred",
    "relation_type",
    "relationship_type",
    "rel_type",
    "edge_type",
    "link_type",
    "edge",
    "link",
    "property",
    "verb",
    "interaction",
    "metaedge",
    "type",
    "kind",
    "label",
    "key",
)
# Words that say head or tail even beside a word of another pair; x and y may mean anything
HEAD_WORDS = {head for head, _ in PAIRS} - {"x"}
TAIL_WORDS = {tail for _, tail in PAIRS} - {"y"}
# What names the relation only beside these pairs: Graphiti's and LightRAG's
OWN_RELATION = {("source_node_uuid", "target_node_uuid"): "name", ("src_id", "tgt_id"): "keywords"}
# Columns that often hold a weight or a source; a note says how to use them
WEIGHT_WORDS = ("weight", "score", "confidence", "probability", "prob", "conf", "combined_score")
SOURCE_WORDS = (
    "source",
    "sources",
    "provenance",
    "provided_by",
    "primary_knowledge_source",
    "knowledge_source",
    "publications",
    "reference",
    "references",
    "source_id",
    "file_path",
    "text_unit_ids",
    "episodes",
)
LETTERS = (("h", "r", "t"), ("s", "p", "o"))  # one-letter headers count only as a whole
# Words that say "relation" even if the other two columns have names of their own: `drug,relation,disease`.
TELLING = tuple(
    word for word in RELATION_WORDS if "relation" in word or word.endswith("_type") or word == "predicate"
)
ENDINGS = ("_id", "_name", "_label", "_iri", "_uri", "_entity", "_node", "_type")
EXAMPLE = "--columns HEAD,RELATION,TAIL (columns= in Python)"
_NEO4J = re.compile(r"[^:]*:(START_ID|END_ID|TYPE)(?:\(.*\))?", re.IGNORECASE)
_TYPE_OF = re.compile(r"(?:type|label)\(\w*\)", re.IGNORECASE)  # as in `RETURN a.name, type(r), b.name`


class Layout(NamedTuple):
    """Where a row holds head, relation and tail."""

    places: tuple[int, int, int]
    width: int
    has_header: bool
    extras: tuple[Extra, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether rows are just head, relation, tail."""
        return self.places == (0, 1, 2) and self.width == 3

    @property
    def used(self) -> tuple[int, ...]:
        """The columns that are read: head, relation, tail and those beside them."""
        return (*self.places, *(extra.column for extra in self.extras))


class Columns(NamedTuple):
    """The places of head, relation and tail under a header, and whether each was known by its own word."""

    places: tuple[int, int, int]
    certain: bool


def known_columns(header: Sequence[str]) -> Columns | None:
    """The columns of a header whose words we know; `certain` is false if one of three had to be guessed."""
    words = [_word(name) for name in header]
    for letters in LETTERS:
        if all(words.count(letter) == 1 for letter in letters):
            return Columns(_indices(words, letters), True)
    for variant in (words, [_without_ending(word) for word in words]):
        for head, tail in PAIRS:
            if variant.count(head) == 1 and variant.count(tail) == 1:
                relation = _relation_among(words, variant, {variant.index(head), variant.index(tail)})
                if relation is None and (own := OWN_RELATION.get((head, tail))) in words:
                    relation = words.index(str(own))
                if relation is not None:
                    return Columns((variant.index(head), relation, variant.index(tail)), True)
    if mixed := _mixed(words):
        return mixed
    return _guessed(header, words) if len(header) == 3 else None


def layout_of(
    row: Sequence[str], options: ReadOptions, tally: Tally, *, may_have_header: bool, separated: str = ""
) -> Layout:
    """Where the first row of a table says that its columns lie; `tally` takes the notes."""
    known = known_columns(row)
    extras = extras_of(row, options)
    by_name = any(not _is_number(extra) for extra in extras)  # then this row is a header
    if options.columns is not None:
        is_header = by_name or (known is not None and known.certain and may_have_header)
        return _chosen(row, options.columns, tally, is_header, extras)
    if known is not None and (may_have_header or by_name):
        tally.read_by("named")
        if not known.certain:
            tally.doubt(f"we do not know all words of the header {listed(row)}")
        note_columns(row, known.places, tally, extras)
        return Layout(known.places, len(row), True, extras)
    rest = [i for i in range(len(row)) if i not in {extra.column for extra in extras}]
    if len(rest) != 3:
        raise DataError(_wrong_width(row, separated))
    tally.read_by("assumed")
    if known is not None and known.certain:
        tally.doubt(f"the first line, {listed(row)}, looks like a header but was read as a fact")
    return Layout((rest[0], rest[1], rest[2]), len(row), by_name, extras)


def extras_of(header: Sequence[str], options: ReadOptions) -> tuple[Extra, ...]:
    """The columns of weights and sources that the user named."""
    chosen: list[Extra] = []
    if options.weight is not None:
        chosen.append(_weight_column(header, options.weight))
    if options.source is not None:
        chosen.append(Extra("source", chosen_place(header, options.source), options.source))
    return tuple(chosen)


def _weight_column(header: Sequence[str], column: str) -> Extra:
    """A column, or a column and what its numbers are divided by: `score/1000`."""
    name, slash, number = column.rpartition("/")
    try:
        return Extra("weight", chosen_place(header, column), column)
    except DataError:
        if not slash or not name:
            raise
    try:
        divisor = float(number)
    except ValueError:
        divisor = 0.0
    if not (math.isfinite(divisor) and divisor > 0):
        raise DataError(f"weight {column!r}: {number[:40]!r} is not a number above 0 to divide by")
    return Extra("weight", chosen_place(header, name), name, divisor)


def _is_number(extra: Extra) -> bool:
    return extra.name.isdecimal()


def note_columns(
    header: Sequence[str], places: Sequence[int], tally: Tally, extras: Sequence[Extra] = ()
) -> None:
    """Note how the columns were read, and which were ignored, unless they are just head, relation, tail."""
    tally.headers.append(tuple(header[i].strip() for i in places))
    if tuple(places) == (0, 1, 2) and len(header) == 3:
        return
    used = [f"{role} = {listed([header[i]])}" for role, i in zip(ROLES, places, strict=True)]
    used += [f"{extra.kind} = {listed([header[extra.column]])}" for extra in extras]
    taken = {*places, *(extra.column for extra in extras)}
    ignored = [name for i, name in enumerate(header) if i not in taken]
    tally.note(f"columns: {', '.join(used)}" + (f"; ignored: {listed(ignored)}" if ignored else ""))
    note_unused(ignored, {extra.kind for extra in extras}, tally)


def note_unused(names: Sequence[str], used: Collection[str], tally: Tally) -> None:
    """Say how a column that may hold weights or sources can be used."""
    kinds: tuple[tuple[Literal["weight", "source"], Sequence[str]], ...] = (
        ("weight", WEIGHT_WORDS),
        ("source", SOURCE_WORDS),
    )
    for kind, words in kinds:
        found = next((name.strip() for word in words for name in names if _word(name) == word), None)
        if found is not None and kind not in used:
            each = "each fact its weight" if kind == "weight" else "each fact its sources"
            tally.note(f"--{kind} {shortened(found)} ({kind}= in Python) gives {each}; it is not used")


def listed(names: Sequence[str]) -> str:
    """Column names for a message."""
    return ", ".join(repr(shortened(name.strip())) for name in names)


def chosen_places(header: Sequence[str], columns: Sequence[str]) -> tuple[int, int, int]:
    """The places of columns that the user gave by name or number (from 1); what is not there is an error."""
    places = [chosen_place(header, column) for column in columns]
    if len(set(places)) != 3:
        raise DataError(f"columns {','.join(columns)!r}: head, relation and tail need different columns")
    return places[0], places[1], places[2]


def _chosen(
    row: Sequence[str], columns: tuple[str, ...], tally: Tally, is_header: bool, extras: tuple[Extra, ...]
) -> Layout:
    places = chosen_places(row, columns)
    is_header = is_header or not all(column.isdecimal() for column in columns)
    tally.read_by("given" if is_header else "numbered")
    layout = Layout(places, len(row), is_header, extras)
    if is_header:
        note_columns(row, places, tally, extras)
    elif len(row) > len(layout.used):
        ignored = [str(i + 1) for i in range(len(row)) if i not in layout.used]
        tally.note(f"column{'s' * (len(ignored) > 1)} {', '.join(ignored)} ignored")
    return layout


def chosen_place(header: Sequence[str], column: str) -> int:
    """The place of a column that the user gave by name or number (from 1)."""
    if column.isdecimal():
        number = whole_number(column)
        if number is not None and 1 <= number <= len(header):
            return number - 1
    elif header.count(column) == 1:
        return header.index(column)
    elif (words := [_word(name) for name in header]).count(_word(column)) == 1:
        return words.index(_word(column))
    raise DataError(
        f"no column {column[:50]!r} among {listed(header)}; "
        f"give one of these names, or a number from 1 to {len(header)}"
    )


def _wrong_width(row: Sequence[str], separated: str) -> str:
    problem = f"expected 3 {separated}columns (head, relation, tail), found {len(row)}"
    if len(row) == 2:
        problem += ": the relation is missing"
    if len(row) < 3:
        return f"{problem}; if another character separates the columns, give it with --sep (sep= in Python)"
    return f"{problem}: {listed(row)}. Choose three by name or number: {EXAMPLE}"


def _word(name: str) -> str:
    """A header's word in one spelling: lower case, parts joined by `_`, without marks of Neo4j and SPARQL."""
    name = name.strip().strip("\"'")
    if neo4j := _NEO4J.fullmatch(name):
        return neo4j[1].lower().removesuffix("_id")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[\s\-._]+", "_", name.lower()).strip("_:?~ ")


def _without_ending(word: str) -> str:
    return next((word.removesuffix(ending) for ending in ENDINGS if word.endswith(ending)), word)


def _indices(words: list[str], wanted: Sequence[str]) -> tuple[int, int, int]:
    head, relation, tail = (words.index(word) for word in wanted)
    return head, relation, tail


def _relation_among(words: list[str], variant: list[str], taken: set[int]) -> int | None:
    """The relation's column: the most telling word, but Gephi's `type` is only Directed or Undirected."""
    order = list(RELATION_WORDS)
    if {"type", "label", "weight"} <= set(words) or {"type", "label", "id"} <= set(words):
        order.remove("type")
    for names in (words, variant):
        for word in order:
            if word in names and names.index(word) not in taken:
                return names.index(word)
    return None


def _mixed(words: list[str]) -> Columns | None:
    """A head and a tail of different pairs (`subject`, `target`) beside a word that says relation."""
    for variant in (words, [_without_ending(word) for word in words]):
        heads = [i for i, word in enumerate(variant) if word in HEAD_WORDS]
        tails = [i for i, word in enumerate(variant) if word in TAIL_WORDS]
        relations = [i for i, word in enumerate(words) if word in TELLING]
        if len(heads) == len(tails) == len(relations) == 1 and relations[0] not in (heads[0], tails[0]):
            # `source` alone may also say where a fact comes from
            return Columns((heads[0], relations[0], tails[0]), words[heads[0]] != "source")
    return None


def _guessed(header: Sequence[str], words: list[str]) -> Columns | None:
    """Three columns of which either the relation or the pair of head and tail has a telling name."""
    telling = [i for i, word in enumerate(words) if word in TELLING or _TYPE_OF.fullmatch(header[i].strip())]
    if len(telling) == 1:
        head, tail = (i for i in range(3) if i != telling[0])
        return Columns((head, telling[0], tail), False)
    for head_word, tail_word in PAIRS[:4]:
        if head_word in words and tail_word in words:
            ends = words.index(head_word), words.index(tail_word)
            return Columns((ends[0], 3 - sum(ends), ends[1]), False)
    return None


def table_layout(
    header: Sequence[str], options: ReadOptions, tally: Tally, kind: str, *, named: bool = True
) -> Layout:
    """Where a table with column names holds its columns; not `named`: its names mean nothing."""
    extras = extras_of(header, options)
    known = known_columns(header) if named and options.columns is None else None
    if options.columns is not None:
        tally.read_by("given")
        places = chosen_places(header, options.columns)
    elif known is not None:
        tally.read_by("named")
        if not known.certain:
            tally.doubt(f"we do not know all of the column names {listed(header)}")
        places = known.places
    else:
        tally.read_by("assumed")
        places = _rest(header, extras, kind)
    if options.columns is not None or known is not None or extras:
        note_columns(header, places, tally, extras)
    return Layout(places, len(header), True, extras)


def _rest(header: Sequence[str], extras: Sequence[Extra], kind: str) -> tuple[int, int, int]:
    """The only three columns beside those of weights and sources."""
    rest = [i for i in range(len(header)) if i not in {extra.column for extra in extras}]
    if len(rest) != 3:
        raise DataError(
            f"a {kind} needs three columns, or columns named head/relation/tail, subject/predicate/object, "
            f"source/type/target or the like; found {listed(header) or 'none'}. Choose three with columns="
        )
    return rest[0], rest[1], rest[2]
