"""Rule files of AnyBURL and PyClause, with lines

    predictions<TAB>support<TAB>confidence<TAB>h(X,Y) <= b1(X,A), b2(A,Y)
    predictions<TAB>support<TAB>confidence<TAB>h(X,c) <= b(X,d)

One of their rules answers both (x, h, ?) and (?, h, y). Here these are two rules, h <- body and h^-1 <- body
backwards, so one line is read as two rules, and the two are written as one line. Chains are read, and rules
with constants whose body is one atom, b(X,d) or b(X,A); rules of other kinds are skipped and counted. Names
are written unquoted; a rule that could not be read back is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from rnnlogic.base.errors import RuleError, UnknownNameError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.formats.lines import (
    FIGURES,
    ImportReport,
    TableImport,
    check_names,
    numbered,
    read_lines,
    write_text,
)
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature, Rule, directed, format_rule, mirrored
from rnnlogic.rules.table import RuleTable

VARIABLES = "XABCDEFGHIJKLMNOPQRSTUVW"  # along the chain, in the order PyClause expects; Y comes last
CONSTANTS, NO_CHAIN, NO_BODY = (
    "constants elsewhere than in the head and a body of one atom",
    "not a chain",
    "no body",
)
UNKNOWN = "an entity that the dataset does not have"
LARGEST = 1 << 63  # figures are below

_LINE = re.compile(r"\d+\t\d+\t[^\t]*\t")
_ARROW = re.compile(r" <=(?: |$)")
_ATOM = re.compile(r"(.*)\(([A-Z]),([A-Z])\)", re.DOTALL)
_ATOM_WITH_CONSTANT = re.compile(r".*?\(.*,.*\)", re.DOTALL)


class _Other(Exception):  # noqa: N818 - not an error: a rule to skip
    """A well-formed rule of a kind that is not read."""


class _Atom(NamedTuple):
    """With variables, or ids of entities."""

    name: str
    left: str | int
    right: str | int

    @property
    def has_constants(self) -> bool:
        """Whether it names an entity."""
        return isinstance(self.left, int) or isinstance(self.right, int)


def holds_anyburl(line: str) -> bool:
    """Whether a line looks like an AnyBURL rule."""
    return _LINE.match(line) is not None


def read_anyburl_rules(path: Path, vocab: Vocab) -> TableImport:
    """Read chains and rules with constants, with their figures; others are skipped and counted by kind."""
    rows: list[tuple[Rule, dict[str, Any]]] = []
    skipped: Counter[str] = Counter()
    for place, line in numbered(read_lines(path), path):
        figures, text = _columns(line, place)
        try:
            rows.append((_parse(text, vocab), figures))
        except _Other as kind:
            skipped[str(kind)] += 1
        except (RuleError, UnknownNameError) as error:
            raise RuleError(f"{place}: {error}") from None
    read, empty = len(rows) + skipped.total(), skipped.pop(NO_BODY, 0)
    distinct = len({rule for rule, _ in rows})
    both = ((each, figures) for rule, figures in rows for each in (rule, mirrored(rule, vocab.num_relations)))
    table = RuleTable.from_rows(both)
    report = ImportReport(
        read=read,
        kept=len(table),
        duplicates=len(rows) - distinct,
        empty=empty,
        skipped=dict(skipped),
        mirrored=len(table) - distinct,
    )
    return TableImport(table, report)


def write_anyburl_rules(path: str | Path, table: RuleTable, vocab: Vocab) -> None:
    """Write rules with their figures; a rule and its mirror image, which mean the same, become one line."""
    lines: dict[Rule, str] = {}
    for rule, known in table.rows():
        forwards = rule if rule.head < vocab.num_relations else mirrored(rule, vocab.num_relations)
        if forwards not in lines:
            lines[forwards] = f"{_figures_text(known)}\t{anyburl_rule(forwards, vocab)}\n"
    write_text(path, "".join(lines.values()))


def anyburl_rule(rule: Rule, vocab: Vocab) -> str:
    """One rule as AnyBURL writes it, without its figures."""
    if isinstance(rule, Feature | Condition) or (
        isinstance(rule, Chain) and not 1 <= len(rule.body) <= len(VARIABLES)
    ):
        raise RuleError(
            f"{format_rule(rule, vocab)}: AnyBURL rules have bodies of 1 to {len(VARIABLES)} atoms "
            "and no conditions on numbers"
        )
    if isinstance(rule, Constant):
        constant = vocab.entities[rule.constant]
        other = "A" if rule.other == NONE else vocab.entities[rule.other]
        check_names([constant, other], "AnyBURL")
        ends, inner = ((constant, "Y"), (other, "Y")) if rule.at_head else (("X", constant), ("X", other))
        body = [_atom_text(rule.step, *inner, vocab)]
    else:
        ends, places = ("X", "Y"), pairwise([*VARIABLES[: len(rule.body)], "Y"])
        body = [_atom_text(step, *both, vocab) for step, both in zip(rule.body, places, strict=True)]
    text = f"{_atom_text(rule.head, *ends, vocab)} <= {', '.join(body)}"
    if not _is_read_back(text, rule, vocab):
        raise RuleError(
            f"{format_rule(rule, vocab)}: the AnyBURL line would be ambiguous because of these names; "
            "write text or JSON Lines instead"
        )
    return text


def _atom_text(relation: int, left: str, right: str, vocab: Vocab) -> str:
    relation, left, right = directed(relation, left, right, vocab.num_relations)
    name = vocab.relations[relation]
    check_names([name], "AnyBURL")
    return f"{name}({left},{right})"


def _is_read_back(text: str, rule: Rule, vocab: Vocab) -> bool:
    try:
        return rule == _parse(text, vocab)
    except (RuleError, UnknownNameError, _Other):
        return False


def _figures_text(figures: dict[str, Any]) -> str:
    if any(name not in figures for name in FIGURES):
        raise RuleError(f"AnyBURL lines need the figures {', '.join(FIGURES)} of every rule")
    return "\t".join(str(figures[name]) for name in FIGURES)


def _columns(line: str, place: str) -> tuple[dict[str, Any], str]:
    parts = line.split("\t")
    if len(parts) != len(FIGURES) + 1:
        expected = "<TAB>".join([*FIGURES, "rule"])
        raise RuleError(f"{place}: expected {expected}, found {len(parts)} column(s)")
    *figures, text = parts
    kinds = zip((int, int, float), figures, FIGURES, strict=True)
    return {name: _number(kind, shown, name, place) for kind, shown, name in kinds}, text


def _number(kind: type[Any], text: str, name: str, place: str) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if not 0 <= value < LARGEST:  # neither NaN
        raise RuleError(f"{place}: expected a number for {name}, found {text[:40]!r}")
    return value


def _parse(text: str, vocab: Vocab) -> Rule:
    arrow = _ARROW.search(text)
    if arrow is None:
        raise RuleError(f"expected 'head <= body', found {text!r}")
    body_text = text[arrow.end() :]
    if not body_text.strip():
        raise _Other(NO_BODY)
    head, *body = (_atom(part, vocab) for part in [text[: arrow.start()], *re.split(r"(?<=\)), ", body_text)])
    if head.has_constants or any(atom.has_constants for atom in body):
        return _rule_with_constants(head, body, vocab)
    return Chain(vocab.relation_id(head.name), tuple(_chain(head, body, vocab)))


def _atom(text: str, vocab: Vocab) -> _Atom:
    found = _ATOM.fullmatch(text)
    if found is not None:
        return _Atom(*found.groups())
    if _ATOM_WITH_CONSTANT.fullmatch(text):
        return _atom_with_constant(text, vocab)
    raise RuleError(f"expected an atom 'name(X,Y)', found {text!r}")


def _atom_with_constant(text: str, vocab: Vocab) -> _Atom:
    """name(X,c) or name(c,X); names may contain brackets, so every one may end the relation's."""
    for bracket in re.finditer(r"\(", text):
        name, ends = text[: bracket.start()], text[bracket.end() : -1]
        if name not in vocab.relations:
            continue
        for variable, entity, is_first in ((ends[:2], ends[2:], True), (ends[-2:], ends[:-2], False)):
            is_place = re.fullmatch(r"[A-Z]," if is_first else r",[A-Z]", variable)
            if is_place and vocab.has_entity(entity):
                place, constant = variable.strip(","), vocab.entity_id(entity)
                return _Atom(name, place, constant) if is_first else _Atom(name, constant, place)
    raise _Other(UNKNOWN)


