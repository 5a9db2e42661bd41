"""Rules that a fit is given: from a rule file, a run folder, or memory. Free of torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.vocab import Vocab
from rnnlogic.errors import RuleError, UnknownNameError
from rnnlogic.learning.runs import Run
from rnnlogic.rules.formats import read_table
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import WEIGHT

RuleSource = str | Path | RuleSet | Iterable[str]  # a rule file or a run folder, rules, or texts of rules


class GivenRules(NamedTuple):
    """Rules in the ids of a vocabulary, with what their source tells of them."""

    rules: RuleSet
    weights: NDArray[np.float64] | None = None  # [n]; None unless the source has one for every rule
    log_prior: NDArray[np.float64] | None = None  # [n] under the generator of the run they come from
    notes: tuple[str, ...] = ()  # what was dropped, for people


def read_given(source: RuleSource, vocab: Vocab) -> GivenRules:
    """Rules of a file in any format, of a finished run (relations matched by name), or as they are."""
    if isinstance(source, RuleSet):
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
    notes = tuple(f"{path}: {count:,} rules {what}: dropped" for what, count in report.dropped().items())
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
    return GivenRules(rules, learned.weights, learned.log_prior)


def _within(rules: RuleSet, vocab: Vocab) -> RuleSet:
    most = max(rules.heads.max(initial=-1), rules.body.max(initial=-1))
    if most >= 2 * vocab.num_relations:
        raise RuleError(f"{rules!r} has relation id {most}, which {vocab!r} does not have")
    return rules
