"""Rules as logic programs: Prolog, and Datalog for clingo. Facts are `fact(Head, Relation, Tail)`.

Conditions look at numbers: `value(Entity, Attribute, Number)`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import PathKind
from rnnlogic.data.attributes import Values
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.chain import Clause, clauses, facts_in, values_in, without_nul
from rnnlogic.rules.rule import chain_variables
from rnnlogic.rules.table import RuleTable

_FACTS_NOTE = "% Facts are expected as fact(Head, Relation, Tail)."
_PLAIN_ATOM = re.compile(r"[a-z][a-zA-Z0-9_]*")
CLINGO_NUMBERS = 1 << 31
_PROLOG_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}
_CLINGO_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}


class _Language(NamedTuple):
    """How a language writes names, numbers and comparisons."""

    name: Callable[[str], str]
    number: Callable[[float], str]
    differs: str
    at_most: str


def prolog(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One clause per rule, with a solution for every path; weights as `weight(Number, Weight)`."""
    rules = list(clauses(table, vocab, path_kind))
    lines = [_FACTS_NOTE, "% rule(Number, Head, Relation, Tail) has a solution for every path."]
    for clause in rules:
        lines += [f"% {clause.note}", f"{_rule(clause, PROLOG)} :- {_body(clause, PROLOG)}."]
    if any(clause.has_constants for clause in rules):
        lines.append("% The body of a rule that names entities holds or not: all its solutions count as one.")
    weights = [(clause.number, clause.weight) for clause in rules if clause.weight is not None]
    lines += [f"weight({number}, {_prolog_float(weight)})." for number, weight in weights]
    return "\n".join(lines) + "\n"


def datalog(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """The answers of every rule with their numbers of paths, for clingo."""
    lines = [_FACTS_NOTE, "% walks(Number, Head, Relation, Tail, Count): answers of rule Number."]
    for clause in clauses(table, vocab, path_kind):
        body, rule = _body(clause, CLINGO), _rule(clause, CLINGO)
        walks = f"walks{rule.removeprefix('rule')[:-1]}"
        between = ",".join(chain_variables(clause.length)[1:-1]) or "1"
        counted = f"{walks}, N) :- {rule}, N = #count {{ {between} : {body} }}."
        if clause.test is not None:
            counted = f"{walks}, 1) :- {rule}."
        lines += [f"% {clause.note}", f"{rule} :- {body}.", counted]
    return "\n".join([*lines, "#show walks/5."]) + "\n"


def prolog_facts(triples: Triples, vocab: Vocab, values: Values | None = None) -> str:
    """Facts as the Prolog program expects them, and values as value(Entity, Attribute, Number)."""
    return _facts(triples, vocab, values, PROLOG)


def datalog_facts(triples: Triples, vocab: Vocab, values: Values | None = None) -> str:
    """Facts as the clingo program expects them, and values, which must be whole numbers."""
    return _facts(triples, vocab, values, CLINGO)


def prolog_atom(name: str) -> str:
    """A name as an atom, quoted if necessary."""
    if _PLAIN_ATOM.fullmatch(name):
        return name
    return "'" + "".join(map(_prolog_character, without_nul(name, "Prolog"))) + "'"


def clingo_string(name: str) -> str:
    """A name as a clingo string."""
    return '"' + "".join(_CLINGO_ESCAPES.get(c, c) for c in without_nul(name, "clingo")) + '"'


def _prolog_character(character: str) -> str:
    if character in _PROLOG_ESCAPES:
        return _PROLOG_ESCAPES[character]
    return f"\\x{ord(character):x}\\" if unicodedata.category(character) == "Cc" else character


def _prolog_float(value: float) -> str:
    text = repr(float(value))
    return text if "." in text else text.replace("e", ".0e")


def _clingo_number(number: float) -> str:
    """A whole number, as clingo knows no others."""
    if not number.is_integer() or abs(number) >= CLINGO_NUMBERS:
        raise RuleError(f"{number!r}: clingo knows whole numbers below 2^31 only; choose prolog or sql")
    return str(int(number))


PROLOG = _Language(prolog_atom, _prolog_float, "\\==", "=<")
CLINGO = _Language(clingo_string, _clingo_number, "!=", "<=")


def _rule(clause: Clause, language: _Language) -> str:
    terms, head = clause.terms(language.name), clause.head
    return f"rule({clause.number}, {terms[head.left]}, {language.name(head.relation)}, {terms[head.right]})"


def _body(clause: Clause, language: _Language) -> str:
    """The facts of a body, or the values that a condition compares, as V0 of X and V1 of Y."""
    terms, test, quoted = clause.terms(language.name), clause.test, language.name
    parts = [f"fact({terms[one.left]}, {quoted(one.relation)}, {terms[one.right]})" for one in clause.body]
    if test is not None:
        parts += [f"value({terms[place]}, {quoted(one.name)}, V{place})" for place, one in test.values]
    parts += [f"{terms[i]} {language.differs} {terms[j]}" for i, j in clause.unequal]
    if test is not None:
        checks = test.checks({0: "V0", 1: "V1"}, language.number)
        parts += [check.replace("<=", language.at_most) for check in checks]
    return ", ".join(parts)


def _facts(triples: Triples, vocab: Vocab, values: Values | None, language: _Language) -> str:
    quoted = language.name
    facts = (f"fact({', '.join(fact)}).\n" for fact in facts_in(triples, vocab, quoted))
    told = (
        f"value({quoted(entity)}, {quoted(attribute.name)}, {language.number(value)}).\n"
        for entity, attribute, value in values_in(values, vocab)
    )
    return "".join([*facts, *told])
