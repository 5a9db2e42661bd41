"""Reading RDF files (N-Triples, Turtle, RDF/XML) through pyoxigraph, the optional extra `rdf`.

Names are full IRIs, so that exports are exact; blank nodes are entities too. People see the `rdfs:label`, or
else the name with the file's own prefix (`kin:parent`). Literals that are numbers or dates by their datatype
give attributes (`attributes.py`); other facts with a literal object are skipped and counted.

From a SPARQL endpoint come all triples, or those that a query gives. We speak the SPARQL 1.1 protocol: a
CONSTRUCT query is answered in N-Triples, a SELECT query in JSON. Some endpoints cut long answers off without
a word. So after asking for all triples we ask how many there are, and refuse an answer that is too short.
"""

from __future__ import annotations

import io
import re
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from rnnlogic.base.errors import DataError
from rnnlogic.data.attributes import read_value
from rnnlogic.data.columns import table_layout
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.places import BEGINNING, Place, beyond, limit, open_bytes, shown, suffix_of
from rnnlogic.data.raw import UNSPLIT, Block, RawFacts, checked_blocks

RDF_SUFFIXES = (".nt", ".ttl", ".rdf", ".xml", ".owl")
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"
NUMERIC_TYPES = frozenset(
    XSD + name
    for name in [
        "integer",
        "decimal",
        "float",
        "double",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "negativeInteger",
        "nonPositiveInteger",
        "unsignedInt",
        "unsignedLong",
        "unsignedShort",
        "unsignedByte",
        "gYear",
        "date",
        "dateTime",
    ]
)
USUAL_PREFIXES = {"rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#"}  # Turtle writes `a` for rdf:type
_RANDOM_ID = re.compile(r"[0-9a-f]{20,32}")  # what the parser gives nodes that have no label in the file
_LOCAL = re.compile(r"\w(?:[\w.-]*[\w-])?")  # local names that Turtle writes without escapes
_XML_PREFIX = re.compile(rb"""xmlns:([\w.-]+)\s*=\s*["']([^"'&<>\s]+)["']""")
ENTITY = b"<!ENTITY"
_PLAIN_ENTITY = re.compile(rb"""<!ENTITY\s+[\w.:-]+\s+("|')([^"'&%<>]*)\1\s*>""")
_NAMESPACE = re.compile(r".*[/#:]", re.DOTALL)


def read_rdf(place: Place, raw: RawFacts) -> Iterator[Block]:
    """All facts between resources; labels and the number of skipped literals go to `raw`."""
    pyoxigraph = import_pyoxigraph(shown(place))
    statements = Statements(raw)
    rows = enumerate(statements.rows(pyoxigraph, _parsed(pyoxigraph, place, raw)), 1)
    yield from checked_blocks(rows, raw.tally, lambda problem, _: DataError(problem, shown(place)))
    statements.finish()


class Statements:
    """Facts and labels out of RDF statements; nodes without a name are numbered, alike at every reading."""

    def __init__(self, raw: RawFacts) -> None:
        self.raw, self.seen = raw, 0
        self.labels: dict[str, tuple[bool, str]] = {}  # name -> (in a foreign language, label)
        self.anonymous: dict[str, str] = {}
        self.next = 1

    def rows(self, pyoxigraph: Any, statements: Iterable[Any]) -> Iterator[list[str]]:
        """The facts between resources."""
        for statement in statements:
            self.seen += 1
            subject, predicate, value = statement.subject, statement.predicate, statement.object
            if isinstance(value, pyoxigraph.NamedNode | pyoxigraph.BlankNode):
                yield [self.name_of(subject), predicate.value, self.name_of(value)]
            elif predicate.value == LABEL and isinstance(value, pyoxigraph.Literal):
                self._keep_label(self.name_of(subject), value)
            elif self.is_value(value):
                self.raw.typed.add(predicate.value)
                yield [self.name_of(subject), predicate.value, value.value]
            else:
                self.raw.tally.literals += 1

    def is_value(self, literal: Any) -> bool:
        """Whether a literal is a number, a date or a date-time, by its datatype; a bad one is noted."""
        if getattr(literal, "datatype", None) is None or literal.datatype.value not in NUMERIC_TYPES:
            return False
        if read_value(literal.value) is not None:
            return True
        self.raw.tally.note(f"{literal} is skipped: no such value exists; correct it where it stands")
        return False

    def name_of(self, node: Any) -> str:
        """The IRI, or the label of a blank node."""
        if not str(node).startswith("_:"):
            return str(node.value)
        if not _RANDOM_ID.fullmatch(node.value):
            return f"_:{node.value}"
        if node.value not in self.anonymous:
            while (name := f"_:node-{self.next}") in self.raw.entities:
                self.next += 1
            self.anonymous[node.value] = name
            self.next += 1
        return self.anonymous[node.value]

    def finish(self) -> None:
        """Hand the labels over, once all statements have been read."""
        texts = {name: text for name, (_, text) in self.labels.items()}
        self.raw.entity_labels = texts | self.raw.entity_labels
        self.raw.relation_labels = texts | self.raw.relation_labels

    def _keep_label(self, name: str, literal: Any) -> None:
        """The first label wins, but English or no language goes before others."""
        foreign = not (literal.language or "en").startswith("en")
        if name not in self.labels or (self.labels[name][0] and not foreign):
            self.labels[name] = (foreign, " ".join(literal.value.split()))


