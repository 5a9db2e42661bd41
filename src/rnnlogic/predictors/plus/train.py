"""Training of RNNLogic+: Adam over batches of all relations, the best epoch by validation is kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlogic.base.budget import UNLIMITED, Budget, TimeIsUp, check_time
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Arrays, Tick, no_tick
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.features.ground import Grounder
from rnnlogic.features.kernels import ANSWER, WRONG
from rnnlogic.features.table import Candidates, sums_by_candidate
from rnnlogic.mining.links import hidden_of
from rnnlogic.predictors.base import RuleValues, Task, Weights
from rnnlogic.predictors.eta import chosen_etas, combinations, reciprocal_ranks
from rnnlogic.predictors.loglinear.fit import learn_weights
from rnnlogic.predictors.plus.network import PlusNetwork
from rnnlogic.predictors.plus.predictor import PlusParameters, PlusScorer
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.rules.ruleset import RuleSet, pack_rules, unpack_rules
from rnnlogic.statistics.statistics import training_queries

WEIGHTS, NETWORK, EXAMPLES = 0.4, 0.8, 0.4  # shares of a budget; the rest is for eta
Fields = tuple[RuleSet, Weights, PlusParameters, RuleValues, Scorer | None, int | None]  # of a PlusScorer


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries of one relation with some of their candidates, and what the network shall make of them.

    A candidate that no rule reaches stands for all such entities.
    """

    candidates: Candidates  # rule: 16 bits where they suffice
    offset: NDArray[np.float32]  # [c] log of how many entities a candidate stands for
    target: NDArray[np.float32]  # [c] sums to 1 over the candidates of a query
    linear: NDArray[np.float32]  # [c] score by RNNLogic; zeros if it has no part

    @property
    def num_queries(self) -> int:
        """Number of queries."""
        return self.candidates.num_queries


