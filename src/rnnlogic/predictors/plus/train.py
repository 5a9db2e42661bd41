"""Training of RNNLogic+: Adam over batches of all relations, the best epoch by validation is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import in_order
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.learning.result import FIGURES, Learned
from rnnlogic.predictors.paths.scores import PathModel
from rnnlogic.predictors.plus.eta import choose_eta, reciprocal_ranks
from rnnlogic.predictors.plus.examples import Batch, Examples
from rnnlogic.predictors.plus.network import PlusNetwork
from rnnlogic.predictors.plus.parameters import PlusParameters
from rnnlogic.predictors.plus.scorer import PlusScorer
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.rules.ruleset import RuleSet

Refit = Callable[[RuleSet], NDArray[np.float64]]  # psi [rules] of rules
Tick = Callable[..., None]  # done, total[, note]
Note = Callable[..., None]  # stage, started, figures by name
MIDDLE_OF_TRAINING = 0.5  # from there on the learning rate falls


@dataclass(frozen=True)
class PlusTask:
    """What RNNLogic+ is trained on."""

    dataset: Dataset
    rules: RuleSet
    psi: NDArray[np.float64]  # [rules]
    config: Config
    threads: int
    paths: PathModel | None = None
    embedding: Scorer | None = None

    def train(self, tick: Tick, note: Note) -> PlusParameters:
        """The best network by validation MRR, with eta chosen on validation facts."""
        started = time.perf_counter()
        batches = self.examples().batches(self.threads, tick)
        queries = sum(batch.num_queries for batch in batches)
        results = sum(len(batch.rule) for batch in batches)
        note("plus examples", started, queries=queries, results=results)
        parameters = self.fit(batches, tick, note)
        if self.embedding is None:
            return parameters
        return choose_eta(self.scorer(parameters), self.dataset, self.config.plus, note)

    def examples(self) -> Examples:
        """The training queries."""
        config = self.config
        if self.paths is not None and config.plus.linear == "trained":
            raise RNNLogicError(
                "plus.linear=trained does not go with path scores: take fixed, or plus.path_scores=false"
            )
        unreached = config.has_embedding if config.plus.unreached is None else config.plus.unreached
        return Examples(
            self.dataset.graph("train"),
            self.rules,
            self.psi,
            config.predictor.feature,
            config.plus.model_copy(update={"unreached": unreached}),
            config.seed,
            self.paths,
        )

    def scorer(self, parameters: PlusParameters) -> PlusScorer:
        """A scorer with these parameters."""
        feature = self.config.predictor.feature
        return PlusScorer(self.rules, parameters, feature, self.paths, self.embedding, self.threads)

    def fit(self, batches: Sequence[Batch], tick: Tick, note: Note) -> PlusParameters:
        """Epochs until validation gets no better; epoch 0 is RNNLogic itself if psi takes part."""
        settings, relations = self.config.plus, 2 * self.dataset.vocab.num_relations
        network = PlusNetwork(
            self.rules, relations, self.psi, usual_degree(batches), settings, self.config.seed
        )
        optimizer = Optimizer(network, batches, settings, self.threads, self.config.seed)
        best, best_epoch = network.as_arrays(np.zeros(relations)), 0
        best_mrr = self.valid_mrr(best) if settings.linear != "none" else -1.0
        note("plus epoch", time.perf_counter(), epoch=0, valid_mrr=best_mrr)
        for epoch in range(1, settings.epochs + 1):
            started = time.perf_counter()
            loss = optimizer.epoch(epoch, tick)
            found = network.as_arrays(np.zeros(relations))
            mrr = self.valid_mrr(found)
            note("plus epoch", started, epoch=epoch, loss=loss, valid_mrr=mrr)
            tick(epoch, settings.epochs, f"loss {loss:.3f}, valid MRR {mrr:.4f}")
            if mrr > best_mrr:
                best, best_mrr, best_epoch = found, mrr, epoch
            if epoch - best_epoch >= settings.patience:
                break
        return best

    def valid_mrr(self, parameters: PlusParameters) -> float:
        """Validation MRR, with the best eta if an embedding takes part; on a sample if the split is large."""
        most, scorer = self.config.plus.valid_facts, self.scorer(parameters)
        if self.embedding is None:
            return evaluate(scorer, self.dataset, "valid", most_facts=most).metrics()["mrr"]
        tried = self.config.plus.etas
        sums, asked = reciprocal_ranks(scorer, self.embedding, self.dataset, tried, most)
        return float((sums.sum(axis=0) / max(1, asked.sum())).max())


def strongest_rules(learned: Learned, number: int | None, refit: Refit) -> Learned:
    """The `number` rules of largest |psi| of each relation, with psi learned anew; all if not given."""
    if number is None:
        return learned
    rules, size = learned.rules, np.abs(learned.weights)
    by_relation = (rules.by_head(int(relation)) for relation in rules.head_relations())
    kept = np.sort(
        np.concatenate([ids[np.argsort(-size[ids], kind="stable")[:number]] for ids in by_relation])
    )
    if len(kept) == len(rules):
        return learned
    figures = {name: getattr(learned, name)[kept] for name in FIGURES}
    return replace(learned, rules=rules[kept], **(figures | {"weights": refit(rules[kept])}))


class Optimizer:
    """Steps over batches; the gradients of a step's batches are made on threads and summed in order."""

    def __init__(
        self, network: PlusNetwork, batches: Sequence[Batch], settings: PlusSettings, threads: int, seed: int
    ) -> None:
        self.network, self.batches, self.settings = network, batches, settings
        self.threads, self.seed, self._seeds = threads, seed, np.random.default_rng(seed)
        trained = [p for p in network.parameters() if p.requires_grad]
        self._adam = torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay)

    def epoch(self, number: int, tick: Tick) -> float:
        """One pass over all batches in a random order; returns the mean loss of a query."""
        order = np.random.default_rng([self.seed, number]).permutation(len(self.batches))
        size = self.settings.batches_per_step
        self._set_rate(number)
        total = 0.0
        for start in range(0, len(order), size):
            total += self.step([self.batches[i] for i in order[start : start + size]])
            tick(start, len(order), f"epoch {number}")
        return total / max(1, sum(batch.num_queries for batch in self.batches))

    def step(self, batches: Sequence[Batch]) -> float:
        """One step on some batches; returns the summed loss of their queries."""
        seeds = self._seeds.integers(1 << 62, size=len(batches)).tolist()
        work = list(zip(batches, seeds, strict=True))
        parts = list(in_order(self._gradients, work, self.threads, lambda _: 0, 1))
        queries = sum(batch.num_queries for batch in batches)
        self._adam.zero_grad(set_to_none=True)
        for _, gradients in parts:
            for parameter, gradient in gradients:
                share = gradient / queries
                parameter.grad = share if parameter.grad is None else parameter.grad + share
        self._adam.step()
        return sum(loss for loss, _ in parts)

    def _gradients(self, work: tuple[Batch, int]) -> tuple[float, list[tuple[Tensor, Tensor]]]:
        batch, seed = work
        drops = torch.Generator().manual_seed(seed)
        loss = summed_loss(self.network(batch.relation, batch, drops), batch)
        parameters = self.network.parameters_of(batch.relation)
        gradients = torch.autograd.grad(loss, parameters)
        return float(loss.detach()), list(zip(parameters, gradients, strict=True))

    def _set_rate(self, epoch: int) -> None:
        """The learning rate is constant at first and falls to nothing in the later half."""
        left = (self.settings.epochs + 1 - epoch) / self.settings.epochs
        for group in self._adam.param_groups:
            group["lr"] = self.settings.learning_rate * min(1.0, left / (1 - MIDDLE_OF_TRAINING))


def summed_loss(scores: Tensor, batch: Batch) -> Tensor:
    """Sum over queries of the cross-entropy of the target and the softmax over the query's candidates."""
    logits = scores + torch.from_numpy(batch.offset + batch.linear)
    query = torch.from_numpy(np.repeat(np.arange(batch.num_queries), np.diff(batch.query_ptr)))
    highest = torch.full((batch.num_queries,), -torch.inf, dtype=logits.dtype)
    highest = highest.scatter_reduce(0, query, logits.detach(), "amax")
    sums = torch.zeros_like(highest).index_add(0, query, torch.exp(logits - highest[query]))
    log_probability = logits - (highest + torch.log(sums))[query]
    return -(torch.from_numpy(batch.target) * log_probability).sum()


def usual_degree(batches: Sequence[Batch]) -> float:
    """Mean of log(1 + number of rules) over all candidates that some rule reaches."""
    degrees = np.concatenate([np.ones(0, np.int64), *(np.diff(batch.candidate_ptr) for batch in batches)])
    logs = np.log1p(degrees[degrees > 0])
    return float(logs.mean()) if len(logs) else 1.0


def silent(*figures: Any, **named: Any) -> None:
    """No progress, no notes."""
    del figures, named
