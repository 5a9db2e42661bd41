"""How the weights of a fit are regularised: a small grid on validation facts, with all features on.

For the relations of some validation facts, weights are learned once with each option. Where validation facts
cannot tell, because there are none or no time is left to ask them, the settings stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import TimeIsUp
from rnnlogic.config import Config, changed
from rnnlogic.fit.trials import Trials
from rnnlogic.predictors.base import Predictor, Task
from rnnlogic.predictors.loglinear.settings import DECAYS, LogLinearSettings
from rnnlogic.statistics.statistics import training_queries

Chosen = dict[str, float]  # values of settings of the predictor
Figures = dict[str, Any]
STAGE = "choice"
CHANCE = 0.25  # standard errors of the difference by which the option listed first may be worse


def options_of(config: Config, has_features: bool) -> list[LogLinearSettings]:
    """The settings of the predictor to choose from, those given first."""
    given = config.predictor
    decays = [tuple(_values(given).values()), *config.choice.decays]
    if not has_features:
        decays = [(decay, given.evidence_decay, longer) for decay, _, longer in decays]
    return [given.model_copy(update=dict(zip(DECAYS, one, strict=True))) for one in dict.fromkeys(decays)]


def regularised(task: Task, predictor: type[Predictor]) -> tuple[Chosen, Figures]:
    """The regularisation that is best on validation facts, and what is logged about it."""
    options = options_of(task.config, bool(task.rules.are_features.any()))
    if len(options) == 1:
        return _values(options[0]), {}
    trials = _trials(task, predictor)
    try:
        with task.budget.enforced():
            ranks = trials.reciprocal_ranks(options, partial(task.progress, STAGE))
    except TimeIsUp:
        task.budget.cut(STAGE, f"no time: all features, {_name(options[0])} as in the settings")
        return _values(options[0]), {}
    best = preferred(ranks)
    tried = {_name(one): float(own.mean()) for one, own in zip(options, ranks, strict=True)}
    task.progress(STAGE, len(trials.units), len(trials.units), f"MRR {ranks[best].mean():.3f}")
    figures = {"facts": len(trials.facts), "tried": tried, "chosen": _name(options[best])}
    return _values(options[best]), figures


def _values(one: LogLinearSettings) -> Chosen:
    return {name: getattr(one, name) for name in DECAYS}


def preferred(ranks: NDArray[np.float64]) -> int:
    """The first option that is not worse than the best one by more than chance; `ranks` [options, answers].

    With few validation facts that much is chance, and the first option is kept.
    """
    lost = ranks[np.argmax(ranks.mean(axis=1))] - ranks
    error = lost.std(axis=1) / np.sqrt(max(ranks.shape[1], 1))
    return int(np.argmax(lost.mean(axis=1) <= CHANCE * error))


def _name(one: LogLinearSettings) -> str:
    features = one.evidence_decay * one.weight_decay
    longer = f", {one.length_decay:g} times for each further step" if one.length_decay > 1 else ""
    return f"weight decay {one.weight_decay:g}, of features {features:g}{longer}"


def _trials(task: Task, predictor: type[Predictor]) -> Trials:
    """Some validation facts, and training queries of their relations."""
    choice, dataset, config = task.config.choice, task.dataset, task.config
    rng, number = np.random.default_rng(config.seed), dataset.vocab.num_relations
    facts = dataset.valid[np.sort(rng.permutation(len(dataset.valid))[: choice.facts])]
    used = np.unique(facts[:, 1])
    queries = training_queries(dataset.graph("train"), choice.queries_per_relation, config.seed)
    own = queries[np.isin(queries[:, 1] % number, used)]
    rules = task.rules.filter(np.isin(task.rules.heads % number, used))
    few = min(choice.candidates_per_query, config.predictor.candidates_per_query)
    small = replace(
        task,
        rules=rules,
        config=changed(config, {"predictor": {"candidates_per_query": few}}),
    )
    return Trials(small, predictor.values(rules, config, task.embedding), facts, own)
