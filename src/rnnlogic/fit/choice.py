"""How the weights of a fit are regularised: a small grid on validation facts, with all features on.

For the relations of some validation facts, weights are learned once with each option. Where validation facts
cannot tell, because there are none or no time is left to ask them, the settings stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import TimeIsUp
from rnnlogic.base.executor import map_ordered, one_blas_thread
from rnnlogic.base.types import Queries, Tick, no_tick
from rnnlogic.config import Config, changed
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.evaluation.evaluate import KnownAnswers, both_sides
from rnnlogic.evaluation.kernels import Known, Reached, rank_candidates
from rnnlogic.evaluation.ranks import Ranks, query_metrics
from rnnlogic.features.ground import Grounder
from rnnlogic.mining.links import hidden_of
from rnnlogic.predictors.base import Predictor, RuleValues, Task
from rnnlogic.predictors.loglinear.fit import Job, blocks_of, problem_of, weights_of
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


class Unit(NamedTuple):
    """One relation: what is asked, and what its weights are learned from."""

    asked: Queries  # [m, 3] validation queries
    block: Queries | None  # [n, 4] training queries, and what is hidden of each; None: there are none


class _Shared(NamedTuple):
    job: Job
    options: list[LogLinearSettings]
    known: KnownAnswers


@dataclass(eq=False)
class Trials:
    """Validation facts, and training queries of their relations."""

    task: Task
    values: RuleValues
    facts: Triples
    queries: Queries

    @property
    def graph(self) -> Graph:
        """The graph of training facts."""
        return self.task.dataset.graph("train")

    @cached_property
    def units(self) -> list[Unit]:
        """The work, relation by relation."""
        asked = both_sides(self.facts, self.graph.num_relations)
        valid, seed = self.task.dataset.valid, self.task.config.seed
        hidden = hidden_of(self.values.rules, self.graph, valid, self.queries, seed)
        blocks = {int(block[0, 1]): block for block in blocks_of(self.queries, self.values, hidden)}
        starts = np.flatnonzero(np.diff(asked[:, 1])) + 1
        return [Unit(own, blocks.get(int(own[0, 1]))) for own in np.split(asked, starts)]

    def reciprocal_ranks(self, options: list[LogLinearSettings], tick: Tick = no_tick) -> NDArray[np.float64]:
        """Expected reciprocal ranks [options, answers] of the validation answers.

        Where facts have weights, each is multiplied by that of its fact, in units of their mean.
        """
        config, rules = self.task.config, self.values.rules
        job = Job(Grounder(self.graph, rules, threads=1), config.predictor, config.seed, self.values, None)
        shared, parts = _Shared(job, options, KnownAnswers(self.task.dataset.graph("all"))), []
        tick(0, len(self.units))
        with one_blas_thread():
            for done, ranks in enumerate(map_ordered(_tried, self.units, shared, self.task.threads), 1):
                parts.append(ranks)
                tick(done, len(self.units))
        return np.concatenate(parts, axis=1) * self.importance()

    def importance(self) -> NDArray[np.float64] | float:
        """How much each validation answer counts [answers]; 1 if facts have no weights."""
        known = self.task.dataset.graph("all")
        if known.weights is None:
            return 1.0
        asked = np.concatenate([unit.asked for unit in self.units])
        weights = known.weights_of(*np.ascontiguousarray(asked.T))
        return np.asarray(weights / weights.mean())


def _tried(shared: _Shared, unit: Unit) -> NDArray[np.float64]:
    """Reciprocal ranks [options, m] of what is asked of a relation."""
    job, learned = shared.job, np.zeros((len(shared.options), len(shared.job.values.rules)))
    if unit.block is not None:
        problem = problem_of(job, unit.block)[0]
        lift = job.lifts(problem)
        for psi, settings in zip(learned, shared.options, strict=True):
            psi[problem.ids] = weights_of(problem, settings, job.values.rules, lift)[0]
    return _ranked(shared, unit.asked, learned)


def _ranked(shared: _Shared, asked: Queries, learned: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reciprocal ranks [options, m] of answers of a relation's queries [m, 3]; weights [options, rules]."""
    grounder, values = shared.job.grounder, shared.job.values
    reaching = values.rules.make_candidates
    heads, question = np.unique(asked[:, 0], return_inverse=True)
    query, entity = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    scores = [np.empty((len(learned), 0))]  # [options, candidates]; -inf where no rule makes a candidate
    for part in grounder.candidates(heads, int(asked[0, 1])):
        candidate = np.repeat(np.arange(len(part)), np.diff(part.candidate_ptr))
        value, size = values.examples(part), len(part)
        is_reached = np.bincount(candidate, reaching[part.rule_id], size) > 0
        totals = [np.bincount(candidate, psi[part.rule_id] * value, size) for psi in learned]
        query.append(part.query)
        entity.append(part.entity)
        scores.append(np.where(is_reached, totals, -np.inf))
    ptr, found = np.searchsorted(np.concatenate(query), np.arange(len(heads) + 1)), np.concatenate(entity)
    rows, known = shared.known.pairs(*np.ascontiguousarray(asked[:, :2].T))
    known_ptr = np.searchsorted(rows, np.arange(len(asked) + 1)).astype(np.int64)
    others = Known(known_ptr, known.astype(np.int32, copy=False))
    told = question.astype(np.int64), np.ascontiguousarray(asked[:, 2]), others, grounder.graph.num_entities
    ranks = [
        Ranks(*rank_candidates(Reached(ptr, found, own), *told)) for own in np.concatenate(scores, axis=1)
    ]
    return np.stack([query_metrics(one)["mrr"] for one in ranks])