def _rule_with_constants(head: _Atom, body: list[_Atom], vocab: Vocab) -> Rule:
    """h(X,c) <= b(X,d) and h(X,c) <= b(X,A), whichever way round."""
    at_head = isinstance(head.left, int)
    constant, variable = (head.left, head.right) if at_head else (head.right, head.left)
    if len(body) != 1 or not isinstance(constant, int) or variable not in (body[0].left, body[0].right):
        raise _Other(CONSTANTS)
    is_first = body[0].left == variable
    other = body[0].right if is_first else body[0].left
    if other == variable:
        raise _Other(CONSTANTS)
    relation = vocab.relation_id(body[0].name)
    step = relation if is_first != at_head else vocab.inverse(relation)
    named = other if isinstance(other, int) else NONE
    return Constant(vocab.relation_id(head.name), step, constant, named, at_head)


def _chain(head: _Atom, body: list[_Atom], vocab: Vocab) -> Iterator[int]:
    """The relations along the body, from the head's first variable to its second; atoms come in any order."""
    here: str | int = head.left
    left = body
    if head.left == head.right:
        raise _Other(NO_CHAIN)
    while left:
        following = [atom for atom in left if here in (atom.left, atom.right)]
        if len(following) != 1 or following[0].left == following[0].right:
            raise _Other(NO_CHAIN)
        atom = following[0]
        relation = vocab.relation_id(atom.name)
        yield relation if atom.left == here else vocab.inverse(relation)
        here = atom.right if atom.left == here else atom.left
        left = [other for other in left if other is not atom]
    if here != head.right:
        raise _Other(NO_CHAIN)
