"""What a run card says: data, settings, scores, probabilities, the frontier, the best rules in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rnnlogic.calibrate.level import Level, asked_direction
from rnnlogic.config import Config
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.listing import Choice, RuleInfo, list_rules
from rnnlogic.explain.sentences import numbered, relation_words, whole_rule
from rnnlogic.fit.result import Learned
from rnnlogic.render.page import Card, Section, Table, frontier_picture, reliability_picture
from rnnlogic.runs.folder import HEADERS, Run, frontier_rows

RELATIONS, RULES = 12, 2  # relations that are shown, and rules of each
SCORES = ("mrr", "mr", "hits@1", "hits@3", "hits@10")
REPORTS = ("valid", "test", "test-train+valid")


class Fitted(Protocol):
    """What a card needs to know of a model."""

    @property
    def dataset(self) -> Dataset:
        """The data it was fitted on."""

    @property
    def config(self) -> Config:
        """Its settings."""

    @property
    def learned(self) -> Learned:
        """Its rules and weights."""

    def level(self, evidence: Evidence = "train") -> Level:
        """How probable facts are that this evidence does not hold."""


def run_card(model: Fitted, folder: str | Path | None = None) -> Card:
    """One page about a fitted model: its data, rules, settings, scores and probabilities.

    Args:
        model: The fitted model.
        folder: Its run folder. It adds scores that were kept, and the frontier of sizes and scores.

    Returns:
        The page, which gives itself as HTML, Markdown or plain values.

    Raises:
        RNNLogicError: If the model is not fitted, or the folder is no run.
    """
    run = None if folder is None else Run.open(folder)
    sections = [_data(model.dataset), _model(model.learned, run), _settings(model.config), _scores(run)]
    sections += [_probabilities(model.level()), *_frontier(run), _rules(model.learned, model.dataset)]
    return Card(f"{model.dataset.name}: {numbered(len(model.learned.rules), 'rule')}", tuple(sections))


def _data(dataset: Dataset) -> Section:
    vocab = dataset.vocab
    pairs = [("entities", vocab.num_entities), ("relations", vocab.num_relations)]
    pairs += [(f"facts of {split}", len(dataset.facts(split))) for split in EVIDENCE_SPLITS["all"]]
    notes = dataset.report.lines()
    text = [dataset.source] if dataset.source else []
    return Section("Data", (*text, *islice(notes, 4)), _pairs(pairs))  # of what reading the data found


def _model(learned: Learned, run: Run | None) -> Section:
    with_constants = learned.rules.have_constants
    lengths = np.bincount(learned.rules.lengths[~with_constants & ~learned.rules.are_conditions])
    pairs: list[tuple[str, Any]] = [
        (f"rules of length {length}", int(number)) for length, number in enumerate(lengths) if number
    ]
    pairs += [("rules with constants", int(with_constants.sum()))] if with_constants.any() else []
    conditions = int(learned.rules.are_conditions.sum())
    pairs += [("conditions on numbers or dates", conditions)] if conditions else []
    against = int((learned.weights < 0).sum())
    pairs.append(("rules that speak against", against))
    about = {} if run is None else run.about()
    pairs += [
        (name, str(about[name])) for name in ("minutes", "rnnlogic", "torch", "python") if name in about
    ]
    return Section("Model", (), _pairs(pairs))


def _settings(config: Config) -> Section:
    usual = _flat(Config().model_dump())
    rows = tuple(
        (key, str(value), str(usual[key]))
        for key, value in _flat(config.model_dump()).items()
        if value != usual[key]
    )
    if not rows:
        return Section("Settings", ("All settings are the defaults.",))
    return Section(
        "Settings", ("Those that differ from the defaults.",), Table(("key", "value", "default"), rows)
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return found


def _scores(run: Run | None) -> Section:
    reports = {} if run is None else {name: run.report(name) for name in REPORTS}
    kept = [report for report in reports.values() if report is not None]
    if not kept:
        return Section("Scores", ("Not evaluated yet: `rnnlogic evaluate RUN --split valid` does it.",))
    rows = tuple(map(_score_row, kept))
    says = f"Filtered, both directions, ties by expectation; each answer {kept[0]['protocol']}."
    return Section("Scores", (says,), Table(("facts", "evidence", "queries", *SCORES), rows))


def _score_row(report: Mapping[str, Any]) -> tuple[Any, ...]:
    scores = report["both"]["expected"]
    return report["split"], report["evidence"], report["queries"], *(scores[name] for name in SCORES)


def _probabilities(level: Level) -> Section:
    table = level.table()
    rows = tuple(
        tuple(round(cell, 3) if isinstance(cell, float) else cell for cell in row.values()) for row in table
    )
    headers = tuple(table[0]) if table else ()
    picture = reliability_picture(level.reliability.bins) if level.basis.is_counted else ""
    return Section("Probabilities", (level.sentence(),), Table(headers, rows) if rows else None, picture)


def _frontier(run: Run | None) -> Iterator[Section]:
    """How good smaller models are; nothing for a full model."""
    arrays = None if run is None else run.frontier()
    if arrays is None:
        return
    mrr = arrays["mrr"].tolist()
    full = float(mrr[0] + arrays["drop"][0])
    picture = frontier_picture(arrays["rules"].tolist(), mrr, int(arrays["chosen"]), full)
    says = "Fewer rules: the smallest model within the tolerance on validation facts is kept."
    rows = tuple(map(tuple, frontier_rows(arrays)))
    yield Section("Frontier", (says,), Table((*HEADERS[:-1], "model"), rows), picture)


def _rules(learned: Learned, dataset: Dataset) -> Section:
    """The rules that decide most of the relations with most facts, as sentences."""
    vocab, known = dataset.vocab, set(learned.rules.head_relations().tolist())
    facts = np.bincount(dataset.train[:, 1], minlength=vocab.num_relations)
    asked = [
        asked_direction(learned.rules, r, vocab.num_relations) for r in np.argsort(-facts, kind="stable")
    ]
    relations = [relation for relation in asked if relation in known]
    shown = relations[:RELATIONS]
    rows = tuple(_rule_row(rule, vocab) for rule in list_rules(learned, dataset, shown, Choice(most=RULES)))
    headers = ("relation", "rule", "weight", "confidence", "lift", "known of predicted")
    says = (
        "The rules of each relation that decide most; confidence is the share of what a rule predicts that is"
        " known, lift how many times as often as chance."
    )
    if len(relations) > len(shown):
        says += f" The {len(shown)} relations with most facts of {len(relations)} with rules."
    return Section("Best rules", (says,), Table(headers, rows))


def _rule_row(rule: RuleInfo, vocab: Vocab) -> tuple[Any, ...]:
    return (
        relation_words(rule.rule.head, vocab),
        whole_rule(rule.rule, vocab),
        round(rule.weight, 3),
        round(rule.confidence, 3),
        None if rule.lift is None else round(rule.lift, 1),
        f"{rule.support:,} of {rule.predictions:,}",
    )


def _pairs(pairs: list[tuple[str, Any]]) -> Table:
    return Table(("", "value"), tuple((name, value) for name, value in pairs))
