"""Decisions as files for other tools: a table of all that count, and accepted facts for graphs.

Every accepted fact comes with what it rests on: the rule, the probability and who decided. In N-Triples that
is RDF reification, in Turtle a reified triple (`<< >>`, RDF-star and RDF 1.2). Names are data everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from rnnlogic.base.errors import DataError
from rnnlogic.base.files import write_atomically
from rnnlogic.review.decision import Decision
from rnnlogic.review.log import Decisions
from rnnlogic.rules.programs.cypher import cypher_name, cypher_string
from rnnlogic.rules.programs.sparql import iri

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TERMS = "urn:rnnlogic-review:"  # beside `urn:rnnlogic:`, which names of the data begin with
DECIMAL = "http://www.w3.org/2001/XMLSchema#double"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def write_decisions(path: Path, decisions: Decisions, excel_safe: bool = False) -> int:
    """Write a file in the format of its ending; gives the number of decisions or facts in it."""
    if path.suffix not in FORMATS and path.suffix != ".csv":
        raise DataError(f"unknown kind of file {path.suffix!r}; choose .csv, {', '.join(FORMATS)}", path)
    current = list(decisions.current().values())
    if path.suffix == ".csv":
        text = decisions.as_csv(excel_safe)
    else:
        current = [one for one in current if one.is_true]
        text = FORMATS[path.suffix](current)
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror or error})", path) from None
    return len(current)


def n_triples(accepted: Iterable[Decision]) -> str:
    """Each fact, and a statement about it (RDF reification)."""
    lines: list[str] = []
    for number, one in enumerate(accepted, 1):
        head, relation, tail = (iri(name) for name in one.fact)
        node = f"_:decision{number}"
        lines += [f"{head} {relation} {tail} .", f"{node} <{RDF}type> <{RDF}Statement> ."]
        lines += [f"{node} <{RDF}subject> {head} .", f"{node} <{RDF}predicate> {relation} ."]
        lines += [f"{node} <{RDF}object> {tail} ."]
        lines += [f"{node} <{TERMS}{name}> {value} ." for name, value in _about(one)]
    return "".join(f"{line}\n" for line in lines)


def turtle(accepted: Iterable[Decision]) -> str:
    """Each fact, and what is said about it as a reified triple."""
    text = f"@prefix review: <{TERMS}> .\n"
    for one in accepted:
        triple = " ".join(iri(name) for name in one.fact)
        said = " ;\n    ".join(f"review:{name} {value}" for name, value in _about(one))
        text += f"{triple} .\n<< {triple} >> {said} .\n"
    return text


def cypher_merge(accepted: Iterable[Decision]) -> str:
    """A statement for each fact that creates what is not there; running it twice changes nothing."""
    lines = []
    for one in accepted:
        head, tail = (f"{{name: {cypher_string(name)}}}" for name in (one.head, one.tail))
        told = {"source": "review", "decision": one.verdict, "rule": one.rule, "by": one.by, "time": one.time}
        values = [f"f.{name} = {cypher_string(text)}" for name, text in told.items() if text]
        values += [] if one.probability is None else [f"f.probability = {one.probability!r}"]
        lines.append(
            f"MERGE (h:Entity {head}) MERGE (t:Entity {tail}) "
            f"MERGE (h)-[f:{cypher_name(one.relation)}]->(t) SET {', '.join(values)};\n"
        )
    return "".join(lines)


def _about(one: Decision) -> list[tuple[str, str]]:
    """What is said about a fact: names of terms, and literals."""
    told = {"decision": one.verdict, "rule": one.rule, "by": one.by, "time": one.time, "run": one.run}
    found = [(name, _literal(text)) for name, text in told.items() if text]
    if one.probability is not None:
        found.append(("probability", f'"{one.probability!r}"^^<{DECIMAL}>'))
    return found


def _literal(text: str) -> str:
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if 0xD800 <= ord(character) <= 0xDFFF:
        return "\\uFFFD"  # half a character, which RDF has no way to say
    return f"\\u{ord(character):04X}" if ord(character) < 0x20 or ord(character) == 0x7F else character


FORMATS: dict[str, Callable[[Iterable[Decision]], str]] = {
    ".nt": n_triples,
    ".ttl": turtle,
    ".cypher": cypher_merge,
}
