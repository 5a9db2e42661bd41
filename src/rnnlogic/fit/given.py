"""What users require of the rules of a fit: given, pinned and banned rules. Needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import Feature
from rnnlogic.config import Config, changed
from rnnlogic.data.vocab import Vocab
from rnnlogic.features.aggregates import are_aggregates
from rnnlogic.predictors.table import entry
from rnnlogic.rules.patterns import Banned, parse_pinned
from rnnlogic.rules.rule import format_rule, is_trivial, length_of
from rnnlogic.rules.ruleset import RuleSet

LogProb = Callable[[RuleSet], NDArray[np.float64]]


class GivenRules(NamedTuple):
    """Rules in the ids of a vocabulary, with the figures of their source."""

    rules: RuleSet
    weights: NDArray[np.float64] | None = None  # [n]; None unless the source has a weight for every rule
    log_prior: NDArray[np.float64] | None = None  # [n] under the generator of the run they come from
    notes: tuple[str, ...] = ()  # readable lines about what was dropped
    feature: Feature | None = None  # what the weights multiply, if a run learned them


NO_RULES = RuleSet.from_rules([])
NOTHING_GIVEN = GivenRules(NO_RULES)


class Edits(NamedTuple):
    """What users require of the rules of a fit."""

    pinned: RuleSet  # take part in every round, and are among the final rules
    banned: Banned  # never take part
    weights: NDArray[np.float64] | None  # of pinned rules, if a run learned them for the same feature
    constants: RuleSet = NO_RULES  # pinned rules with constants and conditions, which no generator writes

    def for_predictor(self, uses_constants: bool) -> Edits:
        """Without rules with constants and the most trusted rule, if the predictor cannot use them."""
        pinned = self.pinned
        left_out = pinned.have_constants | pinned.are_conditions | are_aggregates(pinned)
        if uses_constants or not (left_out.any() or len(self.constants)):
            return self
        if left_out.all() and not len(self.constants):
            raise RuleError(
                "all given rules have constants, are conditions or [best_chain], which only the variant "
                "rnnlogic uses"
            )
        weights = None if self.weights is None else self.weights[~left_out]
        return self._replace(pinned=pinned.filter(~left_out), weights=weights, constants=NO_RULES)

    def with_pinned(
        self, rules: RuleSet, log_prob: NDArray[np.float64], log_prob_of: LogProb
    ) -> tuple[RuleSet, NDArray[np.float64]]:
        """Rules [n] followed by the pinned rules that are missing, with log-probabilities."""
        return with_missing(rules, log_prob, self.pinned, log_prob_of)


def with_missing(
    rules: RuleSet, log_prob: NDArray[np.float64], more: RuleSet, log_prob_of: LogProb
) -> tuple[RuleSet, NDArray[np.float64]]:
    """Rules [n] followed by those of `more` that are missing, with log-probabilities."""
    missing = more.filter(rules.find(more) < 0)
    if not len(missing):
        return rules, log_prob
    return rules | missing, np.append(log_prob, log_prob_of(missing))


def generating(config: Config, given: GivenRules, generate: bool | None) -> Config:
    """The settings with or without generation of rules; if nothing is said, as the predictor needs it."""
    if generate is None:
        suffices = len(given.rules) > 0 and entry(config.variant).given_rules_suffice
        generate = config.generate and not suffices
    return changed(config, {"generate": generate})


def edits_of(config: Config, given: GivenRules, vocab: Vocab) -> Edits:
    """Given, pinned and banned rules; an error says which settings or rules contradict each other.

    Given rules that are banned are left out. A pinned rule must not be banned.
    """
    banned = Banned.from_text(config.banned, vocab, only=config.only)
    pinned = RuleSet.from_rules(parse_pinned(text, vocab) for text in config.pinned)
    for i in np.flatnonzero(banned.mask(pinned)):
        is_among = Banned.from_text(config.banned, vocab).mask(pinned)[i]
        problem = "banned; remove one of the two" if is_among else "not among `only`; change one of the two"
        raise RuleError(f"{format_rule(pinned[i], vocab)} is both pinned and {problem}")
    pinned = banned.keep(given.rules) | pinned
    constants = NO_RULES
    if config.generate:  # the settings add features to generated rules
        constants = pinned.filter(pinned.have_constants | pinned.are_conditions)
        pinned = pinned.filter(pinned.are_chains)
    if not config.generate and not len(pinned):
        raise RuleError("no rules to learn weights for: give some (--rules FILE) or drop --no-generate")
    if config.generate:
        _require_writable(pinned, config.max_length, vocab)
    are_known = pinned == given.rules and given.feature == config.predictor.feature
    return Edits(pinned, banned, given.weights if are_known else None, constants)


def _require_writable(rules: RuleSet, max_length: int, vocab: Vocab) -> None:
    """Refuse rules that the generator cannot write: they have no probability."""
    for rule in rules:
        if length_of(rule) > max_length:
            problem = f"is longer than max_length={max_length}; raise it"
        elif length_of(rule) == 0 or is_trivial(rule):
            problem = "has an empty or trivial body; remove it"
        else:
            continue
        raise RuleError(f"{format_rule(rule, vocab)} {problem}, or generate no other rules (--no-generate)")
