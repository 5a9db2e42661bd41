"""Training the rule generator on weighted rules: pre-training on mined rules, and the M-step of EM."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.budget import PLAIN_WORK, Budget, TimeIsUp, Work
from rnnlogic.generator.network import Level, RuleGenerator
from rnnlogic.rules.ruleset import RuleSet

Ids = NDArray[np.int64]
BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam, as in torch
TRIED = 10  # steps after which it is clear how many a budget allows
LEAST_PART = 0.3  # of the steps; fewer teach too little


class _Prefixes(NamedTuple):
    """All prefixes of one length, in lexicographic order."""

    of_rule: Ids  # [rules] each rule's prefix of this length; -1 if the rule is shorter
    parent: Ids  # [b] the prefix without its last relation
    head: Ids  # [b]
    last: Ids  # [b] the last relation; the head if there is none yet
    ptr: Ids  # [b+1] what follows prefix i: ptr[i]:ptr[i+1]
    token: Ids  # [f]
    share: NDArray[np.float32]  # [f] sums to one for each prefix


class PrefixTree:
    """The prefixes of weighted rules, by length, each with the distribution of what follows it.

    The sum of share * log p(rule) is a sum over prefixes: the prefix's mass times the sum of
    p(next | prefix in the rules) * log p(next | prefix in the generator). So a rule that is drawn teaches, at
    each of its prefixes, all that may follow there, not only its own next relation: same mean, less noise.
    """

    def __init__(self, heads: Ids, tokens: Ids, shares: NDArray[np.float64], end: int) -> None:
        """Distinct rules: heads [n], tokens [n, max_length + 1] padded with `end`, shares [n] > 0."""
        order = np.lexsort((*tokens.T[::-1], heads))
        heads, tokens, shares = heads[order], tokens[order], shares[order]
        rows = np.arange(len(heads))  # of the rules that are not finished
        node = np.unique(heads, return_inverse=True)[1]
        parent, last = node, heads
        self._levels: list[_Prefixes] = []
        for token in tokens.T:
            first, of_rule = _firsts(node), np.full(len(heads), -1)
            of_rule[order[rows]] = node
            following = _following(node, token[rows], shares[rows])
            self._levels.append(
                _Prefixes(of_rule, parent[first], heads[rows][first], last[first], *following)
            )
            goes_on = token[rows] != end
            if not goes_on.any():
                break
            rows, parent = rows[goes_on], node[goes_on]
            last = token[rows]
            node = _numbered(parent, last)

    def levels(
        self, rules: Ids, weights: NDArray[np.float32], thinned: int = 1, start: int = 0
    ) -> list[Level]:
        """The prefixes of drawn rules [d], each with the weights [d] of the rules that have it.

        Where only END can follow there is little to learn: of the longest prefixes only every `thinned`-th
        rule is used, from a random `start` < thinned, and counts `thinned` times.
        """
        found: list[Level] = []
        before = np.empty(0, np.int64)
        for length, level in enumerate(self._levels):
            if length and length == len(self._levels) - 1:
                rules, weights = rules[start::thinned], weights[start::thinned] * thinned
            node = level.of_rule[rules]
            node, weight = node[node >= 0], weights[node >= 0]
            chosen, row_of = np.unique(node, return_inverse=True)
            mass = np.bincount(row_of, weight, len(chosen))
            entry, row = _joined_ranges(level.ptr[chosen], level.ptr[chosen + 1])
            parent = np.searchsorted(before, level.parent[chosen]) if length else chosen
            share = level.share[entry] * mass[row].astype(np.float32)
            found.append(
                Level(parent, level.head[chosen], level.last[chosen], row, level.token[entry], share)
            )
            before = chosen
        return found


def _following(node: Ids, token: Ids, shares: NDArray[np.float64]) -> tuple[Ids, Ids, NDArray[np.float32]]:
    """What follows each node, as `ptr`, `token` and `share` of `_Prefixes`; rules must ascend."""
    child = _numbered(node, token)
    place = _firsts(child)
    ptr = np.searchsorted(node[place], np.arange(node[-1] + 2))
    share = np.bincount(child, shares) / np.bincount(node, shares)[node[place]]
    return ptr, token[place], share.astype(np.float32)


def _numbered(first: Ids, second: Ids) -> Ids:
    """Number ascending pairs from 0; equal pairs get the same number."""
    is_new = (np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0)
    return np.asarray(np.cumsum(is_new) - 1)


def _firsts(keys: Ids) -> Ids:
    """Where ascending keys change."""
    return np.flatnonzero(np.diff(keys, prepend=-1))


def _joined_ranges(starts: Ids, ends: Ids) -> tuple[Ids, Ids]:
    """All numbers of the ranges start..end-1, range by range, and the range of each."""
    lengths = ends - starts
    row = np.repeat(np.arange(len(starts)), lengths)
    return np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + starts[row], row


class Adam:
    """Parameters that follow their gradients, ever more slowly, for so many steps."""

    def __init__(self, parameters: Iterable[torch.Tensor], rate: float, steps: int) -> None:
        self.steps = steps  # may change on the way
        self._parameters, self._rate, self._done = list(parameters), rate, 0
        self._means, self._squares = ([torch.zeros_like(p) for p in self._parameters] for _ in range(2))
        self._counts = [torch.zeros(()) for _ in self._parameters]

    def step(self, loss: torch.Tensor) -> None:
        """One step down the gradient of a loss."""
        gradients = list(torch.autograd.grad(loss, self._parameters))
        torch._foreach_add_(self._counts, 1)
        with torch.no_grad():
            torch._fused_adam_(
                self._parameters,
                gradients,
                self._means,
                self._squares,
                [],
                self._counts,
                lr=self._rate,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=0.0,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )
        self._done += 1
        now, before = (1 + math.cos(math.pi * done / self.steps) for done in (self._done, self._done - 1))
        self._rate *= now / before if before else 0.0


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Use this number of threads inside the block; restore the former number afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
