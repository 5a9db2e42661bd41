"""Evidence besides chain rules in a fit: which kinds pay, and how strongly weights are held back.

Both are chosen on validation facts: for the relations of some of them, weights are learned once per choice.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, TimeIsUp
from rnnlogic.base.types import Queries
from rnnlogic.config import Config, changed
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.evaluation.evaluate import reciprocal_ranks
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.statistics import training_queries
from rnnlogic.predictors.base import Predictor, Task
from rnnlogic.predictors.loglinear.fit import gathered, solve_queries
from rnnlogic.rules.evidence import ids_of
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet

NO_RULES = RuleSet.from_rules([])
SHARE = 0.3  # of the time for weights, under a budget
# What may be switched off, tried in this order; what is off in the settings stays off.
ALL = "negative_evidence", "constants", "prior", "constant_rules"
FEWER = (
    (),
    ALL,
    ("constants",),
    ("prior",),
    ("constants", "prior"),
    ("constant_rules",),
    ("negative_evidence", "constants", "prior"),
)
OFF = {"negative_evidence": "off", "constant_rules": 0}


def evidence_rules(graph: Graph, config: Config, banned: Banned, constants: RuleSet) -> RuleSet:
    """Named evidence for every relation with facts, and rules with constants, as the settings want them."""
    ids = ids_of(config.evidence.switches)
    relations = [r for r in range(2 * graph.num_relations) if len(graph.edges(r)[0])]
    named = banned.keep(RuleSet.from_rules(Rule(r, (i,)) for r in relations for i in ids))
    return named | constants if config.evidence.constant_rules else named


def with_evidence(task: Task, predictor: type[Predictor], banned: Banned) -> Task:
    """The task with the evidence and the weight decay that are best on validation facts."""
    if not predictor.uses_evidence:
        return task
    graph, wanted = task.dataset.graph("train"), task.config.evidence.constant_rules
    constants = NO_RULES
    if wanted and predictor.uses_constants:
        started = time.perf_counter()
        constants = mine_constants(graph, wanted, banned, task.threads)
        task.note("constants", started, rules=len(constants))
    config = chosen_config(task, predictor, banned, constants)
    rules = task.rules | evidence_rules(graph, config, banned, constants)
    return replace(task, rules=rules, config=config)


class _Trial(NamedTuple):
    """The part of a task on which choices are tried."""

    task: Task
    predictor: type[Predictor]
    banned: Banned
    facts: Triples  # validation facts
    queries: Queries  # training queries of their relations
    constants: RuleSet  # mined rules with constants

    def ranks(self, config: Config) -> NDArray[np.float64]:
        """Reciprocal ranks of the validation answers with these settings."""
        graph, task = self.task.dataset.graph("train"), self.task
        rules = task.rules | evidence_rules(graph, config, self.banned, self.constants)
        rules = rules.filter(np.isin(rules.heads, np.unique(self.queries[:, 1])))
        values = self.predictor.values(rules, config, task.embedding)
        whole = replace(task, rules=rules, config=config, budget=UNLIMITED)  # or else nothing: see `_best`
        solved = solve_queries(whole, values, self.queries)
        scorer = values.scorer(gathered(len(rules), solved)[0], task.config.threads)
        return reciprocal_ranks(scorer, task.dataset, self.facts)


def chosen_config(
    task: Task, predictor: type[Predictor], banned: Banned, constants: RuleSet = NO_RULES
) -> Config:
    """The settings with the evidence, the weights and the weight decay that are best on validation facts.

    Where these cannot tell, because there are none or no time is left to ask them, only chains are used.
    """
    config, started = task.config, time.perf_counter()
    choice = config.choice
    is_open = choice.evidence and bool(config.evidence.switches)
    if not is_open and not choice.confidence and not choice.weight_decay:
        return config
    if not len(task.dataset.valid):
        return _without(config, ALL) if is_open else config
    task.progress("choice", 0, 1)
    budget = task.budget.share(SHARE)
    trial = _trial(replace(task, budget=budget), predictor, banned, constants)
    tried: dict[str, float] = {}
    if is_open:
        config = _best(trial, config, [_without(config, off) for off in FEWER], tried)
        config = config if len(tried) > 1 else _without(config, ALL)
    if choice.confidence:
        ways = [changed(config, {"predictor": {"by_confidence": on}}) for on in (False, True)]
        config = _best(trial, config, ways, tried)
    if choice.weight_decay:
        usual = config.predictor.weight_decay
        decays = [changed(config, {"predictor": {"weight_decay": usual * f}}) for f in choice.factors]
        config = _best(trial, config, decays, tried)
    task.note("choice", started, facts=len(trial.facts), tried=tried, chosen=_name(config))
    return config


def _best(trial: _Trial, config: Config, options: list[Config], tried: dict[str, float]) -> Config:
    """The option with the highest mean reciprocal rank, of those that there is time for."""
    best, highest = config, -1.0
    for option in options:
        name = _name(option)
        try:
            if name not in tried:
                trial.task.budget.check()
                with trial.task.budget.enforced():
                    tried[name] = float(trial.ranks(option).mean())
        except TimeIsUp:
            trial.task.budget.cut("choice", f"not all was tried: {_name(best)}")
            break
        if tried[name] > highest:
            best, highest = option, tried[name]
    return best


def _without(config: Config, off: tuple[str, ...]) -> Config:
    return changed(config, {"evidence": {name: OFF.get(name, False) for name in off}})


def _name(config: Config) -> str:
    kinds = "+".join(sorted(config.evidence.switches)) or "chains"
    way = ", by confidence" if config.predictor.by_confidence else ""
    return f"{kinds}, {config.predictor.weight_decay:g}{way}"


def _trial(task: Task, predictor: type[Predictor], banned: Banned, constants: RuleSet) -> _Trial:
    """Random relations that have enough validation facts together, and their training queries."""
    choice, dataset = task.config.choice, task.dataset
    rng, number = np.random.default_rng(task.config.seed), dataset.vocab.num_relations
    order = dataset.valid[rng.permutation(len(dataset.valid)), 1]
    relations = order[np.sort(np.unique(order, return_index=True)[1])]
    facts = np.cumsum(np.bincount(dataset.valid[:, 1], minlength=number)[relations])
    used = relations[: int(np.searchsorted(facts, choice.facts)) + 1]
    asked = dataset.valid[np.isin(dataset.valid[:, 1], used)]
    asked = asked[np.sort(rng.permutation(len(asked))[: choice.facts])]
    queries = training_queries(dataset.graph("train"), choice.queries_per_relation, task.config.seed)
    own = queries[np.isin(queries[:, 1] % number, used)]
    return _Trial(task, predictor, banned, asked, own, constants)
