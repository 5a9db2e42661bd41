"""Where the rules of a fit come from: a rule file, a run folder, or memory. Free of torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from rnnlogic.base.errors import RuleError, UnknownNameError
from rnnlogic.data.vocab import Vocab
from rnnlogic.fit.given import NOTHING_GIVEN, GivenRules
from rnnlogic.rules.formats import read_table
from rnnlogic.rules.rule import format_rule
from rnnlogic.rules.ruleset import RuleSet, attributes_by_name, entities_by_name
from rnnlogic.rules.table import WEIGHT
from rnnlogic.runs.finished import read_weighted_rules
from rnnlogic.runs.folder import Run

# A rule file or a run folder, rules, or texts of rules
RuleSource = str | Path | RuleSet | GivenRules | Iterable[str]


def rules_of_fit(source: RuleSource | None, vocab: Vocab, run: str | Path | None) -> GivenRules:
    """The rules given to a fit; without a source, those that its run began with, if any."""
    if source is not None:
        return read_given(source, vocab)
    if run is None or not Run.exists(run):
        return NOTHING_GIVEN
    try:
        return GivenRules(RuleSet.from_text(Run.open(run).given(), vocab))
    except RuleError as error:
        raise RuleError(f"{run}: its given rules do not fit this dataset: {error}") from None


def rule_lines(rules: RuleSet, vocab: Vocab) -> str:
    """Rules as text, one per line."""
    return "".join(format_rule(rule, vocab) + "\n" for rule in rules)


def read_given(source: RuleSource, vocab: Vocab) -> GivenRules:
    """Rules of a file in any format, of a finished run (relations are matched by name), or in memory."""
    if isinstance(source, GivenRules):
        given = source
    elif isinstance(source, RuleSet):
        given = GivenRules(rules_within(source, vocab))
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
    theirs, config = run.dataset().vocab, run.config()
    rules, weights, log_prior = read_weighted_rules(run.folder, config, theirs)
    used = np.unique(np.concatenate([rules.heads, rules.body]))
    ours = np.full(2 * theirs.num_relations, -1, np.int32)  # our id for each of theirs
    for relation in used.tolist():
        try:
            ours[relation] = vocab.relation_id(theirs.relation_name(relation))
        except UnknownNameError as error:
            raise RuleError(f"{folder}: its rules have an {error}") from None
    names = entities_by_name(rules, theirs, vocab), attributes_by_name(theirs, vocab)
    moved, no_attribute, no_entity = rules.renamed(ours, *names)
    kept, number = ~(no_attribute | no_entity), int((no_attribute | no_entity).sum())
    lost = f"{folder}: {number:,} rules dropped: they name entities or attributes that are not here"
    notes = (lost,) if number else ()
    return GivenRules(moved, weights[kept], log_prior[kept], notes, config.predictor.feature)


def rules_within(rules: RuleSet, vocab: Vocab) -> RuleSet:
    """The rules, if a vocabulary has all their relations."""
    used = np.append(rules.heads, rules.body)
    unknown = used[used >= 2 * vocab.num_relations]
    if len(unknown):
        raise RuleError(f"{rules!r} has relation id {unknown[0]}, which {vocab!r} does not have")
    entity = max(rules.kinds.constant.max(initial=-1), rules.kinds.other.max(initial=-1))
    if entity >= vocab.num_entities:
        raise RuleError(f"{rules!r} names entity id {entity}, which {vocab!r} does not have")
    return rules
