"""Rules as values: a chain, a rule with constants, a condition, or a feature; and their text.

`format_rule` writes what `rnnlogic.rules.parse` reads: `hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)`, or in short
`hobby <- friend & hobby`; `speaks(X,english) <- lives_in(X,london)`; `risk(X,high) <- age(X) >= 60`;
`hobby(X,Y) <- [linked]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from rnnlogic.base.errors import RuleError
from rnnlogic.data.raw import printable
from rnnlogic.data.vocab import INVERSE, Vocab
from rnnlogic.rules.conditions import Condition, body_text
from rnnlogic.rules.features import FEATURES

End = TypeVar("End", int, str)
TRUE = "true"  # the empty body: X = Y
DOTS = "..."
WORD = r"(?!#|:-)(?:[\w./#+\-]++|:(?!-))++"
CLOSE = 0.8  # of the best confidence: people name the shortest rule that has so much
NONE = -1  # in place of an entity: any
_PLAIN_NAME = re.compile(WORD)
_VARIABLE = re.compile(r"[A-Z]\d*")  # in rules with constants


class Chain(NamedTuple):
    """Walking the relations of the body one after the other implies the head; relation ids are 0..2R-1.

    Attributes:
        head: The relation that the rule concludes.
        body: The relations that it walks along; empty means X = Y.

    Examples:
        >>> Chain(head=0, body=(1, 2))
    """

    head: int
    body: tuple[int, ...]


class Constant(NamedTuple):
    """head(X,constant) <- step(X,other), or with `at_head` head(constant,Y) <- step(other,Y).

    Attributes:
        head: The relation that the rule concludes.
        step: The relation of its body.
        constant: The entity that the conclusion names.
        other: The entity that the body names; -1 for any entity.
        at_head: Whether the conclusion names its head instead of its tail.
    """

    head: int
    step: int
    constant: int
    other: int
    at_head: bool = False


class Feature(NamedTuple):
    """What a feature says about an answer, such as `[linked]`.

    Attributes:
        head: The relation of the answer.
        name: The feature, which `FEATURES` describes.
    """

    head: int
    name: str


Rule = Chain | Constant | Condition | Feature


def length_of(rule: Rule) -> int:
    """Atoms of the body; a feature and a condition count as one."""
    return len(rule.body) if isinstance(rule, Chain) else 1


def is_trivial(rule: Rule) -> bool:
    """Whether a rule concludes the very fact that it asks for, as r <- r does."""
    if isinstance(rule, Constant):
        return rule.step == rule.head and rule.other == rule.constant
    return isinstance(rule, Chain) and rule.body == (rule.head,)


def format_rule(
    rule: Rule, vocab: Vocab, style: Literal["long", "short"] = "long", labels: bool = False
) -> str:
    """Write a rule as text that `parse_rule` reads back.

    Args:
        rule: The rule by ids.
        vocab: The names of these ids.
        style: "long" has variables, such as `hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)`; "short" has none, such
            as `hobby <- friend & hobby`.
        labels: Give the names that people see, such as `place of death(X,Y)`, and features in words; neither
            can be read back.

    Returns:
        The text.

    Raises:
        RNNLogicError: If the vocabulary lacks an id of the rule.
    """
    _require_known(rule, vocab)
    head = _relation_text(rule.head, vocab, labels)
    if isinstance(rule, Constant):
        return _constants_text(rule, vocab, labels)
    if isinstance(rule, Condition):
        return _condition_text(rule, vocab, labels)
    if isinstance(rule, Feature):
        body = FEATURES[rule.name].sentence if labels else f"[{rule.name}]"
        return f"{head} <- {body}" if style == "short" else f"{head}(X,Y) <- {body}"
    if style == "short":
        body = " & ".join(_relation_text(relation, vocab, labels) for relation in rule.body)
        return f"{head} <- {body or TRUE}"
    chain = chain_variables(len(rule.body))
    atoms = [
        _atom_text(relation, left, right, vocab, labels)
        for relation, left, right in zip(rule.body, chain, chain[1:], strict=False)
    ]
    return f"{head}({chain[0]},{chain[-1]}) <- {' & '.join(atoms) or TRUE}"


def _require_known(rule: Rule, vocab: Vocab) -> None:
    """Refuse ids that a vocabulary does not have."""
    relations = (rule.head, *relations_of(rule))
    if not all(0 <= relation < 2 * vocab.num_relations for relation in relations):
        raise RuleError(f"{rule} has a relation id outside 0..{2 * vocab.num_relations - 1} of {vocab!r}")
    if isinstance(rule, Constant) and max(rule.constant, rule.other) >= vocab.num_entities:
        raise RuleError(f"{rule} names an entity that {vocab!r} does not have")
    if isinstance(rule, Condition) and max(rule.of_x, rule.of_y) >= len(vocab.attributes):
        raise RuleError(f"{rule} has an attribute that {vocab!r} does not have")


def relations_of(rule: Rule) -> tuple[int, ...]:
    """The relations of a body."""
    if isinstance(rule, Chain):
        return rule.body
    return (rule.step,) if isinstance(rule, Constant) else ()


class ReadingOrder(NamedTuple):
    """Which of two rules with records alike a person would name: the one that comes first."""

    size: int  # atoms of the body and entities that the rule names
    is_recursive: bool  # the body uses the relation that it explains, which a definition does not
    is_backward: bool  # the first fact is not about X


def reading_order(rule: Rule, num_relations: int) -> ReadingOrder:
    """The place of a rule among others for a reader."""
    named = (1 if rule.other == NONE else 2) if isinstance(rule, Constant) else 0
    named += isinstance(rule, Condition) and not rule.compares
    steps = relations_of(rule)
    is_recursive = rule.head % num_relations in {step % num_relations for step in steps}
    is_backward = isinstance(rule, Chain) and rule.body[:1] >= (num_relations,)
    return ReadingOrder(length_of(rule) + named, is_recursive, is_backward)


def rule_label(rule: Rule, vocab: Vocab, style: Literal["long", "short"] = "long") -> str | None:
    """A rule as people see it, on one line, for comments beside its text; None if that says the same."""
    label = format_rule(rule, vocab, style, labels=True)
    return None if label == format_rule(rule, vocab, style) else printable(label)


def _constants_text(rule: Constant, vocab: Vocab, labels: bool) -> str:
    """A rule with constants, its head in the direction of its relation id."""
    is_twice = rule.constant == rule.other  # unquoted, it would be a variable

    def name(entity: int) -> str:
        return vocab.described(entity) if labels else constant_text(vocab.entities[entity], is_twice)

    constant, other = name(rule.constant), "Z" if rule.other == NONE else name(rule.other)
    relation = _relation_text(rule.head, vocab, labels)
    if rule.at_head:
        return f"{relation}({constant},Y) <- {_atom_text(rule.step, other, 'Y', vocab, labels)}"
    return f"{relation}(X,{constant}) <- {_atom_text(rule.step, 'X', other, vocab, labels)}"


def _condition_text(rule: Condition, vocab: Vocab, labels: bool) -> str:
    def name(attribute: int) -> str:
        return vocab.attribute_label(attribute) if labels else _name_text(vocab.attributes[attribute].name)

    ends = ["X", "Y"]
    if not rule.compares:
        constant = vocab.described(rule.constant) if labels else constant_text(vocab.entities[rule.constant])
        ends[not rule.at_head] = constant
    head = _relation_text(rule.head, vocab, labels)
    return f"{head}({','.join(ends)}) <- {body_text(rule, vocab, name, labels)}"


def constant_text(name: str, quoted: bool = False) -> str:
    """The name of an entity in a rule, quoted if it could be read as anything else."""
    if quoted or is_variable(name):
        return json.dumps(name, ensure_ascii=False)
    return _name_text(name)


def is_variable(word: str) -> bool:
    """Whether a word in a rule with constants is a variable."""
    return _VARIABLE.fullmatch(word) is not None


def chain_variables(length: int) -> list[str]:
    """The variables along a body of this length: X, Z1, Z2, ..., Y."""
    if length == 0:
        return ["X"]
    between = ["Z"] if length == 2 else [f"Z{i}" for i in range(1, length)]
    return ["X", *between, "Y"]


def directed(relation: int, left: End, right: End, num_relations: int) -> tuple[int, End, End]:
    """An atom in the direction of the graph."""
    if relation < num_relations:
        return relation, left, right
    return relation - num_relations, right, left


def mirrored(rule: Rule, num_relations: int) -> Rule:
    """The same rule read from Y to X, for the inverse of its head."""
    return turned(rule, lambda relation: (relation + num_relations) % (2 * num_relations))


def turned(rule: Rule, inverse: Callable[[Any], Any]) -> Rule:
    """The same rule, or pattern of rules, read from Y to X."""
    if isinstance(rule, Chain):
        return Chain(inverse(rule.head), tuple(inverse(step) for step in reversed(rule.body)))
    if isinstance(rule, Constant):
        return rule._replace(head=inverse(rule.head), step=inverse(rule.step), at_head=not rule.at_head)
    if isinstance(rule, Condition):
        return rule.turned(inverse(rule.head))
    return rule._replace(head=inverse(rule.head))


def _atom_text(relation: int, left: str, right: str, vocab: Vocab, labels: bool) -> str:
    relation, left, right = directed(relation, left, right, vocab.num_relations)
    return f"{_relation_text(relation, vocab, labels)}({left},{right})"


def _relation_text(relation: int, vocab: Vocab, labels: bool) -> str:
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
