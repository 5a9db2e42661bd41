"""One round in which the generator and the predictor teach each other (Algorithm 1 of the paper).

The generator proposes rules; the predictor learns to use them on training queries; each query selects the
rules that help it most (E-step); the generator learns the selected rules (M-step). The sum of log-likelihoods
over queries equals each rule weighted by how many queries selected it, so selections are added up first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlogic.config import Config
from rnnlogic.data.graph import Graph
from rnnlogic.generator.network import RankedRules, RuleGenerator, SampledRules
from rnnlogic.generator.train import fit_generator
from rnnlogic.learning.given import Edits
from rnnlogic.mining.statistics import training_queries
from rnnlogic.predictors.loglinear.fit import Solved, Use, Weights, solve_relations
from rnnlogic.predictors.loglinear.kernels import reward_samples, select_rules
from rnnlogic.predictors.loglinear.problem import Problem
from rnnlogic.predictors.paths.scores import PathModel
from rnnlogic.rules.ruleset import RuleSet


class EMState(NamedTuple):
    """What a round starts from and leaves behind."""

    round: int  # rounds finished
    generator: RuleGenerator
    selected: RuleSet  # rules of earlier rounds, for replay
    selections: NDArray[np.float64]  # [selected] share of queries of the head relation that selected the rule


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
    threads: int,
    progress: Callable[[int, int], None] | None = None,
    paths: PathModel | None = None,
    edits: Edits | None = None,
) -> tuple[EMState, RoundInfo]:
    """Generate rules, fit the predictor, select rules, teach the generator; `paths` scores paths."""
    seed = config.seed * 1000 + state.round + 1
    rules, log_prior = generate(state.generator, graph, config, seed, threads, edits)
    queries = training_queries(graph, config.em.queries_per_relation, seed)
    settings = config.predictor.model_copy(update={"steps": config.em.predictor_steps})
    use = _selection(rules, log_prior, config, seed)
    solved = solve_relations(graph, rules, queries, settings, seed, threads, use, progress, paths)
    weights, selections = gather(rules, solved)
    selected, shares = _replayed(state, rules, selections, config.em.replay)
    fitted = fit_generator(
        state.generator,
        selected,
        shares,
        steps=config.generator.tune_steps,
        learning_rate=config.generator.tune_learning_rate,
        batch_size=config.generator.batch_size,
        generator=np.random.default_rng(seed),
    )
    info = RoundInfo(rules, weights, log_prior, _mean_loss(solved), fitted.loss)
    return EMState(state.round + 1, state.generator, selected, shares), info


def generate(
    generator: RuleGenerator,
    graph: Graph,
    config: Config,
    seed: int,
    threads: int = 1,
    edits: Edits | None = None,
) -> tuple[RuleSet, NDArray[np.float64]]:
    """N rules per relation and their log-probabilities, by beam search or by sampling; then pinned ones."""
    relations = np.arange(2 * graph.num_relations)
    banned = None if edits is None else edits.banned
    found: RankedRules | SampledRules
    if config.em.search == "beam":
        found = generator.beam(relations, config.em.rules, threads=threads, banned=banned)
    else:
        found = generator.sample(relations, config.em.rules, torch.Generator().manual_seed(seed), banned)
    if edits is None:
        return found.rules, found.log_prob
    return edits.with_pinned(found.rules, found.log_prob, generator.log_probs)


def gather(rules: RuleSet, solved: list[Solved]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and selections [rules] from what was solved per relation."""
    weights, selections = np.zeros(len(rules)), np.zeros(len(rules))
    for one in solved:
        weights[one.rules] = one.weights
        if len(one.extra):
            selections[one.rules] = one.extra
    return weights, selections


def _selection(rules: RuleSet, log_prior: NDArray[np.float64], config: Config, seed: int) -> Use:
    """How a relation's queries choose among its rules: the E-step, or REINFORCE's sampled rewards."""
    em = config.em

    def select(relation: int, problem: Problem, weights: Weights) -> NDArray[np.float64]:
        prior = log_prior[rules.by_head(relation)]
        rng = np.random.default_rng([seed, relation, 1])
        draws = rng.random(problem.num_queries * em.selected)
        if em.optimizer == "reinforce":
            return reward_samples(*problem, weights, prior, em.selected, draws)
        uniform = draws if em.assignment == "sample" else draws[:0]
        return select_rules(*problem, weights, em.prior_weight * prior, em.selected, uniform)

    return select


def _replayed(
    state: EMState, rules: RuleSet, selections: NDArray[np.float64], replay: bool
) -> tuple[RuleSet, NDArray[np.float64]]:
    """This round's selected rules as shares of their head's selections, with earlier rounds' added."""
    totals = np.bincount(rules.heads, selections, minlength=int(rules.heads.max(initial=0)) + 1)
    shares = selections / np.maximum(totals[rules.heads], 1e-300)
    if not replay or not len(state.selected):
        chosen = shares > 0
        return rules.filter(chosen), shares[chosen]
    both = rules | state.selected
    joined = np.zeros(len(both))
    joined[: len(rules)] = shares
    joined[[both.index(rule) for rule in state.selected]] += state.selections
    chosen = joined > 0
    return both.filter(chosen), joined[chosen]


def _mean_loss(solved: list[Solved]) -> float:
    return float(np.mean([one.loss for one in solved])) if solved else 0.0
