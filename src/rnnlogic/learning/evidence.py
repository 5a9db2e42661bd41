"""What a fit chooses before it learns final weights: evidence besides chains, rules, weight decay.

All is chosen on validation facts: for the relations of some of them, weights are learned once per choice.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, TimeIsUp
from rnnlogic.base.types import Queries
from rnnlogic.config import Config, changed
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.evaluation.evaluate import reciprocal_ranks
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.mine import best_per_head
from rnnlogic.mining.statistics import training_queries
from rnnlogic.predictors.base import Predictor, Task
from rnnlogic.predictors.loglinear.fit import Variant, solve_variants
from rnnlogic.rules.evidence import ids_of
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet

NO_RULES = RuleSet.from_rules([])
SHARE = 0.3  # of the time for weights, under a budget
PASSES = 2  # over all that is chosen: the best of one thing depends on the others
CHANCE = 0.5  # standard errors of the difference by which a simpler way may be worse
CHAINS = "chains"
Values = dict[str, Any]
Tried = dict[str, NDArray[np.float64]]  # reciprocal ranks of validation answers, by the name of an option
# What may be switched off, the simplest first; what is off in the settings stays off.
ALL = "negative_evidence", "constants", "prior", "constant_rules"
FEWER = (
    ALL,
    ("constants", "prior", "constant_rules"),
    ("constants", "constant_rules"),
    ("prior", "constant_rules"),
    ("negative_evidence", "constants", "prior"),
    ("constant_rules",),
    (),
)
OFF = {"negative_evidence": "off", "constant_rules": 0}


def evidence_rules(graph: Graph, config: Config, banned: Banned, constants: RuleSet) -> RuleSet:
    """Named evidence for every relation with facts, and rules with constants, as the settings want them."""
    ids = ids_of(config.evidence.switches)
    relations = [r for r in range(2 * graph.num_relations) if len(graph.edges(r)[0])]
    named = banned.keep(RuleSet.from_rules(Rule(r, (i,)) for r in relations for i in ids))
    return named | constants if config.evidence.constant_rules else named


def with_evidence(
    task: Task, predictor: type[Predictor], banned: Banned, rank: NDArray[np.float64]
) -> tuple[Task, NDArray[np.int64]]:
    """The task with the rules, evidence and weight decay that are best on validation facts.

    `rank` [rules] is high for good rules, and nan for those that stay. Returns also which rules did.
    """
    if not predictor.uses_evidence:
        return task, np.arange(len(task.rules))
    graph, wanted = task.dataset.graph("train"), task.config.evidence.constant_rules
    constants = NO_RULES
    if wanted and predictor.uses_constants:
        started = time.perf_counter()
        constants = mine_constants(graph, wanted, banned, task.threads)
        task.note("constants", started, rules=len(constants))
    config = chosen_config(task, predictor, banned, constants, rank)
    kept = best_chains(task.rules, rank, config)
    rules = task.rules[kept] | evidence_rules(graph, config, banned, constants)
    return replace(task, rules=rules, config=config), kept


def best_chains(rules: RuleSet, rank: NDArray[np.float64], config: Config) -> NDArray[np.int64]:
    """The best rules of each relation that are not too long, and all without a rank; in order."""
    always = np.isnan(rank)
    short = np.flatnonzero(always | (rules.lengths <= config.max_length))
    if not config.choice.rules:
        return short
    best = best_per_head(rules[short], np.where(always, -np.inf, rank)[short], config.final.rules)
    return np.union1d(np.flatnonzero(always), short[best])


class _Trial(NamedTuple):
    """The part of a task on which choices are tried."""

    task: Task
    predictor: type[Predictor]
    banned: Banned
    facts: Triples  # validation facts
    queries: Queries  # training queries of their relations
    constants: RuleSet  # mined rules with constants
    rank: NDArray[np.float64]  # of the task's rules

    def rules(self, config: Config) -> RuleSet:
        """The rules that the settings want."""
        chains = self.task.rules[best_chains(self.task.rules, self.rank, config)]
        graph = self.task.dataset.graph("train")
        return chains | evidence_rules(graph, config, self.banned, self.constants)

    def scores(self, configs: list[Config]) -> list[NDArray[np.float64]]:
        """Reciprocal ranks of the validation answers with each of some settings.

        All hide the same of training queries.
        """
        task, asked = self.task, np.unique(self.queries[:, 1])
        sets = [rules.filter(np.isin(rules.heads, asked)) for rules in map(self.rules, configs)]
        every = sets[0]
        for rules in sets[1:]:
            every = every | rules
        kept = [np.array([rule in rules for rule in every], bool) for rules in sets]
        few = min(task.config.choice.candidates_per_query, task.config.predictor.candidates_per_query)
        quick = [one.predictor.model_copy(update={"candidates_per_query": few}) for one in configs]
        variants = [Variant(own, settings) for own, settings in zip(kept, quick, strict=True)]
        whole = replace(
            task, rules=every, config=configs[0], budget=UNLIMITED
        )  # or else nothing: see `_best`
        values = self.predictor.values(every, configs[0], task.embedding)
        solved = solve_variants(whole, values, self.queries, variants)
        scorers = [
            self.predictor.values(every.filter(own), one, task.embedding).scorer(
                psi[own], task.config.threads
            )
            for own, psi, one in zip(kept, solved, configs, strict=True)
        ]
        return [reciprocal_ranks(one, task.dataset, self.facts) for one in scorers]


def chosen_config(
    task: Task,
    predictor: type[Predictor],
    banned: Banned,
    constants: RuleSet,
    rank: NDArray[np.float64],
) -> Config:
    """The settings with the rules, evidence, weights and weight decay that are best on validation facts.

    Where these cannot tell, because there are none or no time is left to ask them, only chains are used.
    """
    config, started = task.config, time.perf_counter()
    is_open = config.choice.evidence and bool(config.evidence.switches)
    axes = _axes(config)
    if not axes:
        return config
    if not len(task.dataset.valid):
        return _without(config, ALL) if is_open else config
    task.progress("choice", 0, 1)
    budget = task.budget.share(SHARE)
    trial = _trial(replace(task, budget=budget), predictor, banned, constants, rank)
    tried: Tried = {}
    try:
        for axis in PASSES * axes:
            config = _best(trial, [changed(config, values) for values in axis], tried)
    except TimeIsUp:
        if is_open:
            chains = _without(config, ALL)
            config = (
                _simplest([chains, config], tried) if {_name(chains), _name(config)} <= set(tried) else chains
            )
        budget.cut("choice", f"not all was tried: {_name(config)}")
    means = {name: float(ranks.mean()) for name, ranks in tried.items()}
    task.note("choice", started, facts=len(trial.facts), tried=means, chosen=_name(config))
    return config


def _axes(config: Config) -> list[list[Values]]:
    """What is chosen, one thing after another: the values of each that are tried."""
    choice, evidence, decay = config.choice, config.evidence, config.predictor.weight_decay
    axes: list[list[Values]] = []
    if choice.rules:
        axes.append([{"final": {"rules": max(1, round(p * config.final.rules))}} for p in choice.rules])
    if choice.lengths:
        shorter = {length for length in choice.lengths if length < config.max_length}
        axes.append([{"max_length": length} for length in (config.max_length, *sorted(shorter)[::-1])])
    if choice.evidence and evidence.switches:
        kinds = evidence.model_dump()
        axes.append([{"evidence": kinds | _off(off)} for off in FEWER])
    if choice.confidence:
        axes.append([{"predictor": {"by_confidence": on}} for on in (False, True)])
    if choice.weight_decay:
        axes.append([{"predictor": {"weight_decay": decay * factor}} for factor in choice.factors])
    return axes


def _best(trial: _Trial, options: list[Config], tried: Tried) -> Config:
    """The option to take, after all were tried; TimeIsUp if there is no time for that."""
    budget, new = trial.task.budget, {_name(one): one for one in options if _name(one) not in tried}
    for group in _groups(list(new.values()), together=not budget.is_limited):
        budget.check()
        with budget.enforced():
            tried |= zip(map(_name, group), trial.scores(group), strict=True)
    return _simplest(options, tried)


def _simplest(options: list[Config], tried: Tried) -> Config:
    """The first option that is not worse than the best one by more than chance.

    With few validation facts that much is chance, and the simple way is kept.
    """
    ranks = [tried[_name(one)] for one in options]
    best = max(ranks, key=lambda own: float(own.mean()))
    lost = [best - own for own in ranks]
    is_good = [each.mean() <= CHANCE * each.std() / np.sqrt(max(len(each), 1)) for each in lost]
    return options[is_good.index(True)]


def _groups(options: list[Config], together: bool) -> list[list[Config]]:
    """Options that are tried on the same grounded queries: those that hide the same."""
    if not together:
        return [[one] for one in options]
    hiding = [one for one in options if "negative_evidence" in one.evidence.switches]
    others = [one for one in options if "negative_evidence" not in one.evidence.switches]
    return [group for group in (hiding, others) if group]


def _off(names: tuple[str, ...]) -> Values:
    return {name: OFF.get(name, False) for name in names}


def _without(config: Config, names: tuple[str, ...]) -> Config:
    return changed(config, {"evidence": _off(names)})


def _name(config: Config) -> str:
    kinds = "+".join(sorted(config.evidence.switches)) or CHAINS
    way = ", by confidence" if config.predictor.by_confidence else ""
    number = f", {config.final.rules} rules" if config.choice.rules else ""
    length = f", length {config.max_length}" if config.choice.lengths else ""
    return f"{kinds}{number}{length}, {config.predictor.weight_decay:g}{way}"


def _trial(
    task: Task,
    predictor: type[Predictor],
    banned: Banned,
    constants: RuleSet,
    rank: NDArray[np.float64],
) -> _Trial:
    """Validation facts of some relations, all of these where there are few, and their training queries."""
    choice, dataset = task.config.choice, task.dataset
    rng, number = np.random.default_rng(task.config.seed), dataset.vocab.num_relations
    order = dataset.valid[rng.permutation(len(dataset.valid))]
    relations = order[np.sort(np.unique(order[:, 1], return_index=True)[1]), 1]
    facts = np.cumsum(np.bincount(order[:, 1], minlength=number)[relations])
    used = relations[: max(choice.relations, int(np.searchsorted(facts, choice.facts)) + 1)]
    asked = order[np.isin(order[:, 1], used)][: choice.facts]
    queries = training_queries(dataset.graph("train"), choice.queries_per_relation, task.config.seed)
    own = queries[np.isin(queries[:, 1] % number, used)]
    return _Trial(task, predictor, banned, asked, own, constants, rank)
