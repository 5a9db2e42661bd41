"""The log-linear predictor: psi of every rule, one small convex problem per head relation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.config import PredictorSettings
from rnnlogic.data.graph import Graph
from rnnlogic.grounding.ground import Grounder, default_threads
from rnnlogic.grounding.statistics import Queries
from rnnlogic.learning.kernels import loss_and_gradient, rule_margins
from rnnlogic.learning.problem import Problem, build_problem
from rnnlogic.parallel import in_order
from rnnlogic.rules.ruleset import RuleSet

Weights = NDArray[np.float64]  # [rules of a relation]
MOMENTUM, SCALE_MEMORY = 0.9, 0.99  # Adam's two averages


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
) -> list[Solved]:
    """Fit psi of all rules, relation by relation; `use` may look at a solved problem before it is dropped."""
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
            grounder, block[picked], settings.feature, leave_out, settings.results_per_relation
        )
        ids = rules.by_head(relation)
        weights, loss = fit_weights(problem, len(ids), settings, rng)
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
    """Minimise sum of -log p(answer) + weight_decay / 2 * |psi|^2, by Adam; returns psi and the mean loss."""
    weights = initial_weights(problem, num_rules, settings, rng)
    mean, square = np.zeros(num_rules), np.zeros(num_rules)
    reached = max(1, _answers_reached(problem))
    loss = 0.0
    for step in range(settings.steps):
        loss, gradient = loss_and_gradient(*problem, weights)
        gradient = (gradient + settings.weight_decay * weights) / reached
        mean = MOMENTUM * mean + (1 - MOMENTUM) * gradient
        square = SCALE_MEMORY * square + (1 - SCALE_MEMORY) * gradient**2
        rate = settings.learning_rate * 0.5 * (1 + np.cos(np.pi * step / settings.steps))
        direction = mean / (1 - MOMENTUM ** (step + 1))
        weights -= rate * direction / (np.sqrt(square / (1 - SCALE_MEMORY ** (step + 1))) + 1e-8)
    return weights, loss / reached


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
    return int((problem.label == 1).sum())
