"""A SPARQL endpoint on this machine, answered by pyoxigraph."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pyoxigraph
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import load_dataset
from tests.data.test_rdf import EXPECTED, PREFIX, TURTLE
from tests.helpers.reading import read

KNOWS = "http://x.org/knows"


class Handler(BaseHTTPRequestHandler):
    """The SPARQL 1.1 protocol, as far as one client needs it."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        query = parse_qs(self.rfile.read(length).decode())["query"][0]
        try:
            answer = self.server.store.query(query)
        except SyntaxError as problem:
            self.reply(400, "text/plain", f"{problem}\nmore".encode())
            return
        if isinstance(answer, pyoxigraph.QueryTriples):
            data = pyoxigraph.serialize(
                list(answer)[: self.server.limit], format=pyoxigraph.RdfFormat.N_TRIPLES
            )
            self.reply(200, self.server.kind, data)
        else:
            data = answer.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
            self.reply(200, "application/sparql-results+json", data)

    def reply(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.store, server.limit, server.kind = pyoxigraph.Store(), None, "application/n-triples; charset=utf-8"
    server.store.load(input=PREFIX + TURTLE, format=pyoxigraph.RdfFormat.TURTLE)
    server.address = f"http://127.0.0.1:{server.server_address[1]}/query"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_all_facts_and_labels_of_an_endpoint(server):
    dataset = load_dataset(server.address)
    facts, lines = read(server.address)
    assert facts == EXPECTED
    assert lines[1:] == ["1 fact(s) with a literal as object skipped"]
    assert lines[0].startswith(
        "attributes, for conditions of rules: http://x.org/age (numbers of 1 entities)"
    )
    assert dataset.vocab.entity_labels == {"http://x.org/ann": "Ann", "http://x.org/bob": "Bob"}
    assert dataset.vocab.relation_id("knows someone") == 0
    assert dataset.source.startswith(f"SPARQL endpoint {server.address}, seeded")


@pytest.mark.parametrize(
    "query",
    [
        f"CONSTRUCT {{ ?s <{KNOWS}> ?o }} WHERE {{ ?s <{KNOWS}> ?o }}",
        f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o FILTER(?p = <{KNOWS}>) }}",
        f"SELECT ?to ?edge ?from WHERE {{ ?from ?edge ?to FILTER(?edge = <{KNOWS}>) }}",
    ],
)
def test_facts_by_query(server, query):
    assert read(server.address, query=query)[0] == EXPECTED


def test_columns_of_a_select_query_may_be_chosen(server):
    query = f"SELECT ?a ?b ?c WHERE {{ ?c ?a ?b FILTER(?a = <{KNOWS}>) }}"
    assert read(server.address, query=query, columns="c,a,b")[0] == EXPECTED


def test_literals_in_a_select_query_are_counted(server):
    dataset = load_dataset(server.address, query="SELECT ?s ?p ?o WHERE { ?s ?p ?o }")
    assert dataset.report.literals == 6


def test_an_answer_that_was_cut_off_is_an_error(server):
    server.limit = 5
    with pytest.raises(DataError, match=r"sent 5 of 10 triples; ask for fewer with a query"):
        load_dataset(server.address)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEKT ?s", "refused the query .400: "),
        ("SELECT ?s ?p WHERE { ?s ?p ?o }", "needs three columns"),
        ("SELECT ?s ?p ?o WHERE { ?s ?p ?x }", r"row 0: \?o has no value"),
        ("SELECT ?s ?p ?o WHERE { ?s ?p ?o FILTER(false) }", "no facts found"),
    ],
)
def test_wrong_queries_are_errors(server, query, message):
    with pytest.raises(DataError, match=message):
        load_dataset(server.address, query=query)


def test_what_is_no_endpoint_is_an_error(server):
    server.kind = "text/html"
    with pytest.raises(DataError, match="not a SPARQL endpoint: it answers with text/html"):
        load_dataset(server.address)
    for address in ("http://127.0.0.1:1/query", "http://[bad/query"):
        with pytest.raises(DataError, match="the endpoint cannot be reached"):
            load_dataset(address)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"{", "no table of SPARQL results"),
        (b'{"head": {}, "boolean": true}', "no table of SPARQL results"),
        (b'{"head": {"vars": ["s", "p", "o"]}, "results": {"bindings": [{"s": 1}]}}', "not valid"),
    ],
)
def test_broken_answers_are_errors(monkeypatch, answer, message):
    kind = "application/sparql-results+json"
    monkeypatch.setattr("rnnlogic.data.rdf._ask", lambda *_: (kind, answer))
    with pytest.raises(DataError, match=message):
        load_dataset("http://localhost/query", query="SELECT")


def test_an_endpoint_that_cannot_count_is_an_error(monkeypatch):
    count = b'{"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": "?"}}]}}'
    answers = iter(
        [
            ("application/n-triples", b"<http://a> <http://r> <http://b> .\n" * 2),
            ("application/sparql-results+json", count),
        ]
    )
    monkeypatch.setattr("rnnlogic.data.rdf._ask", lambda *_: next(answers))
    with pytest.raises(DataError, match="does not say how many triples it has"):
        load_dataset("http://localhost/query")
