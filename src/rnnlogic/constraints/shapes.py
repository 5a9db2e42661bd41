"""SHACL shapes and OWL axioms as stated constraints, from a file or from the facts of a graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.constraints.stated import Line
from rnnlogic.data.graph import Graph
from rnnlogic.data.rdf import import_pyoxigraph
from rnnlogic.data.types import RDF_TYPE
from rnnlogic.data.vocab import INVERSE, Vocab

OWL, SHACL = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/ns/shacl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
CLASSES = {  # of properties, and what they state; with ^-1 of the inverse
    OWL + "FunctionalProperty": ("functional", ""),
    OWL + "InverseFunctionalProperty": ("functional", INVERSE),
    OWL + "IrreflexiveProperty": ("irreflexive", ""),
    OWL + "AsymmetricProperty": ("asymmetric", ""),
}
AXIOMS = {
    OWL + "propertyDisjointWith": "exclusive",
    RDFS + "domain": "domain",
    RDFS + "range": "range",
}
PATH, INVERSE_PATH = SHACL + "path", SHACL + "inversePath"
# What a property shape says of its path. The target of a shape is not looked at: it holds for all facts.
OF_SHAPES = {SHACL + "maxCount": "functional", SHACL + "disjoint": "exclusive", SHACL + "class": "range"}
THINGS = {OWL + "Thing", RDFS + "Resource", RDFS + "Class", RDFS + "Literal"}  # classes that say nothing


class Statement(NamedTuple):
    """An RDF statement; blank nodes begin with `_:`."""

    subject: str
    predicate: str
    value: str


def read_shapes(path: Path) -> list[Line]:
    """What a file of shapes or an ontology states about relations."""
    pyoxigraph = import_pyoxigraph(path)
    formats = pyoxigraph.RdfFormat
    kind = {".nt": formats.N_TRIPLES, ".ttl": formats.TURTLE}.get(path.suffix.lower(), formats.RDF_XML)

    def text(node: object) -> str:
        return str(node) if isinstance(node, pyoxigraph.BlankNode) else str(getattr(node, "value", node))

    try:
        with path.open("rb") as file:
            found = [
                Statement(text(one.subject), one.predicate.value, text(one.object))
                for one in pyoxigraph.parse(file, format=kind, base_iri="file:///shapes")
            ]
    except SyntaxError as problem:
        raise DataError(f"not valid RDF: {problem.msg}", path, problem.lineno) from None
    except OSError as problem:
        raise DataError(f"cannot be read ({problem.strerror or problem})", path) from None
    lines = lines_of_statements(found, str(path))
    if not lines:
        raise DataError(
            "states no constraint; known are sh:maxCount, sh:disjoint, sh:class, functional, inverse"
            " functional, irreflexive, asymmetric and disjoint properties, rdfs:domain and rdfs:range",
            path,
        )
    return lines


def lines_of_graph(graph: Graph, vocab: Vocab) -> list[Line]:
    """What the facts of a graph state about its own relations, in OWL."""
    found, names = list[Statement](), frozenset(vocab.relations)
    for predicate in (RDF_TYPE, *AXIOMS):
        if predicate not in vocab.relations:
            continue
        relation = vocab.relations.index(predicate)
        heads, tails = graph.edges(relation)
        for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
            if vocab.entities[head] in names:
                found.append(Statement(vocab.entities[head], predicate, vocab.entities[tail]))
    return lines_of_statements(found, "the graph")


def lines_of_statements(statements: Iterable[Statement], place: str) -> list[Line]:
    """What RDF statements say about relations, in the order of their names."""
    about: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in statements:
        about[one.subject][one.predicate].append(one.value)
    found = list[Line]()
    for subject in sorted(about):
        said = about[subject]
        for value in said.get(RDF_TYPE, ()):
            if value in CLASSES:
                kind, suffix = CLASSES[value]
                found.append(Line(kind, (subject + suffix,), f"{place}: {subject}", True))
        for predicate, kind in AXIOMS.items():
            values = (value for value in said.get(predicate, ()) if value not in THINGS)
            found += [Line(kind, (subject, value), f"{place}: {subject}", True) for value in values]
        for path in said.get(PATH, ()):
            relation = _relation(path, about)
            if relation is not None:
                found += _of_shape(relation, said, f"{place}: {relation}")
    return found


def _of_shape(relation: str, said: dict[str, list[str]], place: str) -> Iterable[Line]:
    for predicate, kind in OF_SHAPES.items():
        for value in said.get(predicate, ()):
            yield Line(kind, (relation, value), place, True)


def _relation(path: str, about: dict[str, dict[str, list[str]]]) -> str | None:
    """The relation that a path means; None for paths of several steps."""
    if not path.startswith("_:"):
        return path
    inverse = about[path].get(INVERSE_PATH, []) if path in about else []
    return inverse[0] + INVERSE if len(inverse) == 1 and not inverse[0].startswith("_:") else None
