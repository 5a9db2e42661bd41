"""Rules as SPARQL 1.1, and as SHACL 1.2 Rules (Shape Rules Language), which have the same patterns.

Names that are IRIs stay; others are percent-encoded after `urn:rnnlogic:`.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import Feature, PathKind
from rnnlogic.data.attributes import Kind, Values, value_text
from rnnlogic.data.graph import Triples
from rnnlogic.data.rdf import XSD
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.chain import Atom, Clause, Test, clauses, double, facts_in, values_in, weighted
from rnnlogic.rules.table import RuleTable

BASE = "urn:rnnlogic:"
DRAFT = "https://www.w3.org/TR/2026/WD-shacl12-rules-20260711/"
_NOTE = (
    f"# SHACL 1.2 Rules (Shape Rules Language) after the W3C Working Draft {DRAFT}\n"
    "# An engine applies rules to what they infer, to the end; sparql-insert applies them once.\n"
)
_IRI = re.compile(r'(?:https?://|urn:)[^\x00-\x20\x7f-\x9f\ud800-\udfff<>"{}|\\^`]+')
_LOG_2 = "0.6931471805599453e0"
_HALVINGS = (32, 16, 8, 4, 2, 1)
_SERIES = range(33, 0, -2)  # exponents k of the terms z^k / k in the sum


def sparql_select(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One query: what every rule predicts (rule, head, relation, tail) and by how many paths."""
    rules = list(clauses(table, vocab, path_kind))
    patterns = [f"{_fact_pattern(clause)} BIND({clause.number} AS ?rule)" for clause in rules]
    return (
        "SELECT ?rule ?head ?relation ?tail (COUNT(*) AS ?walks) WHERE {\n"
        f"{_union(rules, patterns)}}}\nGROUP BY ?rule ?head ?relation ?tail\n"
    )


