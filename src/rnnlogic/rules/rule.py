"""Chain rules as text: `hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)`, or in short `hobby <- friend & hobby`.

    rule  = atom arrow body            arrow = "<-" | "<=" | "←" | ":-"
    body  = "true" | atom { and atom } and   = "&" | "∧" | ","
    atom  = name [ "(" word "," word ")" ]      (either all atoms of a rule have variables or none)
    name  = ( word | quoted ) { "^-1" }

A word consists of letters, digits and `_ . / : # + -`. Any other relation name is a JSON string in double
quotes. The body `true` is the empty walk: X = Y. A body `@linked` is named evidence
(see `evidence.py`), not a chain. A `#` between tokens starts a comment. In a pattern, `*`
stands for any relation and `...` for any steps; next to other steps, `...` needs the short form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rnnlogic.base.errors import RuleError, UnknownNameError
from rnnlogic.data.raw import printable
from rnnlogic.data.vocab import INVERSE, Vocab
from rnnlogic.rules.evidence import FIRST, IDS, MARK, is_evidence, kind_of

TRUE = "true"
DOTS = "..."
ANY, GAP = -1, -2  # ids in patterns: any relation in either direction; any number of steps, also none
_WORD = r"(?!#|:-)(?:[\w./#+\-]++|:(?!-))++"
_TOKEN_KINDS = {
    "blank": r"\s+|#[^\n]*",
    "arrow": "<-|<=|←|:-",
    "word": _WORD,
    "quoted": r'"(?:[^"\\]|\\.)*"?',
    "inverse": re.escape(INVERSE),
    "open": r"\(",
    "close": r"\)",
    "comma": ",",
    "and": "[&∧]",
    "any": r"\*",
    "named": MARK + r"\w*",
    "unknown": ".",
}
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _TOKEN_KINDS.items()), re.DOTALL)
_PLAIN_NAME = re.compile(_WORD)


class Rule(NamedTuple):
    """Walking the relations of `body` one after the other implies `head`; relation ids are 0..2R-1."""

    head: int
    body: tuple[int, ...]

    @property
    def is_trivial(self) -> bool:
        """Whether this is r <- r, which says nothing."""
        return self.body == (self.head,)


def parse_rule(text: str, vocab: Vocab) -> Rule:
    """Read a rule in the long or the short form; `RuleError` names the column and what was expected."""
    return _Parser(text, vocab).rule()


def parse_pattern(text: str, vocab: Vocab) -> Rule:
    """Read a pattern: a rule whose relations may be ANY and whose body may contain a GAP."""
    return _Parser(text, vocab, pattern=True).rule()


def format_rule(
    rule: Rule, vocab: Vocab, style: Literal["long", "short"] = "long", labels: bool = False
) -> str:
    """Write a rule as text that `parse_rule` reads back.

    `labels` gives the names that people see, such as `place of death(X,Y)`, and named evidence in words;
    neither can be read back.
    """
    used = (rule.head,) if is_evidence(rule.body) else (rule.head, *rule.body)
    if not all(0 <= relation < 2 * vocab.num_relations for relation in used):
        raise RuleError(f"{rule} has a relation id outside 0..{2 * vocab.num_relations - 1} of {vocab!r}")
    evidence = kind_of(rule.body[0]) if is_evidence(rule.body) else None
    if labels and evidence is not None:
        variables = "" if style == "short" else "(X,Y)"
        return f"{_relation_text(rule.head, vocab, labels)}{variables} <- {evidence.sentence}"
    if style == "short":
        body = " & ".join(_relation_text(relation, vocab, labels) for relation in rule.body)
        return f"{_relation_text(rule.head, vocab, labels)} <- {body or TRUE}"
    chain = chain_variables(len(rule.body))
    head = f"{_relation_text(rule.head, vocab, labels)}({chain[0]},{chain[-1]})"
    atoms = [
        _atom_text(relation, left, right, vocab, labels)
        for relation, left, right in zip(rule.body, chain, chain[1:], strict=False)
    ]
    return f"{head} <- {' & '.join(atoms) or TRUE}"


def rule_label(rule: Rule, vocab: Vocab, style: Literal["long", "short"] = "long") -> str | None:
    """A rule as people see it, on one line, for comments beside its text; None if that says the same."""
    label = format_rule(rule, vocab, style, labels=True)
    return None if label == format_rule(rule, vocab, style) else printable(label)


def format_constants(head: tuple[int, int], body: tuple[int, int], vocab: Vocab, variable: str = "X") -> str:
    """A rule with constants as text: head is (relation, answer), body (relation, entity) of a fact about X.

    An entity of -1 in the body stands for any.
    """
    relation, answer = head
    by, other = body
    constant = "Z" if other < 0 else _name_text(vocab.entities[other])
    told = _atom_text(relation, variable, _name_text(vocab.entities[answer]), vocab, False)
    return f"{told} <- {_atom_text(by, constant, variable, vocab, False)}"


def chain_variables(length: int) -> list[str]:
    """The variables along a body of this length: X, Z1, Z2, ..., Y."""
    if length == 0:
        return ["X"]
    between = ["Z"] if length == 2 else [f"Z{i}" for i in range(1, length)]
    return ["X", *between, "Y"]


def inverse_step(relation: int, vocab: Vocab) -> int:
    """The inverse of a relation; ANY and GAP are their own inverses."""
    return relation if relation < 0 else vocab.inverse(relation)


def _atom_text(relation: int, left: str, right: str, vocab: Vocab, labels: bool) -> str:
    if relation >= vocab.num_relations:
        relation, left, right = vocab.inverse(relation), right, left
    return f"{_relation_text(relation, vocab, labels)}({left},{right})"


def _relation_text(relation: int, vocab: Vocab, labels: bool) -> str:
    evidence = kind_of(relation)
    if evidence is not None:
        return MARK + evidence.name
    is_inverse = relation >= vocab.num_relations
    base = vocab.inverse(relation) if is_inverse else relation
    name = vocab.relations[base]
    is_for_people = labels and bool(vocab.relation_labels)  # who need no quotes
    text = vocab.relation_label(base) if is_for_people else _name_text(name)
    return text + INVERSE if is_inverse else text


def _name_text(name: str) -> str:
    """A name, quoted unless it is a plain word."""
    if name in (TRUE, DOTS) or not _PLAIN_NAME.fullmatch(name):
        return json.dumps(name, ensure_ascii=False)
    return name


class _Token(NamedTuple):
    kind: str
    text: str
    start: int  # 0-based position in the rule's text


class _Atom(NamedTuple):
    relation: int
    variables: tuple[_Token, ...]  # two, or none in the short form


class _Parser:
    """Recursive descent over the tokens of one rule."""

    def __init__(self, text: str, vocab: Vocab, pattern: bool = False) -> None:
        self.text, self.vocab, self.pattern = text, vocab, pattern
        self.tokens = _tokens(text)
        self.upcoming = next(self.tokens)

    def rule(self) -> Rule:
        head = self.atom(with_variables=None)
        self.take("arrow", "an arrow '<-'")
        body = self.body(with_variables=bool(head.variables))
        if self.upcoming.kind != "end":
            raise self.error(self.upcoming, "expected '&' or the end of the rule")
        if head.relation <= FIRST or (len(body) > 1 and any(atom.relation <= FIRST for atom in body)):
            raise RuleError(f"named evidence ({MARK}...) must be the whole body of a rule\n  {self.text}")
        if not head.variables or [atom.relation for atom in body] == [GAP]:
            return Rule(head.relation, tuple(atom.relation for atom in body))
        return Rule(head.relation, self.chain(head, body))

    def body(self, with_variables: bool) -> list[_Atom]:
        if self.upcoming.kind == "word" and self.upcoming.text == TRUE:
            self.advance()
            return []
        atoms = [self.step(with_variables)]
        while self.upcoming.kind in ("and", "comma"):
            self.advance()
            atoms.append(self.step(with_variables))
        return atoms

    def step(self, with_variables: bool) -> _Atom:
        """An atom of a body, or the gap of a pattern."""
        if not self.pattern or self.upcoming.kind != "word" or self.upcoming.text != DOTS:
            return self.atom(with_variables)
        self.advance()
        return _Atom(GAP, ())

    def atom(self, with_variables: bool | None) -> _Atom:
        """One atom; the head, read with `None`, decides whether the rule has variables."""
        relation = self.relation()
        if with_variables is None:
            with_variables = self.upcoming.kind == "open"
        if not with_variables:
            return _Atom(relation, ())
        self.take("open", "'(' and two variables")
        first = self.take("word", "a variable")
        self.take("comma", "','")
        second = self.take("word", "a variable")
        self.take("close", "')'")
        return _Atom(relation, (first, second))

    def relation(self) -> int:
        token = self.upcoming
        if token.kind not in ("word", "quoted", "named", *(["any"] if self.pattern else [])):
            raise self.error(token, "expected a relation name")
        self.advance()
        if token.kind == "named":
            return self.evidence(token)
        relation = ANY if token.kind == "any" else self.lookup(token)
        while self.upcoming.kind == "inverse":
            self.advance()
            relation = inverse_step(relation, self.vocab)
        return relation

    def evidence(self, token: _Token) -> int:
        if token.text.removeprefix(MARK) not in IDS:
            raise self.error(token, f"unknown evidence; known are {', '.join(IDS)}", found=False)
        return IDS[token.text.removeprefix(MARK)]

    def lookup(self, token: _Token) -> int:
        try:
            name = token.text if token.kind == "word" else json.loads(token.text, strict=False)
            return self.vocab.relation_id(name)
        except json.JSONDecodeError as error:
            reason = error.msg.lower().removesuffix(" starting at")
            raise self.error(token, f"bad quoted name ({reason})", found=False) from None
        except UnknownNameError as error:
            raise self.error(token, str(error), found=False) from None

    def chain(self, head: _Atom, body: list[_Atom]) -> tuple[int, ...]:
        """The relations along the body, each turned to continue from the one before."""
        first, last = head.variables
        if not body and first.text != last.text:
            raise self.error(last, f"expected {first.text!r} again, because the body is 'true'")
        if body and first.text == last.text:
            raise self.error(last, f"expected a variable other than {first.text!r}")
        relations, seen, here = [], {first.text, last.text}, first.text
        for i, atom in enumerate(body, start=1):
            end = self.other_end(atom, here)
            backwards = inverse_step(atom.relation, self.vocab)
            relations.append(atom.relation if end is atom.variables[1] else backwards)
            if i == len(body) and end.text != last.text:
                raise self.error(end, f"expected {last.text!r}, where the chain must end")
            if i < len(body) and end.text in seen:
                raise self.error(end, "expected a new variable that leads to the next atom")
            here = end.text
            seen.add(here)
        return tuple(relations)

    def other_end(self, atom: _Atom, here: str) -> _Token:
        """The other variable of an atom that must contain `here`."""
        if atom.relation == GAP:
            short = "next to other steps, '...' needs the short form, such as: r1 <- r2 & ..."
            raise RuleError(f"{short}\n  {self.text}")
        left, right = atom.variables
        if left.text == here:
            return right
        if right.text == here:
            return left
        raise self.error(left, f"expected the chain variable {here!r} in this atom")

    def take(self, kind: str, expected: str) -> _Token:
        token = self.upcoming
        if token.kind != kind:
            raise self.error(token, f"expected {expected}")
        self.advance()
        return token

    def advance(self) -> None:
        self.upcoming = next(self.tokens)

    def error(self, token: _Token, message: str, found: bool = True) -> RuleError:
        if found:
            message += ", found the end" if token.kind == "end" else f", found {token.text!r}"
        shown = re.sub(r"\s", " ", self.text)
        return RuleError(f"column {token.start + 1}: {message}\n  {shown}\n  {' ' * token.start}^")


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "blank":
            yield _Token(kind, match.group(), match.start())
    end = _Token("end", "", len(text))
    while True:
        yield end
