"""Stages that make the model of the rules: statistics, regularisation, weights, the compact model."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import Budget, TimeIsUp
from rnnlogic.base.types import Arrays
from rnnlogic.config import Config, changed
from rnnlogic.data.graph import Graph
from rnnlogic.features.base import cuts_in_words
from rnnlogic.fit.choice import regularised
from rnnlogic.fit.compact.compact import compacted, pack_frontier, teacher_of
from rnnlogic.fit.given import Edits
from rnnlogic.fit.pipeline import Fit
from rnnlogic.fit.result import FIGURES, FRONTIER, UNKNOWN, Learned, pack_learned, unpack_learned
from rnnlogic.fit.stages import PRELIMINARY, At, Made
from rnnlogic.mining.conditions import mine_conditions
from rnnlogic.mining.constants import mine_constants
from rnnlogic.predictors.base import Predictor, Task
from rnnlogic.rules.features import of_groups
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Feature
from rnnlogic.rules.ruleset import RuleSet, unpack_rules
from rnnlogic.statistics.statistics import rule_statistics, training_queries, trust_of

Ranked = tuple[RuleSet, NDArray[np.float64]]  # rules and their log-probabilities; nan for those only given
NO_RULES = RuleSet.from_rules([])


def rules_of(fit: Fit) -> Ranked:
    """The rules to use."""
    if not fit.config.generate:
        return fit.edits.pinned, np.full(len(fit.edits.pinned), np.nan)
    saved = fit.result("rules")
    return unpack_rules(saved), saved["log_prior"]


def statistics(fit: Fit, at: At) -> Made:
    """Support and confidence of the rules on training queries."""
    return Made(*_counted(fit, rules_of(fit)[0], at.budget))


def choice(fit: Fit, at: At) -> Made:
    """The regularisation of the weights that is best on validation facts."""
    task, _ = _inputs(fit, at.budget)
    chosen, figures = regularised(task, fit.predictor)
    return Made({name: np.array(value) for name, value in chosen.items()}, figures)


def full(fit: Fit, at: At) -> Made:
    """The full model; the preliminary one if there is no time for any weights."""
    first = fit.known(PRELIMINARY) if fit.budget.is_limited and fit.config.variant == "rnnlogic" else None
    chosen = fit.result("choice") if _is_chosen(fit) else {}
    values = {name: float(value) for name, value in chosen.items()}
    fit = fit.with_config(changed(fit.config, {"predictor": values}))
    task, log_prior = _inputs(fit, fit.share_of(at.name), first is not None)
    started = time.perf_counter()
    try:
        predictor = fit.predictor.fit(task)
    except TimeIsUp:
        assert first is not None
        fit.budget.cut("weights", "none learned: the model is the preliminary one")
        return Made(first)
    fit.note("weights", started, rules=len(task.rules))
    used, (rules, _) = predictor.rules, rules_of(fit)
    known, found = rules.find(used), fit.result("statistics")
    new = np.flatnonzero(known < 0)
    more, _ = _counted(fit, used[new], fit.share_of("statistics"))
    support, confidence = (np.append(found[name], more[name]) for name in ("support", "confidence"))
    known[new] = len(rules) + np.arange(len(new))
    lift = UNKNOWN if predictor.lift is None else predictor.lift
    learned = Learned(predictor, log_prior[task.rules.find(used)], support[known], confidence[known], lift)
    return Made(pack_learned(learned))


def compact(fit: Fit, at: At) -> Made:
    """The compact model; the full one if there is no time for it."""
    config = fit.config
    whole = unpack_learned(fit.result("full"), config, fit.embedding)
    fixed = fit.edits.pinned | fit.edits.constants
    teacher = teacher_of(whole, fit.dataset, config, fixed.find(whole.rules) >= 0)
    budget = fit.share_of(at.name)
    try:
        with budget.enforced():
            found = compacted(teacher, fit.threads, fit.tick("compact"), budget)
    except TimeIsUp:
        fit.budget.cut("compact", f"skipped: the model keeps all {len(whole.rules):,} rules")
        return Made(pack_learned(whole))
    few = whole.predictor.reduced(whole.rules[found.rules], found.weights)
    assert few is not None
    level = found.levels[found.chosen]
    fit.store.save(FRONTIER, pack_frontier(found) | {"full_rules": np.array(len(whole.rules))})
    learned = Learned(few, *(getattr(whole, name)[found.rules] for name in FIGURES))
    figures = {"rules": level.rules, "valid_mrr": level.mrr, "drop": level.drop}
    return Made(pack_learned(learned), figures)


def _is_chosen(fit: Fit) -> bool:
    """Whether regularisation is chosen: for generated rules, where there is a grid and validation facts."""
    grid = fit.config.choice.decays
    is_possible = fit.config.generate and fit.predictor.uses_evidence and len(fit.dataset.valid) > 0
    return bool(grid) and is_possible


def _inputs(fit: Fit, budget: Budget, may_fail: bool = False) -> tuple[Task, NDArray[np.float64]]:
    """What the predictor learns from, with features; and log-probabilities of its rules."""
    (rules, log_prior), found = rules_of(fit), fit.result("statistics")
    rules = rules.trusted(trust_of(found["support"], found["confidence"]))
    task = fit.task(rules, budget, may_fail)
    if fit.config.generate:
        task = with_features(task, fit.predictor, fit.edits)
        log_prior = np.append(log_prior, np.full(len(task.rules) - len(rules), np.nan))
    return task, log_prior


def _counted(fit: Fit, rules: RuleSet, budget: Budget) -> tuple[Arrays, dict[str, str]]:
    """Support and confidence of rules [n]; 0 for features, as being right says little of them."""
    graph, config = fit.dataset.graph("train"), fit.config
    support, confidence = np.zeros(len(rules), np.int64), np.zeros(len(rules))
    bodies, figures = np.flatnonzero(~rules.are_features), {}
    if len(bodies):
        number = config.final.figures_queries or config.mine.queries_per_relation
        queries = training_queries(graph, number, config.seed)
        tick = fit.tick("rule statistics")
        counted = rule_statistics(graph, rules[bodies], queries, fit.threads, tick, budget)
        if cut := cuts_in_words(counted.cuts):
            figures["budget"] = cut
        support[bodies], confidence[bodies] = counted.whole_support, counted.confidence
    return {"support": support, "confidence": confidence}, figures


def evidence_rules(graph: Graph, config: Config, banned: Banned, constants: RuleSet) -> RuleSet:
    """Features for every relation with facts, and rules with constants, as the settings want them."""
    names = of_groups(config.evidence.groups)
    relations = [r for r in range(2 * graph.num_relations) if len(graph.edges(r)[0])]
    named = banned.keep(RuleSet.from_rules(Feature(r, name) for r in relations for name in names))
    return named | constants if config.evidence.constant_rules else named


def with_features(task: Task, predictor: type[Predictor], edits: Edits) -> Task:
    """The task with all features and rules with constants that its settings want."""
    if not predictor.uses_evidence:
        return task
    config, graph, constants = task.config, task.dataset.graph("train"), NO_RULES
    if not predictor.uses_constants:
        config = changed(config, {"evidence": {"surest": False}})
    elif config.evidence.constant_rules:
        constants = mine_constants(graph.likely, config.evidence.constant_rules, edits.banned, task.threads)
    rules = task.rules | evidence_rules(graph, config, edits.banned, constants)
    if predictor.uses_constants:
        kinds = [one.kind for one in task.dataset.vocab.attributes]
        rules |= mine_conditions(graph.likely, kinds, config.evidence.conditions, edits.banned, task.threads)
    rules |= edits.constants
    return replace(task, rules=rules, config=config)