def sparql_construct(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One query: the predicted facts as a graph."""
    return f"CONSTRUCT {_predicted(list(clauses(table, vocab, path_kind)))}"


def sparql_insert(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One update that adds the predicted facts; all rules see the facts as they were before it."""
    return f"INSERT {_predicted(list(clauses(table, vocab, path_kind)))}"


def sparql_ranking(
    table: RuleTable,
    vocab: Vocab,
    relation: int,
    feature: Feature = "log1p",
    head: int | None = None,
    path_kind: PathKind = "simple",
) -> str:
    """One query: the weighted sum over all rules of a relation, for one head or all, best answers first."""
    values = "" if head is None else f"VALUES ?query {{ {iri(vocab.entities[head])} }} "
    parts = "  UNION\n".join(
        _weighted(clause, values) for clause in weighted(table, relation, vocab, path_kind)
    )
    gain = {"count": "?weight * ?walks", "log1p": "?weight * ?log", "binary": "?weight"}[feature]
    return (
        f"SELECT ?query ?answer (SUM({gain}) AS ?score) WHERE {{\n{parts}"
        f"{log1p_bindings() if feature == 'log1p' else ''}}}\n"
        "GROUP BY ?query ?answer\nORDER BY ?query DESC(?score) ?answer\n"
    )


def shacl(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """A rule set: each rule infers its facts."""
    return _NOTE + "".join(map(_shacl_rule, clauses(table, vocab, path_kind)))


def sparql_facts(triples: Triples, vocab: Vocab, values: Values | None = None) -> str:
    """Facts as N-Triples, attributes as literals."""
    told = "".join(
        f"{iri(entity)} {iri(attribute.name)} {literal(number, attribute.kind)} .\n"
        for entity, attribute, number in values_in(values, vocab)
    )
    return told + "".join(f"{' '.join(fact)} .\n" for fact in facts_in(triples, vocab, iri))


def iri(name: str) -> str:
    """A name as an IRI in angle brackets; different names give different IRIs."""
    if _IRI.fullmatch(name) and not name.startswith(BASE):
        return f"<{name}>"
    return f"<{BASE}{quote(name, safe='')}>"


def literal(number: float, kind: Kind) -> str:
    """A value with its datatype."""
    text = repr(number) if kind == "number" else value_text(number, kind)
    return f'"{text}"^^<{XSD}{ {"number": "double", "date": "date", "time": "dateTime"}[kind] }>'


def _shacl_rule(clause: Clause) -> str:
    if clause.test is not None:
        raise RuleError(
            f"{clause.text}: conditions are not written as SHACL rules; leave it out, or use sparql"
        )
    terms = clause.terms(iri, "?{}")
    head = _triple(clause.head, terms)
    return f"# {clause.note}\nRULE {{ {head} }} WHERE {{ {_pattern(clause, terms)} }}\n"


def _pattern(clause: Clause, terms: list[str]) -> str:
    """The atoms of a body, by what stands for places, and which of these differ."""
    steps = [_triple(atom, terms) for atom in clause.body]
    return " ".join([*steps, *(f"FILTER({terms[i]} != {terms[j]})" for i, j in clause.unequal)])


def _triple(atom: Atom, terms: list[str]) -> str:
    return f"{terms[atom.left]} {iri(atom.relation)} {terms[atom.right]} ."


def _tested(clause: Clause, test: Test, first: str, last: str) -> str:
    """A condition on literals. SPARQL cannot take one date from another."""
    kind, places = test.values[0][1].kind, (first, last)
    patterns = [f"{places[place]} {iri(one.name)} ?v{place} ." for place, one in test.values]
    if len(test.values) == 1:
        checks = test.checks({0: "?v0", 1: "?v1"}, lambda number: literal(number, kind))
    elif test.sign is not None:
        checks = [f"?v0 {test.sign} ?v1"]
    elif kind == "number":
        checks = test.checks({0: "?v0", 1: "?v1"}, double)
    else:
        raise RuleError(
            f"{clause.text}: SPARQL has no differences of dates; leave the rule out, or choose sql"
        )
    checks += [f"{first} != {last}" for _ in clause.unequal]
    named = [f"VALUES {places[place]} {{ {iri(name)} }}" for place, name in clause.bound.items()]
    return " ".join([*patterns, *(f"FILTER({check})" for check in checks), *named])


def _predicted(rules: list[Clause]) -> str:
    patterns = [_fact_pattern(clause) for clause in rules]
    return f"{{ ?head ?relation ?tail }} WHERE {{\n{_union(rules, patterns)}}}\n"


def _union(rules: list[Clause], patterns: list[str]) -> str:
    blocks = [f"  # {rule.note}\n  {{ {body} }}\n" for rule, body in zip(rules, patterns, strict=True)]
    return "  UNION\n".join(blocks)


def _fact_pattern(clause: Clause) -> str:
    """The body between ?head and ?tail of the predicted fact, and ?relation."""
    ends = {clause.head.left: "?head", clause.head.right: "?tail"}
    return f"{_body(clause, ends[0], ends[clause.length])} BIND({iri(clause.head.relation)} AS ?relation)"


def _weighted(clause: Clause, values: str) -> str:
    return (
        f"  # {clause.note}\n"
        f"  {{ SELECT ?query ?answer ({double(clause.weight)} AS ?weight) (COUNT(*) AS ?walks) WHERE {{ "
        f"{values}{_body(clause, '?query', '?answer')} }} GROUP BY ?query ?answer }}\n"
    )


def _body(clause: Clause, first: str, last: str) -> str:
    if clause.test is not None:
        return _tested(clause, clause.test, first, last)
    if clause.has_constants:
        return _constants(clause, first, last)
    places = [first, *(f"?z{i}" for i in range(1, clause.length)), last]
    return _pattern(clause, places)


def _constants(clause: Clause, first: str, last: str) -> str:
    """A body that names entities; whoever has such facts is found once."""
    places, (atom,) = [first, last, "?z"], clause.body
    ends = [iri(clause.bound[2]) if place == 2 and 2 in clause.bound else places[place] for place in atom[1:]]
    fact = f"{ends[0]} {iri(atom.relation)} {ends[1]} ."
    named = 1 - clause.free
    return (
        f"{{ SELECT DISTINCT {places[clause.free]} WHERE {{ {fact} }} }} "
        f"VALUES {places[named]} {{ {iri(clause.bound[named])} }}"
    )


def log1p_bindings() -> str:
    """Bind ?log to log(1 + ?walks), for which SPARQL has no function.

    1 + ?walks is halved until it is m in [1, 2); log m = 2 artanh z with z = (m - 1) / (m + 1) as a series.
    """
    lines = ["BIND(1e0 + ?walks AS ?m0) BIND(0e0 AS ?k0)"]
    for i, halvings in enumerate(_HALVINGS):
        is_large, factor = f"?m{i} >= {double(2**halvings)}", double(2**halvings)
        lines.append(
            f"BIND(IF({is_large}, ?m{i} / {factor}, ?m{i}) AS ?m{i + 1}) "
            f"BIND(IF({is_large}, ?k{i} + {halvings}, ?k{i}) AS ?k{i + 1})"
        )
    last = len(_HALVINGS)
    series = double(1 / _SERIES[0])
    for k in _SERIES[1:]:
        series = f"{double(1 / k)} + ?z * ?z * ({series})"
    lines += [
        f"BIND((?m{last} - 1e0) / (?m{last} + 1e0) AS ?z)",
        f"BIND(?k{last} * {_LOG_2} + 2e0 * ?z * ({series}) AS ?log)",
    ]
    return "".join(f"  {line}\n" for line in lines)
