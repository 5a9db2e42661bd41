"""What a fit chooses before it learns final weights: evidence besides chains, rules, weight decay.

All is chosen on validation facts: for the relations of some of them, weights are learned once per choice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import TimeIsUp
from rnnlogic.config import Config, changed
from rnnlogic.data.graph import Graph
from rnnlogic.fit.trials import Trials, Variant
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.mine import best_per_head
from rnnlogic.predictors.base import Predictor, Task
from rnnlogic.rules.features import code_of, of_groups
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Feature
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries

NO_RULES = RuleSet.from_rules([])
SHARE = 0.3  # of the time for weights, under a budget
PASSES = 2  # over all that is chosen: the best of one thing depends on the others
CHANCE = 0.25  # standard errors of the difference by which a preferred way may be worse
CHAINS = "chains"
Ids = NDArray[np.int64]
Values = dict[str, Any]
Tried = dict[str, NDArray[np.float64]]  # reciprocal ranks of validation answers, by the name of an option
# What may be switched off; what is off in the settings stays off. The more evidence the better: with it, more
# entities are candidates, and fewer probabilities are those of entities that nothing is known of.
ALL = "negative_evidence", "constants", "prior", "constant_rules"
FEWER: tuple[tuple[str, ...], ...] = (
    (),
    ("constant_rules",),
    ("prior", "constant_rules"),
    ("constants", "constant_rules"),
    ("negative_evidence", "constants", "prior"),
    ("constants", "prior", "constant_rules"),
    ALL,
)
# With rules with constants, these first: a summary of such rules beside them only tells the same twice.
RULES_FIRST: tuple[tuple[str, ...], ...] = (("constants",), ("constants", "prior"))
# How weights come about: those of `predictor.by_confidence`, in the order in which they are preferred
WAYS: dict[bool | str, str] = {
    "mean": ", by a mean",
    True: ", by confidence",
    "noisy_or": ", by noisy-or",
    "only": ", by confidence only",
    False: "",
}
OFF = {"negative_evidence": "off", "constant_rules": 0}
SHARES = (1.0, 0.01)  # of the weight decay, for named evidence
SUREST = "surest"  # a choice of its own: it sums up chains


def evidence_rules(graph: Graph, config: Config, banned: Banned, constants: RuleSet) -> RuleSet:
    """Features for every relation with facts, and rules with constants, as the settings want them."""
    names = of_groups(config.evidence.groups)
    relations = [r for r in range(2 * graph.num_relations) if len(graph.edges(r)[0])]
    named = banned.keep(RuleSet.from_rules(Feature(r, name) for r in relations for name in names))
    return named | constants if config.evidence.constant_rules else named


def with_evidence(
    task: Task, predictor: type[Predictor], banned: Banned, rank: NDArray[np.float64]
) -> tuple[Task, NDArray[np.int64]]:
    """The task with the rules, evidence and weight decay that are best on validation facts.

    `rank` [rules] is high for good rules, and nan for those that stay. Returns also which rules did.
    """
    if not predictor.uses_evidence:
        return task, np.arange(len(task.rules))
    if not predictor.uses_constants:
        task = replace(task, config=_without(task.config, (SUREST,)))
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


@dataclass(eq=False)
class _Trial:
    """Options tried on a part of a task."""

    task: Task
    trials: Trials
    chains: Ids  # of the task's rules, those of the relations asked about
    rank: NDArray[np.float64]  # of these
    known: dict[tuple[bytes, bool, str], NDArray[np.float64]] = field(default_factory=dict)

    def scores(self, configs: list[Config]) -> list[NDArray[np.float64]]:
        """Reciprocal ranks of the validation answers with each of some settings.

        All hide the same of training queries. Those that amount to the same are tried once.
        """
        few, hides = self.trials.candidates, _hides(configs[0])
        quick = [one.predictor.model_copy(update={"candidates_per_query": few}) for one in configs]
        variants = [Variant(self._kept(one), own) for one, own in zip(configs, quick, strict=True)]
        keys = [(one.kept.tobytes(), hides, repr(one.settings)) for one in variants]
        new = {key: one for key, one in zip(keys, variants, strict=True) if key not in self.known}
        if new:
            self.known |= zip(new, self.trials.reciprocal_ranks(list(new.values()), hides), strict=True)
        return [self.known[key] for key in keys]

    def _kept(self, config: Config) -> NDArray[np.bool_]:
        """Which rules [rules of the trials] the settings want."""
        rules, number = self.trials.values.rules, len(self.chains)
        kept, codes = np.zeros(len(rules), bool), [code_of(n) for n in of_groups(config.evidence.groups)]
        kept[best_chains(self.task.rules[self.chains], self.rank, config)] = True
        kept[number:] |= np.isin(rules.kinds.feature, codes)[number:]
        kept[number:] |= rules.have_constants[number:] & (config.evidence.constant_rules > 0)
        return kept


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
        return _without(config, (*ALL, SUREST)) if is_open else config
    task.progress("choice", 0, 1)
    budget = task.budget.share(SHARE)
    trial = _trial(replace(task, budget=budget), predictor, banned, constants, rank)
    tried: Tried = {}
    config = changed(config, axes[-1][0]) if is_open else config
    try:
        for axis in PASSES * axes:
            config = _best(trial, [changed(config, values) for values in axis], tried)
    except TimeIsUp:
        if is_open:
            chains = _without(config, (*ALL, SUREST))
            is_tried = {_name(chains), _name(config)} <= set(tried)
            config = _preferred([chains, config], tried) if is_tried else chains
        budget.cut("choice", f"not all was tried: {_name(config)}")
    means = {name: float(ranks.mean()) for name, ranks in tried.items()}
    task.note("choice", started, facts=len(trial.trials.facts), tried=means, chosen=_name(config))
    return config


def _axes(config: Config) -> list[list[Values]]:
    """What is chosen, one thing after another: the values of each that are tried."""
    choice, evidence = config.choice, config.evidence
    axes: list[list[Values]] = []
    ways = _ways(config)
    if len(ways) > 1:
        axes.append([{"predictor": way} for way in ways])
    if choice.rules:
        axes.append([{"final": {"rules": max(1, round(p * config.final.rules))}} for p in choice.rules])
    if choice.lengths:
        shorter = {length for length in choice.lengths if length < config.max_length}
        axes.append([{"max_length": length} for length in (config.max_length, *sorted(shorter)[::-1])])
    if choice.weight_decay and evidence.switches:
        axes.append([{"predictor": {"evidence_decay": share}} for share in SHARES])
    if choice.evidence and evidence.surest:
        axes.append([{"evidence": {SUREST: is_on}} for is_on in (False, True)])
    if choice.evidence and evidence.switches:
        kinds = evidence.model_dump(exclude={SUREST})
        fewer = (*RULES_FIRST, *FEWER[1:]) if evidence.constant_rules else FEWER
        axes.append([{"evidence": kinds | _off(off)} for off in fewer])
    return axes


def _ways(config: Config) -> list[Values]:
    """How weights may come about: by confidence, or a weight for each rule with some weight decay.

    Weights by confidence hardly depend on the decay.
    """
    choice, decay, given = config.choice, config.predictor.weight_decay, config.predictor.by_confidence
    ways: list[Values] = []
    if choice.confidence:
        ways, given = [{"by_confidence": way, "weight_decay": decay} for way in WAYS if way], False
    factors = choice.factors if choice.weight_decay else (1.0,)
    return ways + [{"by_confidence": given, "weight_decay": decay * factor} for factor in factors]


def _best(trial: _Trial, options: list[Config], tried: Tried) -> Config:
    """The option to take, after all were tried; TimeIsUp if there is no time for that."""
    budget, new = trial.task.budget, {_name(one): one for one in options if _name(one) not in tried}
    for group in _groups(list(new.values()), together=not budget.is_limited):
        budget.check()
        with budget.enforced():
            tried |= zip(map(_name, group), trial.scores(group), strict=True)
    return _preferred(options, tried)


def _preferred(options: list[Config], tried: Tried) -> Config:
    """The first option that is not worse than the best one by more than chance.

    With few validation facts that much is chance, and the preferred way is kept.
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
    hiding = [one for one in options if _hides(one)]
    others = [one for one in options if not _hides(one)]
    return [group for group in (hiding, others) if group]