class _Chosen(NamedTuple):
    """Candidates of one query: positions [c], -1 for those that no rule reaches; and see `Batch`."""

    candidate: NDArray[np.int64]
    offset: NDArray[np.float32]
    target: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Examples:
    """Makes batches of the training queries."""

    graph: Graph
    psi: NDArray[np.float64]  # [rules] tells which candidates are strong
    values: RuleValues
    settings: PlusSettings
    seed: int
    valid: Triples  # tell how often links between the ends of facts are hidden
    unreached: bool = False  # whether entities that no rule reaches take part, as one candidate

    def batches(self, threads: int, tick: Tick = no_tick, budget: Budget = UNLIMITED) -> list[Batch]:
        """Batches of all relations that have rules; the same for any number of threads.

        None are made once the time is up.
        """
        rules = self.values.rules
        queries = training_queries(self.graph, self.settings.queries_per_relation, self.seed)
        queries = np.column_stack([queries, hidden_of(rules, self.graph, self.valid, queries, self.seed)])
        starts = np.flatnonzero(np.diff(queries[:, 1], prepend=-1))
        blocks = [block for block in np.split(queries, starts[1:]) if len(block)]
        blocks = [block for block in blocks if len(rules.by_head(int(block[0, 1])))]
        grounder = Grounder(self.graph, rules, threads=1, chunk_queries=self.settings.batch_queries)
        batches: list[Batch] = []
        done = 0
        for made in budget.timely(map_ordered(_batches_of, blocks, (self, grounder), threads)):
            batches, done = batches + made, done + 1
            tick(done, len(blocks))
        if done < len(blocks):
            budget.cut("plus examples", f"of {done:,} of {len(blocks):,} relations")
        return batches

    def batches_of(self, grounder: Grounder, queries: NDArray[np.int32]) -> list[Batch]:
        """The batches of queries of one relation, in a random order; the last column says what is hidden."""
        relation = int(queries[0, 1])
        rng = np.random.default_rng([self.seed, relation])
        queries = queries[rng.permutation(len(queries))]
        found = grounder.candidates(queries[:, 0], relation, queries[:, -1])
        made = [self.batch(part, queries[part.queries, 2], rng) for part in found]
        return [batch for batch in made if batch.num_queries]

    def batch(self, found: Candidates, answers: NDArray[np.int32], rng: np.random.Generator) -> Batch:
        """A batch of grounded queries with these answers [q]."""
        label = found.labelled(self.graph, answers, True).label
        value, phi = self.values.features(found).astype(np.float32), self.values.phi(found)
        weighted = self.psi[found.rule_id] * (value if phi is None else value * phi)
        sums = sums_by_candidate(weighted, found.candidate_ptr)
        parts = [
            self._choose(int(first), label[first:last], sums[first:last], rng)
            for first, last in pairwise(found.query_ptr)
        ]
        used = np.array([bool(part.target.any()) for part in parts], bool)
        parts = [part for part, is_used in zip(parts, used, strict=True) if is_used]
        chosen = np.concatenate([np.empty(0, np.int64), *(part.candidate for part in parts)])
        taken, ptr = gather_segments(found.candidate_ptr, chosen)
        kept = replace(
            found,
            queries=found.queries[used],
            heads=found.heads[used],
            query_ptr=np.cumsum([0, *(len(part.candidate) for part in parts)]),
            entity=np.append(found.entity, np.int32(-1))[chosen],
            candidate_ptr=ptr,
            rule=found.rule[taken].astype(np.uint16 if len(found.ids) < 1 << 16 else np.int32),
        )
        return Batch(
            kept.valued(value[taken]),
            np.concatenate([np.empty(0, np.float32), *(part.offset for part in parts)]),
            np.concatenate([np.empty(0, np.float32), *(part.target for part in parts)]),
            self._linear(sums, chosen),
        )

    def _linear(self, sums: NDArray[np.float64], chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """RNNLogic's score [c] of chosen candidates, 0 for unreached ones, where it is part of the score."""
        if self.settings.linear != "fixed":
            return np.zeros(len(chosen), np.float32)
        return np.append(sums, 0.0)[chosen].astype(np.float32)

    def _choose(
        self, first: int, label: NDArray[np.int8], sums: NDArray[np.float64], rng: np.random.Generator
    ) -> _Chosen:
        """The answer, the strongest wrong candidates, others at random, and perhaps the unreached."""
        answer, wrong = np.flatnonzero(label == ANSWER), np.flatnonzero(label == WRONG)
        strongest, drawn = _split(wrong, sums[wrong], self.settings.strongest, self.settings.random, rng)
        others = len(wrong) - len(strongest)
        candidate = first + np.concatenate([answer, strongest, drawn])
        offset, target = np.zeros(len(candidate), np.float32), np.zeros(len(candidate), np.float32)
        offset[len(candidate) - len(drawn) :] = np.log(others / len(drawn)) if len(drawn) else 0
        target[: len(answer)] = 1
        if self.unreached:
            unreached = max(1, self.graph.num_entities - len(label))
            candidate = np.append(candidate, -1)
            offset = np.append(offset, np.float32(np.log(unreached)))
            target = np.append(target, np.float32(not (label == ANSWER).any()))
        return _Chosen(candidate, offset, target / max(1, target.sum()))


def _batches_of(shared: tuple[Examples, Grounder], queries: NDArray[np.int32]) -> list[Batch]:
    examples, grounder = shared
    return examples.batches_of(grounder, queries)


def gather_segments(
    ptr: NDArray[np.int64], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions [n] of what lies in segments [c] of `ptr`, one after another, and its own ptr [c+1].

    Segment -1 is empty.
    """
    start = np.where(chosen < 0, 0, ptr[chosen])
    size = np.where(chosen < 0, 0, ptr[chosen + 1] - ptr[chosen])
    own = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    return np.arange(own[-1]) - np.repeat(own[:-1] - start, size), own


def _split(
    wrong: NDArray[np.int64],
    sums: NDArray[np.float64],
    strongest: int,
    drawn: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The wrong candidates with the highest sums, and some of the others."""
    if len(wrong) <= strongest + drawn:
        return wrong, wrong[:0]
    order = np.argpartition(-sums, strongest) if strongest else np.arange(len(wrong))
    others = order[strongest:]
    return wrong[order[:strongest]], wrong[others[rng.permutation(len(others))[:drawn]]]


def train(task: Task, values: RuleValues) -> Fields:
    """psi of the rules, then the best network by validation MRR, then eta by validation facts."""
    weighted = task.keep("weighted", partial(_weighted, task, values))
    rules, psi = unpack_rules(weighted), weighted["weights"]
    training = Training(task, psi, values.of(rules))
    parameters = training.run(task.budget.share(NETWORK))
    if task.embedding is not None:
        eta = chosen_etas(training.alone(parameters), task, task.config.plus)
        parameters = replace(parameters, eta=eta)
    return rules, psi, parameters, training.values, task.embedding, task.config.threads


def _weighted(task: Task, values: RuleValues) -> Arrays:
    """Rules and psi; of too many rules the strongest, with psi learned anew."""
    task = replace(task, budget=task.budget.share(WEIGHTS))
    known = None if values.scores_paths else task.weights
    psi = learn_weights(task, values).weights if known is None else known
    kept = strongest(task.rules, psi, task.config.plus.keep)
    if len(kept) < len(task.rules):
        values = values.of(task.rules[kept])
        psi = learn_weights(task, values).weights
    return pack_rules(values.rules) | {"weights": psi}


def strongest(rules: RuleSet, psi: Weights, number: int | None) -> NDArray[np.int64]:
    """Ids, ascending, of the `number` rules of largest |psi| of each relation; all if not given."""
    if number is None:
        return np.arange(len(rules))
    by_relation = [rules.by_head(int(relation)) for relation in rules.head_relations()]
    best = [ids[np.argsort(-np.abs(psi[ids]), kind="stable")[:number]] for ids in by_relation]
    return np.sort(np.concatenate([np.empty(0, np.int64), *best]))


@dataclass(frozen=True, eq=False)
class Training:
    """The network on top of weighted rules."""

    task: Task
    psi: Weights
    values: RuleValues

    def run(self, budget: Budget = UNLIMITED) -> PlusParameters:
        """The best network by validation MRR, of the epochs that there is time for."""
        started, tick = time.perf_counter(), partial(self.task.progress, "plus")
        batches = self.examples().batches(self.task.threads, tick, budget.share(EXAMPLES))
        queries = sum(batch.num_queries for batch in batches)
        results = sum(len(batch.candidates.rule) for batch in batches)
        self.task.note("plus examples", started, queries=queries, results=results)
        return self.epochs(batches, tick, budget)

    def examples(self) -> Examples:
        """The training queries."""
        task, settings = self.task, self.task.config.plus
        graph, valid = task.dataset.graph("train"), task.dataset.valid
        seed, unreached = task.config.seed, task.config.has_embedding
        return Examples(graph, self.psi, self.values, settings, seed, valid, unreached)

    def epochs(self, batches: Sequence[Batch], tick: Tick, budget: Budget) -> PlusParameters:
        """Epochs until validation gets no better; epoch 0 is RNNLogic itself if psi takes part."""
        task, settings, seed = self.task, self.task.config.plus, self.task.config.seed
        relations = 2 * task.dataset.vocab.num_relations
        network = PlusNetwork(self.values.rules, relations, self.psi, usual_degree(batches), settings, seed)
        optimizer = Optimizer(network, batches, settings, task.threads, seed)
        best, best_mrr, best_epoch, epoch = network.as_arrays(np.zeros(relations)), -1.0, 0, 0
        try:
            with budget.enforced():
                best_mrr = self.valid_mrr(best) if settings.linear != "none" else -1.0
                task.note("plus epoch", time.perf_counter(), epoch=0, valid_mrr=best_mrr)
                while epoch < optimizer.epochs and epoch - best_epoch < settings.patience:
                    started = time.perf_counter()
                    loss = optimizer.epoch(epoch + 1, tick)
                    found = network.as_arrays(np.zeros(relations))
                    mrr = self.valid_mrr(found)
                    epoch += 1
                    task.note("plus epoch", started, epoch=epoch, loss=loss, valid_mrr=mrr)
                    tick(epoch, optimizer.epochs, f"loss {loss:.3f}, valid MRR {mrr:.4f}")
                    optimizer.plan(epoch, time.perf_counter() - started, budget)
                    if mrr > best_mrr:
                        best, best_mrr, best_epoch = found, mrr, epoch
        except TimeIsUp:
            pass
        if budget.is_limited and epoch < settings.epochs and epoch - best_epoch < settings.patience:
            budget.cut("plus", f"{epoch} of {settings.epochs} epochs")
        if epoch == 0 and settings.linear == "none":  # what there is; without psi nothing else has learned
            return network.as_arrays(np.zeros(relations))
        return best

    def alone(self, parameters: PlusParameters) -> PlusScorer:
        """The network without the embedding's own score."""
        return PlusScorer(self.values.rules, self.psi, parameters, self.values, None, self.task.threads)

    def valid_mrr(self, parameters: PlusParameters) -> float:
        """Validation MRR, with the best eta if an embedding takes part; on a sample if the split is large."""
        most, alone = self.task.config.plus.valid_facts, self.alone(parameters)
        if self.task.embedding is None:
            return evaluate(alone, self.task.dataset, "valid", most_facts=most).metrics()["mrr"]
        tried = combinations(self.task.config.plus.etas, self.task.embedding)
        sums, asked = reciprocal_ranks(alone, self.task.embedding, self.task.dataset, tried, most)
        return float((sums.sum(axis=0) / max(1, asked.sum())).max())


class Optimizer:
    """Steps over batches; the gradients of a step's batches are made on threads and summed in order."""

    def __init__(
        self, network: PlusNetwork, batches: Sequence[Batch], settings: PlusSettings, threads: int, seed: int
    ) -> None:
        self.network, self.batches, self.settings = network, batches, settings
        self.threads, self.seed = threads, seed
        self.epochs = settings.epochs
        trained = [p for p in network.parameters() if p.requires_grad]
        self._adam = torch.optim.Adam(trained, lr=settings.learning_rate)

    def epoch(self, number: int, tick: Tick) -> float:
        """One pass over all batches in a random order; returns the mean loss of a query."""
        order = np.random.default_rng([self.seed, number]).permutation(len(self.batches))
        size = self.settings.batches_per_step
        self._set_rate(number)
        total = 0.0
        for start in range(0, len(order), size):
            check_time()
            total += self.step([self.batches[i] for i in order[start : start + size]])
            tick(start, len(order), f"epoch {number}")
        return total / max(1, sum(batch.num_queries for batch in self.batches))

    def step(self, batches: Sequence[Batch]) -> float:
        """One step on some batches; returns the summed loss of their queries."""
        parts = list(map_ordered(_gradients, batches, self.network, self.threads, here=True))
        queries = sum(batch.num_queries for batch in batches)
        self._adam.zero_grad(set_to_none=True)
        for batch, (_, gradients) in zip(batches, parts, strict=True):
            parameters = self.network.parameters_of(batch.candidates.relation)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                share = gradient / queries
                parameter.grad = share if parameter.grad is None else parameter.grad + share
        self._adam.step()
        return sum(loss for loss, _ in parts)

    def plan(self, epoch: int, seconds: float, budget: Budget) -> None:
        """Once an epoch has shown how long it takes, plan as many as there is time for."""
        if budget.is_limited:
            self.epochs = min(self.epochs, epoch + int(budget.left / max(seconds, 1e-9)))

    def _set_rate(self, epoch: int) -> None:
        """The learning rate is constant at first and falls to nothing in the later half."""
        left = (self.epochs + 1 - epoch) / self.epochs
        for group in self._adam.param_groups:
            group["lr"] = self.settings.learning_rate * min(1.0, 2 * left)  # falls in the second half


def _gradients(network: PlusNetwork, batch: Batch) -> tuple[float, list[Tensor]]:
    """The loss of a batch, and its gradients by the network's parameters of the relation."""
    loss = summed_loss(network(batch.candidates), batch)
    gradients = torch.autograd.grad(loss, network.parameters_of(batch.candidates.relation))
    return float(loss.detach()), list(gradients)


def summed_loss(scores: Tensor, batch: Batch) -> Tensor:
    """Sum over queries of the cross-entropy of the target and the softmax over the query's candidates."""
    logits = scores + torch.from_numpy(batch.offset + batch.linear)
    query = torch.from_numpy(np.repeat(np.arange(batch.num_queries), np.diff(batch.candidates.query_ptr)))
    highest = torch.full((batch.num_queries,), -torch.inf, dtype=logits.dtype)
    highest = highest.scatter_reduce(0, query, logits.detach(), "amax")
    sums = torch.zeros_like(highest).index_add(0, query, torch.exp(logits - highest[query]))
    log_probability = logits - (highest + torch.log(sums))[query]
    return -(torch.from_numpy(batch.target) * log_probability).sum()


def usual_degree(batches: Sequence[Batch]) -> float:
    """Mean of log(1 + number of rules) over all candidates that some rule reaches."""
    degrees = np.concatenate(
        [np.ones(0, np.int64), *(np.diff(batch.candidates.candidate_ptr) for batch in batches)]
    )
    logs = np.log1p(degrees[degrees > 0])
    return float(logs.mean()) if len(logs) else 1.0