def prefixed(names: Iterable[str], prefixes: Mapping[str, str]) -> dict[str, str]:
    """Names as Turtle would write them (`kin:parent`), where a prefix fits."""
    if not prefixes:
        return {}
    by_namespace = {namespace: prefix for prefix, namespace in sorted(prefixes.items(), reverse=True)}
    # Most namespaces end at the last / # or : of a name: one lookup finds them. Others are tried in turn.
    odd = sorted((space for space in by_namespace if not _NAMESPACE.fullmatch(space)), key=len, reverse=True)
    short = {}
    for name in names:
        match = _NAMESPACE.match(name)
        spaces = [match[0]] if match else []
        for space in [*spaces, *(space for space in odd if name.startswith(space))]:
            if space in by_namespace and _LOCAL.fullmatch(name, len(space)):
                short[name] = f"{by_namespace[space]}:{name[len(space) :]}"
                break
    return short


def import_pyoxigraph(place: Any) -> Any:
    """The library, or an error that says how to get it."""
    try:
        import pyoxigraph
    except ImportError:
        raise DataError("RDF needs an extra: pip install '.[rdf]' in the clone", place) from None
    return pyoxigraph


def _parsed(pyoxigraph: Any, place: Place, raw: RawFacts) -> Iterator[Any]:
    """All statements of a file. Its prefixes are known at the end; those of earlier files win."""
    formats = pyoxigraph.RdfFormat
    kind = {".nt": formats.N_TRIPLES, ".ttl": formats.TURTLE}.get(suffix_of(place), formats.RDF_XML)
    try:
        if kind == formats.RDF_XML:
            _refuse_bombs(place)
        with open_bytes(place) as file:
            parser = pyoxigraph.parse(file, format=kind, base_iri=f"file:///{quote(place.name)}")
            yield from parser
        prefixes = _xml_prefixes(place) if kind == formats.RDF_XML else parser.prefixes
        raw.prefixes = USUAL_PREFIXES | prefixes | raw.prefixes
    except SyntaxError as problem:
        raise DataError(f"not valid RDF: {problem.msg}", shown(place), problem.lineno) from None
    except (OSError, EOFError, zipfile.BadZipFile) as problem:
        raise DataError(f"cannot be read ({problem})", shown(place)) from None


def _refuse_bombs(place: Place) -> None:
    """Refuse entities that name others or are long: a few of them could fill the memory."""
    with open_bytes(place) as file:
        beginning = file.read(BEGINNING)
        declared, piece = beginning.count(ENTITY), beginning
        while more := file.read(1 << 20):
            declared += (piece[1 - len(ENTITY) :] + more).count(ENTITY)
            piece = more
    values = [match[1] for match in _PLAIN_ENTITY.findall(beginning)]
    if len(values) < declared:
        problem = "an entity that stands for more than plain text is not read; write it out where it is used"
        raise DataError(problem, shown(place))
    if max(map(len, values), default=0) > limit("entity_bytes"):
        raise beyond("entity_bytes", shown(place))


def _xml_prefixes(place: Place) -> dict[str, str]:
    """The namespaces that an RDF/XML file declares at its beginning; the parser does not tell them."""
    with open_bytes(place) as file:
        found = _XML_PREFIX.findall(file.read(BEGINNING))
    return {prefix.decode(): space.decode(errors="replace") for prefix, space in reversed(found)}


SCHEMES = ("http://", "https://")
EVERYTHING = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
COUNT = "SELECT (COUNT(*) AS ?n) WHERE { SELECT DISTINCT ?s ?p ?o WHERE { ?s ?p ?o } }"
ACCEPT = "application/n-triples, application/sparql-results+json;q=0.9"
TIMEOUT = 300  # seconds without a byte