def _hides(config: Config) -> bool:
    """Whether links of training queries are hidden as validation facts tell."""
    return "negative_evidence" in config.evidence.switches


def _off(names: tuple[str, ...]) -> Values:
    return {name: OFF.get(name, False) for name in names}


def _without(config: Config, names: tuple[str, ...]) -> Config:
    return changed(config, {"evidence": _off(names)})


def _name(config: Config) -> str:
    kinds = "+".join(sorted(config.evidence.switches)) or CHAINS
    way = WAYS[config.predictor.by_confidence]
    number = f", {config.final.rules} rules" if config.choice.rules else ""
    length = f", length {config.max_length}" if config.choice.lengths else ""
    share = config.predictor.evidence_decay
    evidence = f" (evidence {share * config.predictor.weight_decay:g})" if share < 1 else ""
    return f"{kinds}{number}{length}, {config.predictor.weight_decay:g}{evidence}{way}"


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
    chains = np.flatnonzero(np.isin(task.rules.heads % number, used))
    more = evidence_rules(dataset.graph("train"), task.config, banned, constants)
    rules = task.rules[chains] | more.filter(np.isin(more.heads % number, used))
    few = min(choice.candidates_per_query, task.config.predictor.candidates_per_query)
    values = predictor.values(rules, task.config, task.embedding)
    return _Trial(task, Trials(task, values, asked, own, few), chains, rank[chains])
