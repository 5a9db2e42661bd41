"""Chain rules as text: `hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)`, or in short `hobby <- friend & hobby`.

    rule  = atom arrow body            arrow = "<-" | "<=" | "←" | ":-"
    body  = "true" | atom { and atom } and   = "&" | "∧" | ","
    atom  = name [ "(" place "," place ")" ]    (either all atoms of a rule have places or none)
    name  = ( word | quoted ) { "^-1" }
    place = word | quoted

A word consists of letters, digits and `_ . / : # + -`. Any other name is a JSON string in double
quotes. The body `true` is the empty walk: X = Y. A body `@linked` is named evidence
(see `evidence.py`), not a chain. A `#` between tokens starts a comment. In a pattern, `*`
stands for any relation and `...` for any steps; next to other steps, `...` needs the short form.

A rule whose body has one atom may name entities: `speaks(X,english) <- lives_in(X,london)`, or
`works_in(X,lab) <- uses(X,Z)` if the body only asks for some fact. There a capital letter, with digits or
without, is a variable, and anything else an entity; an entity `X` is written `"X"`. In a pattern, `*`
stands for any entity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from rnnlogic.base.errors import RuleError, UnknownNameError
from rnnlogic.data.raw import printable
from rnnlogic.data.vocab import INVERSE, Vocab
from rnnlogic.rules.constants import ANY_ENTITY, NONE, Constants, constants_of
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
_VARIABLE = re.compile(r"[A-Z]\d*")  # in rules with constants


class Rule(NamedTuple):
    """Walking the relations of `body` one after the other implies `head`; relation ids are 0..2R-1."""

    head: int
    body: tuple[int, ...]

    @property
    def is_trivial(self) -> bool:
        """Whether this is r <- r, which says nothing."""
        told = constants_of(self.body)
        return self.body == (self.head,) or (
            told is not None and told.step == self.head and told.other == told.constant
        )


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
    told = constants_of(rule.body)
    used = (rule.head,) if is_evidence(rule.body) else (rule.head, *(rule.body if told is None else ()))
    if not all(0 <= relation < 2 * vocab.num_relations for relation in used):
        raise RuleError(f"{rule} has a relation id outside 0..{2 * vocab.num_relations - 1} of {vocab!r}")
    if told is not None:
        return _constants_text(rule.head, told, vocab, labels)
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
    constant = "Z" if other < 0 else constant_text(vocab.entities[other])
    told = _atom_text(relation, variable, constant_text(vocab.entities[answer]), vocab, False)
    return f"{told} <- {_atom_text(by, constant, variable, vocab, False)}"


def _constants_text(head: int, told: Constants, vocab: Vocab, labels: bool) -> str:
    """A rule with constants, its head in the direction of its relation id."""
    if max(told.constant, told.other) >= vocab.num_entities or not 0 <= told.step < 2 * vocab.num_relations:
        raise RuleError(f"{told} of a rule does not fit {vocab!r}")
    is_twice = told.constant == told.other  # unquoted, it would be a variable

    def name(entity: int) -> str:
        return vocab.described(entity) if labels else constant_text(vocab.entities[entity], is_twice)

    constant, other = name(told.constant), "Z" if told.other == NONE else name(told.other)
    relation = _relation_text(head, vocab, labels)
    if told.at_head:
        return f"{relation}({constant},Y) <- {_atom_text(told.step, other, 'Y', vocab, labels)}"
    return f"{relation}(X,{constant}) <- {_atom_text(told.step, 'X', other, vocab, labels)}"


def constant_text(name: str, quoted: bool = False) -> str:
    """The name of an entity in a rule, quoted if it could be read as anything else."""
    if quoted or _VARIABLE.fullmatch(name):
        return json.dumps(name, ensure_ascii=False)
    return _name_text(name)


def chain_variables(length: int) -> list[str]:
    """The variables along a body of this length: X, Z1, Z2, ..., Y."""
    if length == 0:
        return ["X"]
    between = ["Z"] if length == 2 else [f"Z{i}" for i in range(1, length)]
    return ["X", *between, "Y"]


def inverse_step(relation: int, vocab: Vocab) -> int:
    """The inverse of a relation; ANY and GAP are their own inverses."""
    return relation if relation < 0 else vocab.inverse(relation)


def mirrored(rule: Rule, num_relations: int) -> Rule:
    """The same rule read from Y to X: r^-1 <- the body backwards."""
    turned = [step if step < 0 else (step + num_relations) % (2 * num_relations) for step in rule.body]
    return Rule((rule.head + num_relations) % (2 * num_relations), tuple(reversed(turned)))


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
    variables: tuple[_Token, ...]  # or entities; two, or none in the short form


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
        if self.names_entities(head, body):
            return Rule(head.relation, self.constants(head, body).body)
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
        first = self.place()
        self.take("comma", "','")
        second = self.place()
        self.take("close", "')'")
        return _Atom(relation, (first, second))

    def place(self) -> _Token:
        """A variable or an entity."""
        names = ["quoted", *(["any"] if self.pattern else [])]
        return self.take(self.upcoming.kind if self.upcoming.kind in names else "word", "a variable")

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
        return self.named(token, self.vocab.relation_id)

    def named(self, token: _Token, id_of: Callable[[str], int]) -> int:
        """The id of a name, plain or quoted."""
        try:
            name = token.text if token.kind == "word" else json.loads(token.text, strict=False)
            return id_of(name)
        except json.JSONDecodeError as error:
            reason = error.msg.lower().removesuffix(" starting at")
            raise self.error(token, f"bad quoted name ({reason})", found=False) from None
        except UnknownNameError as error:
            raise self.error(token, str(error), found=False) from None

    def names_entities(self, head: _Atom, body: list[_Atom]) -> bool:
        """Whether a rule has constants: names in quotes, or one atom that is no chain and other words."""
        places = [place for atom in (head, *body) for place in atom.variables]
        if any(place.kind != "word" for place in places):
            return True
        if len(body) != 1 or not body[0].variables or body[0].relation <= FIRST:
            return False
        is_chain = {place.text for place in head.variables} == {place.text for place in body[0].variables}
        return not is_chain and not all(map(_is_variable, places))

    def constants(self, head: _Atom, body: list[_Atom]) -> Constants:
        """The parts of a rule with constants."""
        if len(body) != 1 or not body[0].variables:
            raise RuleError(f"a rule that names entities needs a body of one atom\n  {self.text}")
        free = [_is_variable(place) for place in head.variables]
        if sum(free) != 1:
            raise self.error(head.variables[1], "expected one variable and one entity in the head")
        at_head = free[1]
        variable, named = head.variables[at_head], head.variables[not at_head]
        other = self.other_end(body[0], variable.text)
        if _is_variable(other) and other.text == variable.text:
            raise self.error(other, f"expected another variable than {variable.text!r}, or an entity")
        # The body is walked from X to what it names, or from there to Y.
        forwards = (other is body[0].variables[1]) != at_head
        step = body[0].relation if forwards else inverse_step(body[0].relation, self.vocab)
        reached = NONE if _is_variable(other) else self.entity(other)
        return Constants(at_head, self.entity(named), reached, step)

    def entity(self, token: _Token) -> int:
        if token.kind == "any":
            return ANY_ENTITY
        return self.named(token, self.vocab.entity_id)

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
        if left.text == here and left.kind == "word":
            return right
        if right.text == here and right.kind == "word":
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


def _is_variable(token: _Token) -> bool:
    return token.kind == "word" and _VARIABLE.fullmatch(token.text) is not None


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "blank":
            yield _Token(kind, match.group(), match.start())
    end = _Token("end", "", len(text))
    while True:
        yield end
