"""Bans on rules, written as patterns: `treats <- * & causes`, `* <- isa & ...`, `treats(X,*) <- *(X,Z)`.

A pattern bans a rule in both directions: `h(X,Y) <- body` read from Y to X is a rule for h^-1, and that is
banned too.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.constants import ANY_ENTITY, CONSTANT
from rnnlogic.rules.rule import ANY, GAP, Rule, inverse_step, parse_pattern, parse_rule
from rnnlogic.rules.ruleset import RuleSet


class Banned:
    """The rules that match at least one pattern."""

    def __init__(self, patterns: Iterable[Rule], vocab: Vocab) -> None:
        """Take patterns as `parse_pattern` returns them."""
        both = {turned for pattern in patterns for turned in (pattern, mirror_image(pattern, vocab))}
        self._rules = frozenset(pattern for pattern in both if not is_open(pattern))
        self._patterns = sorted(both - self._rules)

    @classmethod
    def from_text(cls, texts: Iterable[str], vocab: Vocab, source: str = "banned") -> Banned:
        """Read patterns; errors begin with `source` and show the pattern."""
        return cls([_read(text, vocab, source) for text in texts], vocab)

    def __bool__(self) -> bool:
        return bool(self._rules or self._patterns)

    def mask(self, rules: RuleSet) -> NDArray[np.bool_]:
        """Which rules [n] are banned."""
        found = np.zeros(len(rules), np.bool_)
        if self._rules:
            found |= np.fromiter((rule in self._rules for rule in rules), np.bool_, len(rules))
        for pattern in self._patterns:
            found |= matches(pattern, rules)
        return found

    def keep(self, rules: RuleSet) -> RuleSet:
        """The rules that are not banned."""
        return rules.filter(~self.mask(rules)) if self else rules

    def whole_head(self, relation: int) -> bool:
        """Whether all rules of a head relation are banned."""
        return any(body == (GAP,) and head in (ANY, relation) for head, body in self._patterns)


def matches(pattern: Rule, rules: RuleSet) -> NDArray[np.bool_]:
    """Which rules [n] a pattern describes."""
    found = np.zeros(len(rules), np.bool_)
    possible = np.ones_like(found) if pattern.head == ANY else rules.heads == pattern.head
    for length in np.unique(rules.lengths[possible]).tolist():
        ids = np.flatnonzero(possible & (rules.lengths == length))
        bodies = rules.body[rules.body_ptr[ids][:, None] + np.arange(length)]  # [m, length]
        found[ids] = _bodies_match(pattern.body, bodies)
    return found


def is_open(pattern: Rule) -> bool:
    """Whether a pattern describes more than one rule."""
    return any(step in (ANY, GAP, ANY_ENTITY) for step in (pattern.head, *pattern.body))


def mirror_image(pattern: Rule, vocab: Vocab) -> Rule:
    """The same rules read from Y to X: the inverse head and the reversed body."""
    body = tuple(inverse_step(step, vocab) for step in reversed(pattern.body))
    return Rule(inverse_step(pattern.head, vocab), body)


def parse_pinned(text: str, vocab: Vocab, source: str = "pinned") -> Rule:
    """Read one whole rule; errors begin with `source` and show the rule."""
    if is_open(_read(text, vocab, source)):
        raise RuleError(f"{source}: {text!r} is not a single rule: use '*' and '...' only to ban rules")
    return parse_rule(text, vocab)


def _read(text: str, vocab: Vocab, source: str) -> Rule:
    try:
        return parse_pattern(text, vocab)
    except RuleError as error:
        raise RuleError(f"{source}: {error}") from None


def _bodies_match(steps: tuple[int, ...], bodies: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which bodies [m, length] match; column i of `reached`: the steps so far match the first i relations."""
    reached = np.zeros((len(bodies), bodies.shape[1] + 1), np.bool_)
    reached[:, 0] = True
    for step in steps:
        if step == GAP:
            reached = np.logical_or.accumulate(reached, axis=1)
        else:
            fits = (
                bodies >= 0 if step == ANY else bodies <= CONSTANT if step == ANY_ENTITY else bodies == step
            )
            reached[:, 1:] = reached[:, :-1] & fits
            reached[:, 0] = False
    return reached[:, -1]
