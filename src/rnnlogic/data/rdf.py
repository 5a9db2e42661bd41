"""Reading RDF files (N-Triples, Turtle, RDF/XML) through pyoxigraph, the optional extra `rdf`.

Names are full IRIs; blank nodes are entities too. Facts with a literal object are skipped and counted, except
`rdfs:label`, which gives display names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rnnlogic.base.errors import DataError
from rnnlogic.data.readers import Block, RawFacts, checked_blocks, open_bytes, suffix_of

RDF_SUFFIXES = (".nt", ".ttl", ".rdf", ".xml", ".owl")
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_RANDOM_ID = re.compile(r"[0-9a-f]{20,32}")  # what the parser gives nodes that have no label in the file


def read_rdf(path: Path, raw: RawFacts) -> Iterator[Block]:
    """All facts between resources; labels and the number of skipped literals go to `raw`."""
    labels: dict[str, tuple[bool, str]] = {}
    rows = enumerate(_rows(path, raw, labels), 1)
    yield from checked_blocks(rows, raw.tally, lambda problem, _: DataError(problem, path))
    texts = {name: text for name, (_, text) in labels.items()}
    raw.entity_labels = texts | raw.entity_labels
    raw.relation_labels = texts | raw.relation_labels


def _rows(path: Path, raw: RawFacts, labels: dict[str, tuple[bool, str]]) -> Iterator[list[str]]:
    pyoxigraph = _import_pyoxigraph(path)
    name_of = _Namer(raw)
    for triple in _statements(pyoxigraph, path):
        subject, predicate, value = triple.subject, triple.predicate, triple.object
        if isinstance(value, pyoxigraph.NamedNode | pyoxigraph.BlankNode):
            yield [name_of(subject), predicate.value, name_of(value)]
        elif predicate.value == LABEL and isinstance(value, pyoxigraph.Literal):
            _keep_label(labels, name_of(subject), value)
        else:
            raw.tally.literals += 1


def _keep_label(labels: dict[str, tuple[bool, str]], name: str, literal: Any) -> None:
    """The first label wins, but English or no language goes before others."""
    foreign = not (literal.language or "en").startswith("en")
    if name not in labels or (labels[name][0] and not foreign):
        labels[name] = (foreign, " ".join(literal.value.split()))


class _Namer:
    """Names of resources; nodes without a label in the file are numbered, so that names repeat every time."""

    def __init__(self, raw: RawFacts) -> None:
        self.taken, self.anonymous = raw.entities, dict[str, str]()
        self.next = 1

    def __call__(self, node: Any) -> str:
        if not str(node).startswith("_:"):
            return str(node.value)
        if not _RANDOM_ID.fullmatch(node.value):
            return f"_:{node.value}"
        if node.value not in self.anonymous:
            while (name := f"_:node-{self.next}") in self.taken:
                self.next += 1
            self.anonymous[node.value] = name
            self.next += 1
        return self.anonymous[node.value]


def _import_pyoxigraph(path: Path) -> Any:
    try:
        import pyoxigraph
    except ImportError:
        raise DataError('RDF files need an extra: pip install "rnnlogic[rdf]"', path) from None
    return pyoxigraph


def _statements(pyoxigraph: Any, path: Path) -> Iterator[Any]:
    formats = pyoxigraph.RdfFormat
    kind = {".nt": formats.N_TRIPLES, ".ttl": formats.TURTLE}.get(suffix_of(path), formats.RDF_XML)
    try:
        with open_bytes(path) as file:
            yield from pyoxigraph.parse(file, format=kind, base_iri=f"file:///{quote(path.name)}")
    except SyntaxError as problem:
        raise DataError(f"not valid RDF: {problem.msg}", path, problem.lineno) from None
    except (OSError, EOFError) as problem:
        raise DataError(f"cannot be read ({problem})", path) from None
