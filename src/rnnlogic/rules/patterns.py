"""Which rules may be used, by patterns: `treats <- * & causes`, `* <- isa & ...`, `treats(X,*) <- *(X,Z)`.

Rules that match a pattern are banned, or all others are. A pattern speaks of both directions: `h(X,Y) <-
body` read from Y to X is a rule for h^-1, and matches too. `h <- ...` matches every rule and feature of h.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.features import code_of
from rnnlogic.rules.parse import Wild, inverse_step, parse_pattern, parse_rule
from rnnlogic.rules.rule import Constant, Feature, Rule, turned
from rnnlogic.rules.ruleset import Kind, RuleSet

Pattern = Any  # a rule with a Wild in place of some relations and entities
Mask = NDArray[np.bool_]


class Patterns:
    """The rules that match at least one of some patterns."""

    def __init__(self, patterns: Iterable[Pattern], vocab: Vocab) -> None:
        """Take patterns as `parse_pattern` returns them."""
        both = dict.fromkeys(
            turned for pattern in patterns for turned in (pattern, mirror_image(pattern, vocab))
        )
        self.heads = {pattern.head for pattern in both}
        self.whole = {pattern.head for pattern in both if _is_of_all(pattern)}
        self._rules = frozenset(pattern for pattern in both if not is_open(pattern))
        self._patterns = [pattern for pattern in both if is_open(pattern)]

    def mask(self, rules: RuleSet) -> Mask:
        """Which rules [n] match."""
        found = np.zeros(len(rules), np.bool_)
        if self._rules:
            found |= np.fromiter((rule in self._rules for rule in rules), np.bool_, len(rules))
        for pattern in self._patterns:
            found |= matches(pattern, rules)
        return found


class Banned:
    """The rules that match a pattern, and those that match none of `only`, if there are any of these."""

    def __init__(self, patterns: Iterable[Pattern], vocab: Vocab, only: Iterable[Pattern] = ()) -> None:
        """Take patterns as `parse_pattern` returns them."""
        self._banned, self._only = Patterns(patterns, vocab), Patterns(only, vocab)

    @classmethod
    def from_text(
        cls, texts: Iterable[str], vocab: Vocab, source: str = "banned", only: Iterable[str] = ()
    ) -> Banned:
        """Read patterns; errors begin with `source` or `only` and show the pattern."""
        banned = [_read(text, vocab, source) for text in texts]
        return cls(banned, vocab, [_read(text, vocab, "only") for text in only])

    def __bool__(self) -> bool:
        return bool(self._banned.heads or self._only.heads)

    def mask(self, rules: RuleSet) -> Mask:
        """Which rules [n] are banned."""
        found = self._banned.mask(rules)
        return found | ~self._only.mask(rules) if self._only.heads else found

    def keep(self, rules: RuleSet) -> RuleSet:
        """The rules that are not banned."""
        return rules.filter(~self.mask(rules)) if self else rules

    def whole_head(self, relation: int) -> bool:
        """Whether all rules of a head relation are banned."""
        own = {Wild.ANY, relation}
        return bool(own & self._banned.whole) or bool(self._only.heads and not own & self._only.heads)


def matches(pattern: Pattern, rules: RuleSet) -> Mask:
    """Which rules [n] a pattern describes."""
    possible = _fits(rules.heads, pattern.head)
    if _is_of_all(pattern):
        return possible
    if isinstance(pattern, Feature):
        return np.asarray(possible & rules.are_features & (rules.kinds.feature == code_of(pattern.name)))
    if isinstance(pattern, Constant):
        return possible & _constants_match(pattern, rules)
    if isinstance(pattern, Condition):
        same = (rule == pattern._replace(head=rule.head) for rule in rules)
        return possible & np.fromiter(same, np.bool_, len(rules))
    # "..." stands for any steps, so such a pattern describes rules with constants too: one step each
    may_match = rules.are_chains | rules.have_constants if Wild.GAP in pattern.body else rules.are_chains
    found, possible = np.zeros(len(rules), np.bool_), possible & may_match
    for length in np.unique(rules.lengths[possible]).tolist():
        ids = np.flatnonzero(possible & (rules.lengths == length))
        found[ids] = _bodies_match(pattern.body, rules.steps(ids, length))
    return found


def _is_of_all(pattern: Pattern) -> bool:
    steps: tuple[int | Wild, ...] = getattr(pattern, "body", ())
    return steps == (Wild.GAP,)


def is_open(pattern: Pattern) -> bool:
    """Whether a pattern describes more than one rule."""
    return any(isinstance(part, Wild) for part in (*pattern, *getattr(pattern, "body", ())))


def mirror_image(pattern: Pattern, vocab: Vocab) -> Pattern:
    """The same rules read from Y to X: the inverse head and the reversed body."""
    return turned(pattern, lambda step: inverse_step(step, vocab))


def parse_pinned(text: str, vocab: Vocab, source: str = "pinned") -> Rule:
    """Read one whole rule; errors begin with `source` and show the rule."""
    if is_open(_read(text, vocab, source)):
        raise RuleError(f"{source}: {text!r} is not a single rule: use '*' and '...' only to ban rules")
    return parse_rule(text, vocab)


def _read(text: str, vocab: Vocab, source: str) -> Pattern:
    try:
        return parse_pattern(text, vocab)
    except RuleError as error:
        raise RuleError(f"{source}: {error}") from None


def _fits(values: NDArray[np.integer], wanted: int | Wild) -> Mask:
    return np.ones(len(values), np.bool_) if wanted is Wild.ANY else np.asarray(values == wanted)


def _constants_match(pattern: Constant, rules: RuleSet) -> Mask:
    """Which rules [n] with constants have the parts that a pattern names."""
    found = rules.have_constants & ((rules.kinds.kind == Kind.OF_HEAD) == pattern.at_head)
    first = np.minimum(rules.body_ptr[:-1], max(len(rules.body) - 1, 0))
    found &= _fits(rules.body[first] if len(rules.body) else rules.heads, pattern.step)
    named = _fits(rules.kinds.other, pattern.other)
    if isinstance(pattern.other, Wild):
        named = rules.kinds.other >= 0
    return np.asarray(found & _fits(rules.kinds.constant, pattern.constant) & named)


def _bodies_match(steps: tuple[Any, ...], bodies: NDArray[np.int32]) -> Mask:
    """Which bodies [m, length] match; column i of `reached`: the steps so far match the first i relations."""
    reached = np.zeros((len(bodies), bodies.shape[1] + 1), np.bool_)
    reached[:, 0] = True
    for step in steps:
        if step is Wild.GAP:
            reached = np.logical_or.accumulate(reached, axis=1)
        else:
            fits = np.ones(bodies.shape, np.bool_) if step is Wild.ANY else bodies == step
            reached[:, 1:] = reached[:, :-1] & fits
            reached[:, 0] = False
    return reached[:, -1]
