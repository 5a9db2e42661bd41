"""The log-linear predictor: psi of every rule, one small convex problem per head relation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from rnnlogic.base.executor import default_threads, in_order
from rnnlogic.base.types import Queries
from rnnlogic.config import PredictorSettings
from rnnlogic.data.graph import Graph
from rnnlogic.grounding.ground import Grounder
from rnnlogic.predictors.loglinear.kernels import ANSWER, loss_and_gradient, rule_margins
from rnnlogic.predictors.loglinear.problem import Problem, build_problem
from rnnlogic.predictors.paths.scores import PathModel
from rnnlogic.rules.ruleset import RuleSet

Weights = NDArray[np.float64]  # [rules of a relation]


class Solved(NamedTuple):
    """What was learned for one relation."""

    relation: int
    rules: NDArray[np.int64]  # rule ids
    weights: Weights
    loss: float  # mean -log p(answer) over the queries whose answer is reached
    extra: NDArray[np.float64]  # what `use` made of the problem, e.g. selection counts [rules]


Use = Callable[[int, Problem, Weights], NDArray[np.float64]]


def solve_relations(
    graph: Graph,
    rules: RuleSet,
    queries: Queries,
    settings: PredictorSettings,
    seed: int,
    threads: int | None = None,
    use: Use | None = None,
    progress: Callable[[int, int], None] | None = None,
    paths: PathModel | None = None,
) -> list[Solved]:
    """Fit psi of all rules, relation by relation; `use` may look at a solved problem before it is dropped.

    With `paths` the embedding scores paths; else all count alike.
    """
    grounder = Grounder(graph, rules, threads=1)
    starts = np.append(np.flatnonzero(np.diff(queries[:, 1], prepend=-1)), len(queries))
    blocks = [queries[a:b] for a, b in pairwise(starts)]
    blocks = [block for block in blocks if len(rules.by_head(int(block[0, 1])))]

    def solve(block: Queries) -> Solved:
        relation = int(block[0, 1])
        rng = np.random.default_rng([seed, relation])
        picked = rng.permutation(len(block))[: settings.queries_per_relation]
        leave_out = settings.other_answers == "exclude"
        problem = build_problem(
            grounder, block[picked], settings.feature, leave_out, settings.results_per_relation, paths
        )
        ids = rules.by_head(relation)
        weights, loss = fit_weights(discounted(problem, settings.answer_discount), len(ids), settings, rng)
        extra = np.empty(0) if use is None else use(relation, problem, weights)
        return Solved(relation, ids, weights, loss, extra)

    solved = []
    for result in in_order(solve, blocks, threads or default_threads(), lambda _: 0, 1):
        solved.append(result)
        if progress is not None:
            progress(len(solved), len(blocks))
    return solved


def fit_weights(
    problem: Problem, num_rules: int, settings: PredictorSettings, rng: np.random.Generator
) -> tuple[Weights, float]:
    """Minimise sum of -log p(answer) + weight_decay / 2 * |psi|^2, by L-BFGS; returns psi and the mean loss.

    With a weight_limit every psi stays between minus and plus that.
    """

    def objective(weights: Weights) -> tuple[float, Weights]:
        loss, gradient = loss_and_gradient(*problem, weights)
        penalty = settings.weight_decay / 2 * float(weights @ weights)
        return loss + penalty, gradient + settings.weight_decay * weights

    start = initial_weights(problem, num_rules, settings, rng)
    limits = {"maxfun": settings.steps, "maxiter": settings.steps}
    most = settings.weight_limit
    bounds = None if most is None else Bounds(-most, most)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    weights: Weights = found.x
    loss, _ = loss_and_gradient(*problem, weights)
    return weights, loss / max(1, _answers_reached(problem))


def discounted(problem: Problem, factor: float) -> Problem:
    """The problem with the answers' values multiplied with a factor."""
    if factor == 1:
        return problem
    of_answer = np.repeat(problem.label == ANSWER, np.diff(problem.candidate_ptr))
    return problem._replace(value=np.where(of_answer, np.float32(factor) * problem.value, problem.value))


def initial_weights(
    problem: Problem, num_rules: int, settings: PredictorSettings, rng: np.random.Generator
) -> Weights:
    """Start values of psi: zero, small random numbers, or the paper's mean margin of the rule."""
    if settings.initial == "zero":
        return np.zeros(num_rules)
    if settings.initial == "random":
        return rng.normal(scale=0.01, size=num_rules)
    total = np.zeros(num_rules)
    for q in range(problem.num_queries):
        first, last = problem.query_ptr[q], problem.query_ptr[q + 1]
        total += rule_margins(first, last, *problem[1:], num_rules)[1]
    return total / max(problem.num_queries, 1)


def _answers_reached(problem: Problem) -> int:
    return int((problem.label == ANSWER).sum())
