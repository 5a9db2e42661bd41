"""Rules that a fit is given: from a file, a run folder or memory; pinned and banned ones. Free of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RuleError, UnknownNameError
from rnnlogic.base.types import Feature
from rnnlogic.config import Config
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats import read_table
from rnnlogic.rules.patterns import Banned, parse_pinned
from rnnlogic.rules.rule import format_rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import WEIGHT
from rnnlogic.runs.folder import Run

LogProb = Callable[[RuleSet], NDArray[np.float64]]


class GivenRules(NamedTuple):
    """Rules in the ids of a vocabulary, with what their source tells of them."""

    rules: RuleSet
    weights: NDArray[np.float64] | None = None  # [n]; None unless the source has one for every rule
    log_prior: NDArray[np.float64] | None = None  # [n] under the generator of the run they come from
    notes: tuple[str, ...] = ()  # what was dropped, for people
    feature: Feature | None = None  # what the weights multiply, if they were learned by a run


# A rule file or a run folder, rules, or texts of rules
RuleSource = str | Path | RuleSet | GivenRules | Iterable[str]
NOTHING_GIVEN = GivenRules(RuleSet.from_rules([]))


class Edits(NamedTuple):
    """What people want of the rules of a fit."""

    pinned: RuleSet  # take part in every round and are among the final rules
    banned: Banned  # never take part
    weights: NDArray[np.float64] | None  # of the pinned ones, if a run has learned them for the same feature

    def with_pinned(
        self, rules: RuleSet, log_prob: NDArray[np.float64], log_prob_of: LogProb
    ) -> tuple[RuleSet, NDArray[np.float64]]:
        """Rules [n] and the pinned ones that are not among them, with log-probabilities."""
        missing = RuleSet.from_rules(rule for rule in self.pinned if rule not in rules)
        if not len(missing):
            return rules, log_prob
        return rules | missing, np.append(log_prob, log_prob_of(missing))


def edits_of(config: Config, given: GivenRules, vocab: Vocab) -> Edits:
    """Given and pinned rules, and banned ones; errors tell which settings or rules do not fit together.

    Given rules that are banned are left out; pinned ones must not be.
    """
    banned = Banned.from_text(config.banned, vocab)
    pinned = RuleSet.from_rules(parse_pinned(text, vocab) for text in config.pinned)
    for i in np.flatnonzero(banned.mask(pinned)):
        raise RuleError(f"{format_rule(pinned[i], vocab)} is pinned and banned; take one of them back")
    pinned = banned.keep(given.rules) | pinned
    if not config.generate and not len(pinned):
        raise RuleError("to weigh rules without generating any, there must be some: give a file (--rules)")
    if config.generate:
        _require_writable(pinned, config.max_length, vocab)
    are_known = pinned == given.rules and given.feature == config.predictor.feature
    return Edits(pinned, banned, given.weights if are_known else None)


def rules_of_fit(source: RuleSource | None, vocab: Vocab, run: str | Path | None) -> GivenRules:
    """The rules given to a fit; without a source, those that its run began with, if there are any."""
    if source is not None:
        return read_given(source, vocab)
    if run is None or not Run.exists(run):
        return NOTHING_GIVEN
    try:
        return GivenRules(RuleSet.from_text(Run.open(run).given(), vocab))
    except RuleError as error:
        raise RuleError(f"{run}: the rules it was given do not suit this dataset: {error}") from None


def rule_lines(rules: RuleSet, vocab: Vocab) -> str:
    """Rules as text, one a line."""
    return "".join(format_rule(rule, vocab) + "\n" for rule in rules)


def read_given(source: RuleSource, vocab: Vocab) -> GivenRules:
    """Rules of a file in any format, of a finished run (relations matched by name), or as they are."""
    if isinstance(source, GivenRules):
        given = source
    elif isinstance(source, RuleSet):
        given = GivenRules(_within(source, vocab))
    elif not isinstance(source, str | Path):
        given = GivenRules(RuleSet.from_text(source, vocab))
    else:
        given = _of_run(Path(source), vocab) if Path(source).is_dir() else _of_file(Path(source), vocab)
    if not len(given.rules):
        place = f"{source}: " if isinstance(source, str | Path) else ""
        raise RuleError(f"{place}there are no rules here")
    return given


def _of_file(path: Path, vocab: Vocab) -> GivenRules:
    table, report = read_table(path, vocab)
    weights = [None if weight is None else float(weight) for weight in table.column(WEIGHT)]
    known = None if None in weights else np.array(weights, np.float64)
    notes = tuple(f"{path}: {count:,} rules dropped: {reason}" for reason, count in report.dropped().items())
    return GivenRules(table.rules, known, notes=notes)


def _of_run(folder: Path, vocab: Vocab) -> GivenRules:
    run = Run.open(folder)
    learned, theirs = run.learned(), run.dataset().vocab
    used = np.unique(np.concatenate([learned.rules.heads, learned.rules.body]))
    ours = np.full(2 * theirs.num_relations, -1, np.int32)  # our id for each of theirs
    for relation in used.tolist():
        try:
            ours[relation] = vocab.relation_id(theirs.relation_name(relation))
        except UnknownNameError as error:
            raise RuleError(f"{folder}: its rules have an {error}") from None
    rules = RuleSet(ours[learned.rules.heads], learned.rules.body_ptr.copy(), ours[learned.rules.body])
    return GivenRules(rules, learned.weights, learned.log_prior, feature=learned.feature)


def _require_writable(rules: RuleSet, max_length: int, vocab: Vocab) -> None:
    """Refuse rules that the generator has no probability for."""
    for rule in rules:
        if len(rule.body) > max_length:
            problem = f"is longer than max_length={max_length}; raise that"
        elif not rule.body or rule.is_trivial:
            problem = "says nothing that could be learned; leave it out"
        else:
            continue
        raise RuleError(f"{format_rule(rule, vocab)} {problem}, or weigh the rules alone (--no-generate)")


def _within(rules: RuleSet, vocab: Vocab) -> RuleSet:
    most = max(rules.heads.max(initial=-1), rules.body.max(initial=-1))
    if most >= 2 * vocab.num_relations:
        raise RuleError(f"{rules!r} has relation id {most}, which {vocab!r} does not have")
    return rules
