"""Rules as logic programs: Prolog, and Datalog for clingo. Facts are `fact(Head, Relation, Tail)`.

Conditions look at numbers: `value(Entity, Attribute, Number)`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import PathKind
from rnnlogic.data.attributes import Values
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.chain import Clause, Test, clauses, values_in, without_nul
from rnnlogic.rules.rule import chain_variables
from rnnlogic.rules.table import RuleTable

_FACTS_NOTE = "% Facts are expected as fact(Head, Relation, Tail)."
_PLAIN_ATOM = re.compile(r"[a-z][a-zA-Z0-9_]*")
CLINGO_NUMBERS = 1 << 31
_PROLOG_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}
_CLINGO_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}


def prolog(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One clause per rule, with a solution for every path; weights as `weight(Number, Weight)`."""
    rules = list(clauses(table, vocab, path_kind))
    lines = [_FACTS_NOTE, "% rule(Number, Head, Relation, Tail) has a solution for every path."]
    for clause in rules:
        body = (
            _body(clause, prolog_atom, "\\==") if clause.test is None else _prolog_test(clause, clause.test)
        )
        lines += [f"% {clause.note}", f"{_rule(clause, prolog_atom)} :- {body}."]
    if any(clause.has_constants for clause in rules):
        lines.append("% The body of a rule that names entities holds or not: all its solutions count as one.")
    weights = [(clause.number, clause.weight) for clause in rules if clause.weight is not None]
    lines += [f"weight({number}, {_prolog_float(weight)})." for number, weight in weights]
    return "\n".join(lines) + "\n"


def datalog(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """The answers of every rule with their numbers of paths, for clingo."""
    lines = [_FACTS_NOTE, "% walks(Number, Head, Relation, Tail, Count): answers of rule Number."]
    for clause in clauses(table, vocab, path_kind):
        if clause.test is not None:
            rule = _rule(clause, clingo_string)
            walks = f"walks{rule.removeprefix('rule')[:-1]}, 1)"
            lines += [
                f"% {clause.note}",
                f"{rule} :- {_clingo_test(clause, clause.test)}.",
                f"{walks} :- {rule}.",
            ]
            continue
        body, rule = _body(clause, clingo_string, "!="), _rule(clause, clingo_string)
        between = ",".join(chain_variables(clause.length)[1:-1]) or "1"
        counted = f"walks{rule.removeprefix('rule')[:-1]}, N) :- {rule}, N = #count {{ {between} : {body} }}."
        lines += [f"% {clause.note}", f"{rule} :- {body}.", counted]
    return "\n".join([*lines, "#show walks/5."]) + "\n"


def prolog_facts(triples: Triples, vocab: Vocab, values: Values | None = None) -> str:
    """Facts as the Prolog program expects them, and values as value(Entity, Attribute, Number)."""
    return _facts(triples, vocab, prolog_atom) + _values(values, vocab, prolog_atom, _prolog_float)


def datalog_facts(triples: Triples, vocab: Vocab, values: Values | None = None) -> str:
    """Facts as the clingo program expects them, and values, which must be whole numbers."""
    return _facts(triples, vocab, clingo_string) + _values(values, vocab, clingo_string, _clingo_number)


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


def _rule(clause: Clause, quoted: Callable[[str], str]) -> str:
    terms, head = _terms(clause, quoted), clause.head
    return f"rule({clause.number}, {terms[head.left]}, {quoted(head.relation)}, {terms[head.right]})"


def _body(clause: Clause, quoted: Callable[[str], str], differs: str) -> str:
    terms = _terms(clause, quoted)
    facts = [
        f"fact({terms[atom.left]}, {quoted(atom.relation)}, {terms[atom.right]})" for atom in clause.body
    ]
    return ", ".join([*facts, *(f"{terms[i]} {differs} {terms[j]}" for i, j in clause.unequal)])


def _value_terms(clause: Clause, test: Test, quoted: Callable[[str], str]) -> list[str]:
    """The values that a condition compares, as V0 of X and V1 of Y."""
    terms = _terms(clause, quoted)
    return [f"value({terms[place]}, {quoted(one.name)}, V{place})" for place, one in test.values]


def _prolog_test(clause: Clause, test: Test) -> str:
    parts = _value_terms(clause, test, prolog_atom)
    if clause.unequal:
        parts.append("X \\== Y")
    checks = test.checks({0: "V0", 1: "V1"}, _prolog_float)
    return ", ".join([*parts, *(check.replace("<=", "=<") for check in checks)])


def _clingo_test(clause: Clause, test: Test) -> str:
    parts = _value_terms(clause, test, clingo_string)
    if clause.unequal:
        parts.append("X != Y")
    return ", ".join([*parts, *test.checks({0: "V0", 1: "V1"}, _clingo_number)])


def _clingo_number(number: float) -> str:
    """A whole number, as clingo knows no others."""
    if not number.is_integer() or abs(number) >= CLINGO_NUMBERS:
        raise RuleError(f"{number!r}: clingo knows whole numbers below 2^31 only; choose prolog or sql")
    return str(int(number))


def _values(
    values: Values | None, vocab: Vocab, quoted: Callable[[str], str], number: Callable[[float], str]
) -> str:
    return "".join(
        f"value({quoted(vocab.entities[entity])}, {quoted(attribute.name)}, {number(value)}).\n"
        for entity, attribute, value in values_in(values, vocab)
    )


def _terms(clause: Clause, quoted: Callable[[str], str]) -> list[str]:
    """What stands for each place: its variable, or an entity."""
    bound = clause.bound
    return [quoted(bound[i]) if i in bound else name for i, name in enumerate(clause.variables)]


def _facts(triples: Triples, vocab: Vocab, quoted: Callable[[str], str]) -> str:
    entities, relations = [*map(quoted, vocab.entities)], [*map(quoted, vocab.relations)]
    return "".join(
        f"fact({entities[head]}, {relations[relation]}, {entities[tail]}).\n"
        for head, relation, tail in triples.tolist()
    )
