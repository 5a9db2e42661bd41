"""Which column is the head, the relation and the tail: by the words people use, or as the user says.

A header counts as known when it has both words of a pair (`subject` and `object`, `source` and `target`, ...)
and a word for the relation. Upper and lower case, `_`, `-`, blanks, `CamelCase` and Neo4j's colons do not
matter; an ending such as `_id` or `_name` is looked through if nothing matches without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.base.numbers import whole_number
from rnnlogic.data.raw import Tally, shortened

ROLES = ("head", "relation", "tail")
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
LETTERS = (("h", "r", "t"), ("s", "p", "o"))  # one-letter headers count only as a whole
# Words that say "relation" even if the other two columns have names of their own: `drug,relation,disease`.
TELLING = tuple(
    word for word in RELATION_WORDS if "relation" in word or word.endswith("_type") or word == "predicate"
)
ENDINGS = ("_id", "_name", "_label", "_iri", "_uri", "_entity", "_node", "_type")
EXAMPLE = "--columns 1,2,3 (columns= in Python)"
_NEO4J = re.compile(r"[^:]*:(START_ID|END_ID|TYPE)(?:\(.*\))?", re.IGNORECASE)
_TYPE_OF = re.compile(r"(?:type|label)\(\w*\)", re.IGNORECASE)  # as in `RETURN a.name, type(r), b.name`


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about a table: its columns, their separator, the query to run."""

    columns: tuple[str, ...] | None = None  # head, relation, tail: names, or numbers from 1
    sep: str | None = None
    query: str | None = None


NO_OPTIONS = ReadOptions()


class Layout(NamedTuple):
    """Where a row holds head, relation and tail."""

    places: tuple[int, int, int]
    width: int
    has_header: bool

    @property
    def is_plain(self) -> bool:
        """Whether rows are just head, relation, tail."""
        return self.places == (0, 1, 2) and self.width == 3


class Columns(NamedTuple):
    """The places of head, relation and tail under a header, and whether each was known by its own word."""

    places: tuple[int, int, int]
    certain: bool


def parse_columns(
    columns: str | Sequence[str | int] | Mapping[str, str | int] | None,
) -> tuple[str, ...] | None:
    """Three columns given as `a,b,c`, as a sequence, or as `{"head": "a", "relation": "b", "tail": "c"}`."""
    if columns is None:
        return None
    if isinstance(columns, Mapping):
        columns = [columns.get(role, "") for role in ROLES]
    parts = columns.split(",") if isinstance(columns, str) else [str(part) for part in columns]
    names = tuple(part.strip() for part in parts)
    if len(names) != 3 or not all(names):
        given = columns if isinstance(columns, str) else ", ".join(map(str, columns))
        raise DataError(
            f"columns {given!r} must be three names or numbers, for head, relation and tail: "
            "head,relation,tail or 1,3,2"
        )
    if len(set(names)) != 3:
        raise DataError(f"columns {','.join(names)!r}: head, relation and tail need different columns")
    return names


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
                if relation is not None:
                    return Columns((variant.index(head), relation, variant.index(tail)), True)
    return _guessed(header, words) if len(header) == 3 else None


def layout_of(
    row: Sequence[str], options: ReadOptions, tally: Tally, *, may_have_header: bool, separated: str = ""
) -> Layout:
    """Where the first row of a table says that heads, relations and tails lie; `tally` takes the notes."""
    known = known_columns(row)
    if options.columns is not None:
        return _chosen(row, options.columns, tally, known is not None and known.certain and may_have_header)
    if known is not None and may_have_header:
        tally.read_by("named")
        if not known.certain:
            tally.doubt(f"we do not know all words of the header {listed(row)}")
        note_columns(row, known.places, tally)
        return Layout(known.places, len(row), True)
    if len(row) != 3:
        raise DataError(_wrong_width(row, separated))
    tally.read_by("assumed")
    if known is not None and known.certain:
        tally.doubt(f"the first line, {listed(row)}, looks like a header but was read as a fact")
    return Layout((0, 1, 2), 3, False)


def note_columns(header: Sequence[str], places: Sequence[int], tally: Tally) -> None:
    """Note how the columns were read, and which were ignored, unless they are just head, relation, tail."""
    tally.headers.append(tuple(header[i].strip() for i in places))
    if tuple(places) == (0, 1, 2) and len(header) == 3:
        return
    used = ", ".join(f"{role} = {listed([header[i]])}" for role, i in zip(ROLES, places, strict=True))
    ignored = [name for i, name in enumerate(header) if i not in places]
    tally.note(f"columns: {used}" + (f"; ignored: {listed(ignored)}" if ignored else ""))


def listed(names: Sequence[str]) -> str:
    """Column names for a message."""
    return ", ".join(repr(shortened(name.strip())) for name in names)


def chosen_places(header: Sequence[str], columns: Sequence[str]) -> tuple[int, int, int]:
    """The places of columns that the user gave by name or number (from 1); what is not there is an error."""
    places = [_chosen_place(header, column) for column in columns]
    if len(set(places)) != 3:
        raise DataError(f"columns {','.join(columns)!r}: head, relation and tail need different columns")
    return places[0], places[1], places[2]


def _chosen(row: Sequence[str], columns: tuple[str, ...], tally: Tally, known_header: bool) -> Layout:
    places = chosen_places(row, columns)
    by_name = not all(column.isdecimal() for column in columns)
    tally.read_by("given" if by_name or known_header else "numbered")
    if by_name or known_header:
        note_columns(row, places, tally)
    elif len(row) > 3:
        ignored = [str(i + 1) for i in range(len(row)) if i not in places]
        tally.note(f"column{'s' * (len(ignored) > 1)} {', '.join(ignored)} ignored")
    return Layout(places, len(row), by_name or known_header)


def _chosen_place(header: Sequence[str], column: str) -> int:
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
    return f"{problem}: {listed(row)}. Choose three by name or number, for example {EXAMPLE}"


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
