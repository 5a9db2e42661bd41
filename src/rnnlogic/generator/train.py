"""Training the rule generator on weighted rules: pre-training on mined rules, and the M-step of EM."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.budget import PLAIN_WORK, Budget, TimeIsUp, Work
from rnnlogic.generator.adam import Adam
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.generator.prefixes import PrefixTree
from rnnlogic.rules.ruleset import RuleSet

TRIED = 10  # steps after which it is clear how many a budget allows
LEAST_PART = 0.3  # of the steps; fewer teach too little


class Schedule(NamedTuple):
    """How a generator is trained."""

    steps: int
    learning_rate: float = 1e-3  # as in the paper
    batch_size: int = 512
    per_relation: bool = True  # whether each head relation counts alike


class GeneratorFit(NamedTuple):
    """Training losses: the mean of -log p over rules drawn by weight, before each step."""

    loss: float  # mean over the last tenth of the steps
    losses: NDArray[np.float64]  # [steps]


def fit_generator(
    net: RuleGenerator,
    rules: RuleSet,
    weights: ArrayLike,
    schedule: Schedule,
    random: np.random.Generator,
    work: Work = PLAIN_WORK,
) -> GeneratorFit:
    """Maximise the sum of weights [n] * log p(rule), by Adam with a cosine learning rate that falls to 0.

    With `per_relation` the weights are scaled to the same sum for each head relation, so that rare relations
    are learned as well as frequent ones; without, the sum is the paper's, where a relation counts by its
    instances. A batch holds `batch_size` rules drawn by weight, or all if there are no more. The network
    changes in place; Adam starts afresh. A budget makes the training shorter, learning rate and all; if it
    is not enough for LEAST_PART of the steps, TimeIsUp is raised.
    """
    (steps, learning_rate, batch_size, per_relation), (_, tick, budget) = schedule, work
    rules, shares = _shares(rules, np.asarray(weights, dtype=np.float64), per_relation)
    heads, tokens = net.encode(rules)
    tree = PrefixTree(heads.numpy(), tokens.numpy(), shares, net.end)
    # Of a batch's longest rules every eighth teaches its END, with eightfold weight
    thinned = 1 if len(shares) <= batch_size else 8
    adam = Adam(net.parameters(), learning_rate, max(steps, 1))
    losses = np.zeros(steps)
    began = time.monotonic()
    for step, (chosen, share) in enumerate(_batches(shares, steps, batch_size, random)):
        loss = -net.weighted_log_prob(tree.levels(chosen, share, thinned, int(random.integers(thinned))))
        adam.step(loss)
        losses[step] = loss.item()
        tick(step + 1, steps, f"loss {losses[step]:.2f}")
        if step + 1 == TRIED and budget.is_limited:
            steps = adam.steps = _affordable(steps, (time.monotonic() - began) / TRIED, budget)
            losses = losses[:steps]
        if step + 1 == steps or (step >= TRIED and budget.is_over):
            losses, steps = losses[: step + 1], step + 1
            break
    return GeneratorFit(float(losses[-max(1, steps // 10) :].mean()) if steps else float("nan"), losses)


def _affordable(steps: int, seconds: float, budget: Budget) -> int:
    """How many of the steps can be taken, if each takes so many seconds."""
    possible = min(steps, TRIED + int(budget.left / seconds))
    if possible < LEAST_PART * steps:
        raise TimeIsUp
    return possible


def _shares(
    rules: RuleSet, weights: NDArray[np.float64], per_relation: bool
) -> tuple[RuleSet, NDArray[np.float64]]:
    """The rules of positive weight, ascending by head, and their shares [m], which sum to one."""
    if weights.shape != (len(rules),) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{rules!r} needs one finite weight >= 0 per rule")
    order = np.argsort(rules.heads, kind="stable")
    order = order[weights[order] > 0]
    rules, weights = rules[order], weights[order]
    if not len(rules) or len(rules.without_trivial()) < len(rules) or not rules.lengths.all():
        raise ValueError("training needs rules of positive weight, none of them empty or r <- r")
    if per_relation:
        weights = weights / np.bincount(rules.heads, weights)[rules.heads]
    return rules, weights / weights.sum()


def _batches(
    shares: NDArray[np.float64], steps: int, batch_size: int, random: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """For each step, the distinct rule ids [b] of a batch and their shares [b].

    Draws are stratified: one from each of `batch_size` equal parts of the cumulated shares. A rule is drawn
    as often as by independent draws, but every batch covers all heads evenly.
    """
    everything = np.arange(len(shares)), shares.astype(np.float32)
    ends = np.cumsum(shares) / shares.sum()
    for _ in range(steps):
        if len(shares) <= batch_size:
            yield everything
        else:
            places = (np.arange(batch_size) + random.random(batch_size)) / batch_size
            chosen, counts = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
            yield chosen, (counts / batch_size).astype(np.float32)