def is_endpoint(text: str) -> bool:
    """Whether a text is the address of an endpoint."""
    return text.lower().startswith(SCHEMES)


def read_endpoint(address: str, options: ReadOptions) -> RawFacts:
    """Facts of an endpoint; labels come along as from an RDF file."""
    raw = RawFacts(f"SPARQL endpoint {address}" + (", by query" if options.query else ""))
    pyoxigraph = import_pyoxigraph(address)
    kind, data = _ask(address, options.query or EVERYTHING)
    if kind == "application/sparql-results+json":
        rows: Iterable[list[str]] = _selected(pyoxigraph, address, data, raw, options)
        statements = None
    elif kind == "application/n-triples":
        if options.columns is not None:
            raise DataError("columns can be chosen in the answer of a SELECT query only", address)
        statements = Statements(raw)
        parsed = pyoxigraph.parse(io.BytesIO(data), format=pyoxigraph.RdfFormat.N_TRIPLES)
        rows = statements.rows(pyoxigraph, _valid(parsed, address))
    else:
        raise DataError(
            f"not a SPARQL endpoint: it answers with {kind or 'no content type'} instead of N-Triples or "
            "SPARQL results. To read a file, download it first",
            address,
        )
    raw.add(
        UNSPLIT, checked_blocks(enumerate(rows), raw.tally, lambda problem, _: DataError(problem, address))
    )
    if statements is not None:
        statements.finish()
        if not options.query:
            _check_complete(pyoxigraph, address, statements.seen)
    return raw


def _ask(address: str, query: str) -> tuple[str, bytes]:
    """The content type and body of the answer."""
    body = urllib.parse.urlencode({"query": query}).encode()
    try:
        request = urllib.request.Request(address, body, {"Accept": ACCEPT, "User-Agent": "rnnlogic"})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as problem:
        said = problem.read(500).decode(errors="replace").strip().partition("\n")[0]
        raise DataError(
            f"the endpoint refused the query ({problem.code}: {said or problem.reason})", address
        ) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "reason", problem)
        raise DataError(f"the endpoint cannot be reached ({reason})", address) from None


def _valid(statements: Iterator[Any], address: str) -> Iterator[Any]:
    try:
        yield from statements
    except SyntaxError as problem:
        raise DataError(f"the answer is not valid ({problem.msg})", address) from None


def _selected(
    pyoxigraph: Any, address: str, data: bytes, raw: RawFacts, options: ReadOptions
) -> Iterator[list[str]]:
    """Rows of a SELECT query; like in RDF files, rows with a literal as tail are skipped and counted."""
    variables, solutions = _solutions(pyoxigraph, address, data)
    places = table_layout(variables, options, raw.tally, "SPARQL answer").places
    name_of = Statements(raw).name_of
    for number, solution in enumerate(_valid(solutions, address)):
        terms = [solution[i] for i in places]
        if None in terms:
            raise DataError(f"row {number}: ?{variables[places[terms.index(None)]]} has no value", address)
        if isinstance(terms[2], pyoxigraph.Literal):
            raw.tally.literals += 1
        else:
            yield [name_of(term) for term in terms]


def _solutions(pyoxigraph: Any, address: str, data: bytes) -> tuple[list[str], Iterator[Any]]:
    """Variables and rows of an answer in JSON."""
    try:
        kind = pyoxigraph.QueryResultsFormat.JSON
        solutions = pyoxigraph.parse_query_results(io.BytesIO(data), format=kind)
        return [variable.value for variable in solutions.variables], iter(solutions)
    except (SyntaxError, AttributeError) as problem:  # a lone yes or no has no variables
        raise DataError(f"the answer is no table of SPARQL results ({problem})", address) from None


def _check_complete(pyoxigraph: Any, address: str, received: int) -> None:
    _, data = _ask(address, COUNT)
    _, solutions = _solutions(pyoxigraph, address, data)
    first = next(_valid(solutions, address), None)
    count = getattr(first[0], "value", "") if first is not None and len(first) else ""
    if not (count.isdecimal() and len(count) < 19):
        raise DataError(f"the endpoint does not say how many triples it has, but {count[:50]!r}", address)
    total = int(count)
    if received < total:
        raise DataError(
            f"the endpoint sent {received:,} of {total:,} triples; ask for fewer with a query "
            "(--query, query= in Python), or download the data as a file",
            address,
        )
