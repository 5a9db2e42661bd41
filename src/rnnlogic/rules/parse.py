"""Rules and patterns from text.

    rule  = atom arrow body            arrow = "<-" | "<=" | "←" | ":-"
    body  = "true" | feature | condition | atom { and atom }      and = "&" | "∧" | ","
    atom  = name [ "(" place "," place ")" ]    (either all atoms of a rule have places or none)
    name  = ( word | quoted ) { "^-1" }
    place = word | quoted
    feature = "[" word "]"

A word consists of letters, digits and `_ . / : # + -`. Any other name is a JSON string in double
quotes. The body `true` is the empty walk: X = Y. A feature is the whole body of a rule (see `features.py`).
A `#` between tokens starts a comment. In a pattern, `*` stands for any relation and `...` for any steps;
next to other steps, `...` needs the short form.

A rule whose body has one atom may name entities: `speaks(X,english) <- lives_in(X,london)`, or
`works_in(X,lab) <- uses(X,Z)` if the body only asks for some fact. There a capital letter, with digits or
without, is a variable, and anything else an entity; an entity `X` is written `"X"`. In a pattern, `*`
stands for any entity.

A condition on numbers or dates is a whole body: `risk(X,high) <- 60 <= age(X) < 70`,
`older(X,Y) <- born(X) < born(Y)`, `near(X,Y) <- |year(X) - year(Y)| <= 2`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from rnnlogic.base.errors import RuleError, UnknownNameError
from rnnlogic.data.attributes import value_of
from rnnlogic.data.vocab import INVERSE, Vocab
from rnnlogic.rules.conditions import Condition, Interval, after
from rnnlogic.rules.features import FEATURES
from rnnlogic.rules.old import MARK, OLD_NAMES
from rnnlogic.rules.rule import DOTS, NONE, TRUE, WORD, Chain, Constant, Feature, Rule, is_variable


class Wild(Enum):
    """What stands in a pattern in place of a relation or an entity."""

    ANY = "*"  # any relation in either direction, or any entity
    GAP = "..."  # any number of steps, also none


Step = int | Wild
_TOKEN_KINDS = {
    "blank": r"\s+|#[^\n]*",
    "arrow": "<-|<=|←|:-",
    "word": WORD,
    "quoted": r'"(?:[^"\\]|\\.)*"?',
    "inverse": re.escape(INVERSE),
    "open": r"\(",
    "close": r"\)",
    "comma": ",",
    "and": "[&∧]",
    "any": r"\*",
    "feature": r"\[[^\]\n]*\]?",
    "old": MARK + r"\w*",
    "compare": "[<>]=?|[≤≥=]",
    "bar": r"\|",
    "unknown": ".",
}
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _TOKEN_KINDS.items()), re.DOTALL)


def parse_rule(text: str, vocab: Vocab) -> Rule:
    """Read a rule in the long or the short form.

    Args:
        text: The rule, as `format_rule` writes it.
        vocab: The names that it may use.

    Returns:
        The rule by the ids of these names.

    Raises:
        RNNLogicError: If the text is no rule; the message names the column and what was expected.

    Examples:
        >>> vocab = load_dataset("umls").vocab
        >>> parse_rule("affects(X,Y) <- causes(X,Z) & affects(Z,Y)", vocab)
        >>> parse_rule("affects <- causes & affects", vocab)  # the same rule
    """
    return _Parser(text, vocab).rule()


def parse_pattern(text: str, vocab: Vocab) -> Any:
    """Read a pattern: a rule with a `Wild` in place of some relations and entities."""
    return _Parser(text, vocab, pattern=True).rule()


class _Token(NamedTuple):
    kind: str
    text: str
    start: int  # 0-based position in the rule's text


class _Atom(NamedTuple):
    relation: Any  # an id, or a Wild
    places: tuple[_Token, ...]  # variables or entities; two, or none in the short form


class _Quantity(NamedTuple):
    """What a condition is about: an attribute of X or of Y, or how much more that of Y is than that of X."""

    of_x: int  # an attribute, or -1
    of_y: int
    is_turned: bool = False  # that of X minus that of Y
    is_absolute: bool = False

    @property
    def compares(self) -> bool:
        """Whether it is about both."""
        return self.of_x != NONE and self.of_y != NONE


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}  # the same read from right to left


def _interval(sign: str, bound: float) -> Interval:
    """The numbers that have this relation to a bound."""
    low = {">": after(bound), ">=": bound, "=": bound}.get(sign, -math.inf)
    return Interval(low, {"<": bound, "<=": after(bound), "=": after(bound)}.get(sign, math.inf))


class _Parser:
    """Recursive descent over the tokens of one rule."""

    def __init__(self, text: str, vocab: Vocab, pattern: bool = False) -> None:
        self.text, self.vocab, self.pattern = text, vocab, pattern
        self.tokens = _tokens(text)
        self.upcoming = next(self.tokens)

    def rule(self) -> Rule:
        self.refuse_feature()
        head = self.atom(with_places=None)
        self.take("arrow", "an arrow '<-'")
        if self.at_feature:
            found: Rule = self.feature(head)
        else:
            found = self.condition(head) if self.compares_values() else self.chain_or_constants(head)
        self.refuse_feature()
        if self.upcoming.kind != "end":
            raise self.error(self.upcoming, "expected '&' or the end of the rule")
        return found

    @property
    def at_feature(self) -> bool:
        return self.upcoming.kind in ("feature", "old")

    def refuse_feature(self) -> None:
        """Features stand alone in a body."""
        if self.at_feature:
            raise RuleError(f"a feature ([...]) must be the whole body of a rule\n  {self.text}")

    def feature(self, head: _Atom) -> Feature:
        """The feature that is the whole body."""
        token = self.upcoming
        self.advance()
        if token.kind == "old":
            name = OLD_NAMES.get(token.text.removeprefix(MARK), "")
            if self.upcoming.kind == "open":
                self.places()
        else:
            name = token.text.removeprefix("[").removesuffix("]").strip()
        if name not in FEATURES:
            raise self.error(token, f"unknown feature; known are {', '.join(FEATURES)}", found=False)
        if self.upcoming.kind in ("and", "comma"):
            raise RuleError(f"a feature ([...]) must be the whole body of a rule\n  {self.text}")
        return Feature(head.relation, name)

    def compares_values(self) -> bool:
        """Whether the body is a condition: there is a sign that nothing else has."""
        rest = _TOKEN.finditer(self.text, self.upcoming.start)
        return any(match.lastgroup in ("compare", "bar") or match.group() == "<=" for match in rest)

    def condition(self, head: _Atom) -> Condition:
        """A condition on numbers or dates, up to the end."""
        if not head.places:
            raise RuleError(f"a rule with a condition needs its variables: risk(X,high)\n  {self.text}")
        start, sides, signs = self.upcoming, [self.side(head)], list[str]()
        while self.upcoming.kind in ("compare", "arrow"):
            signs.append({"≤": "<=", "≥": ">="}.get(self.upcoming.text, self.upcoming.text))
            self.advance()
            sides.append(self.side(head))
        quantities = [side for side in sides if isinstance(side, _Quantity)]
        if not {*signs} <= {*_FLIPPED} or not quantities or not 2 <= len(sides) <= 3:
            raise self.error(start, "expected a condition such as age(X) >= 60", found=False)
        if len(sides) == 2 and len(quantities) == 2:
            quantity = self.difference(start, *quantities)
            return self.with_condition(head, start, quantity, _interval(_FLIPPED[signs[0]], 0.0))
        middle = sides[1] if len(sides) == 3 else quantities[0]
        if len(quantities) != 1 or not isinstance(middle, _Quantity):
            raise self.error(start, "expected one attribute between its bounds", found=False)
        if isinstance(sides[0], _Token):
            signs[0] = _FLIPPED[signs[0]]
        bounds = [self.bound(side, middle) for side in sides if isinstance(side, _Token)]
        parts = [_interval(sign, bound) for sign, bound in zip(signs, bounds, strict=True)]
        interval = Interval(max(part.low for part in parts), min(part.high for part in parts))
        return self.with_condition(head, start, middle, interval)

    def side(self, head: _Atom) -> _Quantity | _Token:
        """A bound, an attribute, a difference of two, or how far two are apart."""
        is_absolute = self.upcoming.kind == "bar"
        if is_absolute:
            self.advance()
        token = self.upcoming
        self.take(token.kind if token.kind == "quoted" else "word", "a number, a date or an attribute")
        if self.upcoming.kind != "open" and not is_absolute:
            return token
        quantity = self.value(token, head)
        if self.upcoming.kind == "word" and self.upcoming.text == "-":
            minus = self.upcoming
            self.advance()
            token = self.upcoming
            self.take(token.kind if token.kind == "quoted" else "word", "an attribute")
            quantity = self.difference(minus, self.value(token, head), quantity)
        if is_absolute:
            self.take("bar", "'|'")
        return quantity._replace(is_absolute=is_absolute)

    def value(self, token: _Token, head: _Atom) -> _Quantity:
        """An attribute of X or Y."""
        attribute = self.named(token, self.vocab.attribute_id)
        self.take("open", "'(' and a variable")
        variable = self.take("word", "a variable")
        self.take("close", "')'")
        ends = [place.text if _is_variable(place) else None for place in head.places]
        if variable.text not in ends:
            raise self.error(variable, "expected a variable of the head")
        return _Quantity(*((attribute, NONE) if variable.text == ends[0] else (NONE, attribute)))

    def difference(self, token: _Token, one: _Quantity, other: _Quantity) -> _Quantity:
        """The second value minus the first."""
        kinds = {self.vocab.attributes[i].kind for i in (*one[:2], *other[:2]) if i != NONE}
        if one.compares or other.compares or (one.of_x == NONE) == (other.of_x == NONE):
            raise self.error(token, "expected to compare an attribute of X with one of Y", found=False)
        if len(kinds) > 1:
            raise self.error(token, f"a {' cannot be compared with a '.join(sorted(kinds))}", found=False)
        return _Quantity(max(one.of_x, other.of_x), max(one.of_y, other.of_y), one.of_x == NONE)

    def bound(self, token: _Token, quantity: _Quantity) -> float:
        """A bound as a number."""
        kind = self.vocab.attributes[max(quantity.of_x, quantity.of_y)].kind
        kind = "number" if quantity.compares else kind
        number = value_of(json.loads(token.text) if token.kind == "quoted" else token.text, kind)
        if number is None:
            wanted = {"number": "a number", "date": "a date such as 2020-12-31"}
            raise self.error(token, f"expected {wanted.get(kind, 'a time such as 2020-12-31T12:00')}")
        return number

    def with_condition(
        self, head: _Atom, start: _Token, quantity: _Quantity, interval: Interval
    ) -> Condition:
        """The rule, its interval that of Y minus X."""
        if quantity.is_absolute:
            interval = Interval(max(interval.low, interval.turned.low), interval.high)
        if quantity.is_turned:
            interval = interval.turned
        if not interval.low < interval.high:
            raise self.error(start, "no number lies within these bounds", found=False)
        free = [_is_variable(place) for place in head.places]
        if quantity.compares and all(free) and head.places[0].text != head.places[1].text:
            return Condition(head.relation, NONE, quantity.of_x, quantity.of_y, interval)
        if quantity.compares or sum(free) != 1:
            raise self.error(
                head.places[1],
                "expected risk(X,high) for a condition on X, older(X,Y) for a comparison",
                False,
            )
        named = self.entity(head.places[free[0]])
        return Condition(head.relation, named, quantity.of_x, quantity.of_y, interval)

    def chain_or_constants(self, head: _Atom) -> Rule:
        body = self.body(with_places=bool(head.places))
        if self.names_entities(head, body):
            return self.constants(head, body)
        if not head.places or [atom.relation for atom in body] == [Wild.GAP]:
            return Chain(head.relation, tuple(atom.relation for atom in body))
        return Chain(head.relation, self.chain(head, body))

    def body(self, with_places: bool) -> list[_Atom]:
        if self.upcoming.kind == "word" and self.upcoming.text == TRUE:
            self.advance()
            return []
        atoms = [self.step(with_places)]
        while self.upcoming.kind in ("and", "comma"):
            self.advance()
            self.refuse_feature()
            atoms.append(self.step(with_places))
        return atoms

    def step(self, with_places: bool) -> _Atom:
        """An atom of a body, or the gap of a pattern."""
        if not self.pattern or self.upcoming.kind != "word" or self.upcoming.text != DOTS:
            return self.atom(with_places)
        self.advance()
        return _Atom(Wild.GAP, ())

    def atom(self, with_places: bool | None) -> _Atom:
        """One atom; the head, read with `None`, decides whether the rule has variables."""
        relation = self.relation()
        if with_places is None:
            with_places = self.upcoming.kind == "open"
        return _Atom(relation, self.places() if with_places else ())

    def places(self) -> tuple[_Token, _Token]:
        """Two variables or entities in brackets."""
        self.take("open", "'(' and two variables")
        first = self.place()
        self.take("comma", "','")
        second = self.place()
        self.take("close", "')'")
        return first, second

    def place(self) -> _Token:
        """A variable or an entity."""
        names = ["quoted", *(["any"] if self.pattern else [])]
        return self.take(self.upcoming.kind if self.upcoming.kind in names else "word", "a variable")

    def relation(self) -> Step:
        token = self.upcoming
        if token.kind not in ("word", "quoted", *(["any"] if self.pattern else [])):
            raise self.error(token, "expected a relation name")
        self.advance()
        relation = Wild.ANY if token.kind == "any" else self.named(token, self.vocab.relation_id)
        while self.upcoming.kind == "inverse":
            self.advance()
            relation = inverse_step(relation, self.vocab)
        return relation

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
        places = [place for atom in (head, *body) for place in atom.places]
        if any(place.kind != "word" for place in places):
            return True
        if len(body) != 1 or not body[0].places:
            return False
        is_chain = {place.text for place in head.places} == {place.text for place in body[0].places}
        return not is_chain and not all(map(_is_variable, places))

    def constants(self, head: _Atom, body: list[_Atom]) -> Constant:
        """The parts of a rule with constants."""
        if len(body) != 1 or not body[0].places:
            raise RuleError(f"a rule that names entities needs a body of one atom\n  {self.text}")
        free = [_is_variable(place) for place in head.places]
        if sum(free) != 1:
            raise self.error(head.places[1], "expected one variable and one entity in the head")
        at_head = free[1]
        variable, named = head.places[at_head], head.places[not at_head]
        other = self.other_end(body[0], variable.text)
        if _is_variable(other) and other.text == variable.text:
            raise self.error(other, f"expected another variable than {variable.text!r}, or an entity")
        # The body is walked from X to what it names, or from there to Y.
        forwards = (other is body[0].places[1]) != at_head
        step = body[0].relation if forwards else inverse_step(body[0].relation, self.vocab)
        reached = NONE if _is_variable(other) else self.entity(other)
        return Constant(head.relation, step, self.entity(named), reached, at_head)

    def entity(self, token: _Token) -> Any:
        if token.kind == "any":
            return Wild.ANY
        return self.named(token, self.vocab.entity_id)

    def chain(self, head: _Atom, body: list[_Atom]) -> tuple[int, ...]:
        """The relations along the body, each turned to continue from the one before."""
        first, last = head.places
        if not body and first.text != last.text:
            raise self.error(last, f"expected {first.text!r} again, because the body is 'true'")
        if body and first.text == last.text:
            raise self.error(last, f"expected a variable other than {first.text!r}")
        relations, seen, here = [], {first.text, last.text}, first.text
        for i, atom in enumerate(body, start=1):
            end = self.other_end(atom, here)
            backwards = inverse_step(atom.relation, self.vocab)
            relations.append(atom.relation if end is atom.places[1] else backwards)
            if i == len(body) and end.text != last.text:
                raise self.error(end, f"expected {last.text!r}, where the chain must end")
            if i < len(body) and end.text in seen:
                raise self.error(end, "expected a new variable that leads to the next atom")
            here = end.text
            seen.add(here)
        return tuple(relations)

    def other_end(self, atom: _Atom, here: str) -> _Token:
        """The other variable of an atom that must contain `here`."""
        if atom.relation is Wild.GAP:
            short = "next to other steps, '...' needs the short form, such as: r1 <- r2 & ..."
            raise RuleError(f"{short}\n  {self.text}")
        left, right = atom.places
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


def inverse_step(relation: Any, vocab: Vocab) -> Any:
    """The inverse of a relation; what stands for any is its own inverse."""
    return relation if isinstance(relation, Wild) else vocab.inverse(relation)


def _is_variable(token: _Token) -> bool:
    return token.kind == "word" and is_variable(token.text)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "blank":
            yield _Token(kind, match.group(), match.start())
    end = _Token("end", "", len(text))
    while True:
        yield end
