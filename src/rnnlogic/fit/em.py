"""One EM round: the generator and the predictor teach each other (Algorithm 1 of the paper).

The generator proposes rules; the predictor learns to use them on training queries; each query selects the
rules that help it most (E-step); the generator learns the selected rules (M-step). The sum of log-likelihoods
over queries weights each rule by how many queries selected it, so selections are added up first.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlogic.base.budget import Work
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays, Tick, no_tick
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.table import Candidates
from rnnlogic.fit.given import Edits
from rnnlogic.fit.settings import EMSettings
from rnnlogic.generator.network import RankedRules, RuleGenerator
from rnnlogic.generator.train import Schedule, fit_generator
from rnnlogic.predictors.base import predictor_class
from rnnlogic.predictors.loglinear.fit import Lesson, Solved, Weights, gathered, solve_relations
from rnnlogic.predictors.loglinear.kernels import reward_samples, select_rules
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries

Numbers = NDArray[np.int64]  # [2R] of rules
TOGETHER = 64  # relations searched at once: progress is shown between
LEAST = 16  # rules of a relation for which mining found none


class EMState(NamedTuple):
    """What a round starts from and leaves behind."""

    round: int  # rounds finished
    generator: RuleGenerator
    selected: RuleSet  # rules of earlier rounds, for replay
    selections: NDArray[np.float64]  # [selected] share of the head relation's selections


class RoundInfo(NamedTuple):
    """What happened in a round."""

    rules: RuleSet  # generated
    weights: NDArray[np.float64]  # [rules] psi
    log_prior: NDArray[np.float64]  # [rules]
    loss: float  # mean -log p(answer)
    generator_loss: float


def em_round(
    state: EMState,
    graph: Graph,
    config: Config,
    work: Work,
    embedding: Scorer | None = None,
    edits: Edits | None = None,
    mined: Numbers | None = None,
) -> tuple[EMState, RoundInfo]:
    """Generate rules, fit the predictor, select rules, and train a copy of the generator on them.

    `mined` [2R] says how many rules mining kept. If the budget does not suffice for a round, TimeIsUp.
    """
    seed, budget = config.seed * 1000 + state.round + 1, work.budget
    wanted = numbers_of_rules(graph, config.em.rules, config.generator.rules_per_mined, mined)
    rules, log_prior = generate(state.generator, wanted, work.threads or 1, edits)
    budget.check()
    queries = training_queries(graph, config.em.queries_per_relation, seed)
    # A round only asks which rules are worth having, so signs are free as in the paper
    settings = config.predictor.model_copy(update={"steps": config.em.predictor_steps, "sign_lift": None})
    values = predictor_class(config.variant).values(rules, config, embedding)
    use = Selection(log_prior, config.em, seed)
    lesson = Lesson(graph, values, queries, settings, seed)
    solved = solve_relations(lesson, work._replace(tick=budget.guarded(work.tick)), use)
    weights, selections = gathered(len(rules), solved)
    selected, shares = _replayed(state, rules, selections, config.em.replay)
    generator = copy.deepcopy(state.generator)
    tuning = config.generator
    schedule = Schedule(tuning.tune_steps, tuning.tune_learning_rate, tuning.batch_size)
    guarded = Work(tick=budget.guarded(no_tick))
    fitted = fit_generator(generator, selected, shares, schedule, np.random.default_rng(seed), guarded)
    info = RoundInfo(rules, weights, log_prior, _mean_loss(solved), fitted.loss)
    return EMState(state.round + 1, generator, selected, shares), info


def numbers_of_rules(graph: Graph, number: int, per_mined: float | None, mined: Numbers | None) -> Numbers:
    """How many rules are generated for each relation [2R]: none without facts, as there is nothing to learn.

    With `per_mined`, fewer where mining found few, `mined` [2R]: the generator would make up the rest. Powers
    of two, as relations with equal numbers are searched together.
    """
    wanted = np.where(graph.max_degree > 0, number, 0)
    if per_mined is None or mined is None:
        return wanted
    enough = np.exp2(np.ceil(np.log2(np.maximum(per_mined * mined, LEAST))))
    fewer: Numbers = np.minimum(wanted, enough.astype(np.int64))
    return fewer


def generate(
    generator: RuleGenerator, wanted: Numbers, threads: int = 1, edits: Edits | None = None
) -> tuple[RuleSet, NDArray[np.float64]]:
    """The most probable rules of each relation [2R], the pinned ones, and log-probabilities."""
    found = most_probable(generator, wanted, threads, None if edits is None else edits.banned)
    if edits is None:
        return found.rules, found.log_prob
    return edits.with_pinned(found.rules, found.log_prob, generator.log_probs)


def most_probable(
    generator: RuleGenerator,
    wanted: Numbers,
    threads: int,
    banned: Banned | None,
    tick: Tick = no_tick,
) -> RankedRules:
    """The most probable rules, `wanted` of each relation [2R]."""
    found, done, total = [], 0, int((wanted > 0).sum())
    tick(0, total)
    for number in np.unique(wanted[wanted > 0]).tolist():
        relations = np.flatnonzero(wanted == number)
        for some in np.array_split(relations, max(1, len(relations) // TOGETHER)):
            found.append(generator.beam(some, number, threads=threads, banned=banned))
            done += len(some)
            tick(done, total)
    rules = RuleSet.concatenated(part.rules for part in found)
    log_prob = np.concatenate([np.empty(0), *(part.log_prob for part in found)])
    order = np.argsort(rules.heads, kind="stable")
    return RankedRules(rules[order], log_prob[order])


@dataclass(frozen=True, eq=False)
class Selection:
    """How a relation's queries choose among its rules: the E-step, or REINFORCE's sampled rewards."""

    log_prior: NDArray[np.float64]  # [rules]
    settings: EMSettings
    seed: int

    def __call__(self, examples: Candidates, weights: Weights) -> NDArray[np.float64]:
        """How often each rule of the relation was selected, or its reward."""
        em, prior = self.settings, self.log_prior[examples.ids]
        if em.optimizer == "reinforce":
            rng = np.random.default_rng([self.seed, examples.relation, 1])
            draws = rng.random(examples.num_queries * em.selected)
            return reward_samples(examples.examples, weights, prior, em.selected, draws)
        return select_rules(examples.examples, weights, em.prior_weight * prior, em.selected)


def _replayed(
    state: EMState, rules: RuleSet, selections: NDArray[np.float64], replay: bool
) -> tuple[RuleSet, NDArray[np.float64]]:
    """This round's selected rules as shares of their head's selections, plus those of earlier rounds."""
    totals = np.bincount(rules.heads, selections, minlength=int(rules.heads.max(initial=0)) + 1)
    shares = selections / np.maximum(totals[rules.heads], 1e-300)
    if not replay or not len(state.selected):
        chosen = shares > 0
        return rules.filter(chosen), shares[chosen]
    both = rules | state.selected
    joined = np.zeros(len(both))
    joined[: len(rules)] = shares
    joined[both.find(state.selected)] += state.selections
    chosen = joined > 0
    return both.filter(chosen), joined[chosen]


def _mean_loss(solved: list[Solved]) -> float:
    return float(np.mean([one.loss for one in solved])) if solved else 0.0


def new_generator(dataset: Dataset, config: Config) -> RuleGenerator:
    """An untrained generator of the configured sizes."""
    settings = config.generator
    return RuleGenerator(
        2 * dataset.vocab.num_relations,
        config.max_length,
        input_size=settings.embedding_size,
        hidden_size=settings.hidden_size,
        seed=config.seed,
    )


def pack_generator(generator: RuleGenerator) -> Arrays:
    """A generator's parameters as arrays."""
    return {f"generator.{k}": v.detach().numpy().copy() for k, v in generator.state_dict().items()}


def with_parameters(generator: RuleGenerator, arrays: Mapping[str, NDArray[Any]]) -> RuleGenerator:
    """A generator of the same sizes with the parameters that `pack_generator` packed."""
    prefix, other = "generator.", copy.deepcopy(generator)
    state = {k.removeprefix(prefix): torch.tensor(v) for k, v in arrays.items() if k.startswith(prefix)}
    try:
        other.load_state_dict(state)
    except RuntimeError as error:
        raise RNNLogicError(
            f"the generator of this fit has other sizes than the settings ({error})"
        ) from None
    return other
