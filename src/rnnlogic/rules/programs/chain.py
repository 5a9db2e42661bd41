"""What all program writers share: rules as atoms between the places of a chain.

A rule with constants has one atom. Its constants are bound to places: X or Y, and the one behind them, Z.
A condition has a test instead of atoms; dates are days, date-times seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import PathKind
from rnnlogic.data.attributes import Attribute, Values
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.conditions import Condition, Interval
from rnnlogic.rules.rule import (
    NONE,
    Chain,
    Constant,
    Feature,
    chain_variables,
    directed,
    format_rule,
    rule_label,
)
from rnnlogic.rules.table import WEIGHT, RuleTable


class Atom(NamedTuple):
    """relation(left, right) with places of the chain: 0 is X, `length` is Y."""

    relation: str
    left: int
    right: int


class Test(NamedTuple):
    """A condition on the value of X, on that of Y, or on how much more that of Y is."""

    of_x: Attribute | None
    of_y: Attribute | None
    interval: Interval
    sign: str | None  # how X compares with Y, if that is all it says

    @property
    def values(self) -> list[tuple[int, Attribute]]:
        """The places that have values, with their attributes."""
        return [(i, one) for i, one in enumerate((self.of_x, self.of_y)) if one is not None]

    def checks(self, terms: Mapping[int, str], number: Callable[[float], str]) -> list[str]:
        """Comparisons, by what stands for the values of the places."""
        term = " - ".join(terms[place] for place, _ in reversed(self.values))
        return [f"{term} {sign} {number(limit)}" for sign, limit in self.interval.limits]


class Clause(NamedTuple):
    """A rule ready to be written."""

    number: int  # from 1
    head: Atom
    body: list[Atom]
    weight: float | None
    text: str  # for comments; without line breaks
    label: str | None  # the same as people see it, if relations have labels
    bound: Mapping[int, str]  # entities at places
    unequal: list[tuple[int, int]]  # places with different entities
    test: Test | None = None  # the body of a condition

    @property
    def has_constants(self) -> bool:
        """Whether it is a rule with constants; its body holds or not, so it counts as one path."""
        return bool(self.bound) and self.test is None

    @property
    def variables(self) -> list[str]:
        """The variable of each place."""
        return [*chain_variables(self.length), "Z"] if self.has_constants else chain_variables(self.length)

    def terms(self, name: Callable[[str], str], variable: str = "{}") -> list[str]:
        """What stands for each place: a variable, or the entity that is bound to it."""
        shown = enumerate(self.variables)
        return [name(self.bound[i]) if i in self.bound else variable.format(one) for i, one in shown]

    @property
    def free(self) -> int:
        """The place of X or Y that is a variable, in a rule with constants."""
        return 0 if self.length in self.bound else self.length

    @property
    def length(self) -> int:
        """Number of atoms in the body, and the place of Y."""
        return len(self.body) if self.test is None else 1

    @property
    def note(self) -> str:
        """Number, rule, weight and label, for a comment."""
        weight = "" if self.weight is None else f"  weight {self.weight:.6g}"
        label = "" if self.label is None else f"  that is: {self.label}"
        return f"{self.number}: {self.text}{weight}{label}"


def clauses(table: RuleTable, vocab: Vocab, path_kind: PathKind) -> Iterator[Clause]:
    """The rules as atoms, with inverse steps turned around."""
    is_simple = path_kind == "simple"
    for number, (rule, weight) in enumerate(zip(table.rules, table.column(WEIGHT), strict=True), start=1):
        text = format_rule(rule, vocab)
        if isinstance(rule, Feature) or (isinstance(rule, Chain) and not rule.body):
            raise RuleError(f"{text}: a rule without a body cannot be written as a program; leave it out")
        body, bound = _body(rule, vocab)
        differ = rule.compares if isinstance(rule, Condition) else isinstance(rule, Chain) and is_simple
        length = max(len(body), 1)
        yield Clause(
            number,
            _atom(rule.head, 0, length, vocab),
            body,
            weight,
            text,
            rule_label(rule, vocab),
            bound,
            _unequal(length) if differ else [],
            _test(rule, vocab) if isinstance(rule, Condition) else None,
        )


def weighted(table: RuleTable, relation: int, vocab: Vocab, path_kind: PathKind) -> list[Clause]:
    """The clauses of one relation; all must have weights."""
    if not len(table.rules.by_head(relation)):
        raise RuleError(f"there are no rules for {vocab.relation_name(relation)}")
    found = list(clauses(table.take(table.rules.by_head(relation)), vocab, path_kind))
    if any(clause.weight is None for clause in found):
        raise RuleError("a ranking needs rules with weights: those of a run, or of a JSON Lines file")
    return found


def double(value: Any) -> str:
    """A number as a double in SQL and in SPARQL."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def without_nul(name: str, language: str) -> str:
    """The name; an error if it contains a NUL character."""
    if "\0" in name:
        raise RuleError(f"the name {name!r} contains a NUL character, which {language} cannot express")
    return name


def _body(rule: Chain | Constant | Condition, vocab: Vocab) -> tuple[list[Atom], dict[int, str]]:
    """The atoms of a body, and the entities at places."""
    if isinstance(rule, Chain):
        return [_atom(relation, i, i + 1, vocab) for i, relation in enumerate(rule.body)], {}
    named = 0 if rule.at_head else 1
    if isinstance(rule, Condition):
        return [], {} if rule.compares else {named: vocab.entities[rule.constant]}
    bound = {named: vocab.entities[rule.constant]}
    bound |= {} if rule.other == NONE else {2: vocab.entities[rule.other]}
    return [_atom(rule.step, *((2, 1) if rule.at_head else (0, 2)), vocab)], bound


def _test(rule: Condition, vocab: Vocab) -> Test:
    of_x, of_y = (None if i < 0 else vocab.attributes[i] for i in (rule.of_x, rule.of_y))
    return Test(of_x, of_y, rule.interval, rule.sign)


def facts_in(triples: Triples, vocab: Vocab, name: Callable[[str], str]) -> Iterator[tuple[str, str, str]]:
    """Facts with names as a language writes them; each name is written once."""
    entities, relations = [*map(name, vocab.entities)], [*map(name, vocab.relations)]
    for head, relation, tail in triples.tolist():
        yield entities[head], relations[relation], entities[tail]


def values_in(values: Values | None, vocab: Vocab) -> Iterator[tuple[str, Attribute, float]]:
    """The values of entities, for programs: the name of an entity, attribute, number."""
    for attribute, own in zip(vocab.attributes, () if values is None else values, strict=False):
        for entity in np.flatnonzero(~np.isnan(own)).tolist():
            yield vocab.entities[entity], attribute, float(own[entity])


def _unequal(length: int) -> list[tuple[int, int]]:
    """The places that differ on a simple path, as `simple_counts` tells."""
    places = range(length + 1)
    return [(i, j) for j in places for i in places[:j] if i == 0 or j - i <= 2]


def _atom(relation: int, left: int, right: int, vocab: Vocab) -> Atom:
    relation, left, right = directed(relation, left, right, vocab.num_relations)
    return Atom(vocab.relations[relation], left, right)
