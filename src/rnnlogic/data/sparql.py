"""Facts from a SPARQL endpoint: all triples, or those that a query gives.

We speak the SPARQL 1.1 protocol: a CONSTRUCT query is answered in N-Triples, a SELECT query in JSON. Some
endpoints cut long answers off without a word. So after asking for all triples we ask how many there are, and
refuse an answer that is too short.
"""

from __future__ import annotations

import io
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from typing import Any

from rnnlogic.base.errors import DataError
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.raw import UNSPLIT, RawFacts, checked_blocks
from rnnlogic.data.rdf import Statements, import_pyoxigraph
from rnnlogic.data.tables import table_layout

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
        rows = statements.rows(pyoxigraph, _parsed(parsed, address))
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


def _parsed(statements: Iterator[Any], address: str) -> Iterator[Any]:
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
    for number, solution in enumerate(_parsed(solutions, address)):
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
    first = next(_parsed(solutions, address), None)
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
