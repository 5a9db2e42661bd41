"""Rules as SHACL 1.2 Rules, in the Shape Rules Language (SRL).

It follows the W3C Working Draft of 11 July 2026. Each rule is `RULE { head } WHERE { body }`, with triple
patterns and FILTER only, which SPARQL has too.
"""

from __future__ import annotations

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import PathKind
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.chain import Atom, Clause, clauses
from rnnlogic.rules.programs.sparql import iri
from rnnlogic.rules.table import RuleTable

DRAFT = "https://www.w3.org/TR/2026/WD-shacl12-rules-20260711/"
_NOTE = (
    f"# SHACL 1.2 Rules (Shape Rules Language) after the W3C Working Draft {DRAFT}\n"
    "# An engine applies rules to what they infer, to the end; sparql-insert applies them once.\n"
)


def shacl(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """A rule set: each rule infers its facts."""
    return _NOTE + "".join(map(_rule, clauses(table, vocab, path_kind)))


def _rule(clause: Clause) -> str:
    if clause.test is not None:
        raise RuleError(
            f"{clause.text}: conditions are not written as SHACL rules; leave it out, or use sparql"
        )
    terms = [
        iri(clause.bound[place]) if place in clause.bound else f"?{name}"
        for place, name in enumerate(clause.variables)
    ]
    body = [_triple(atom, terms) for atom in clause.body]
    body += [f"FILTER({terms[i]} != {terms[j]})" for i, j in clause.unequal]
    return f"# {clause.note}\nRULE {{ {_triple(clause.head, terms)} }} WHERE {{ {' '.join(body)} }}\n"


def _triple(atom: Atom, terms: list[str]) -> str:
    return f"{terms[atom.left]} {iri(atom.relation)} {terms[atom.right]} ."
