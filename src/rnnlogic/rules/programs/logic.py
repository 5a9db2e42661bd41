"""Rules as logic programs: Prolog, and Datalog for clingo. Facts are `fact(Head, Relation, Tail)`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from rnnlogic.base.types import PathKind
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.chain import Clause, clauses, without_nul
from rnnlogic.rules.rule import chain_variables
from rnnlogic.rules.table import RuleTable

_FACTS_NOTE = "% Facts are expected as fact(Head, Relation, Tail)."
_PLAIN_ATOM = re.compile(r"[a-z][a-zA-Z0-9_]*")
_PROLOG_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}
_CLINGO_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}


def prolog(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One clause per rule, with a solution for every path; weights as `weight(Number, Weight)`."""
    rules = list(clauses(table, vocab, path_kind))
    lines = [_FACTS_NOTE, "% rule(Number, Head, Relation, Tail) has a solution for every path."]
    for clause in rules:
        body = _body(clause, prolog_atom, "\\==")
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
        body, rule = _body(clause, clingo_string, "!="), _rule(clause, clingo_string)
        between = ",".join(chain_variables(clause.length)[1:-1]) or "1"
        counted = f"walks{rule.removeprefix('rule')[:-1]}, N) :- {rule}, N = #count {{ {between} : {body} }}."
        lines += [f"% {clause.note}", f"{rule} :- {body}.", counted]
    return "\n".join([*lines, "#show walks/5."]) + "\n"


def prolog_facts(triples: Triples, vocab: Vocab) -> str:
    """Facts as the Prolog program expects them."""
    return _facts(triples, vocab, prolog_atom)


def datalog_facts(triples: Triples, vocab: Vocab) -> str:
    """Facts as the clingo program expects them."""
    return _facts(triples, vocab, clingo_string)


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
