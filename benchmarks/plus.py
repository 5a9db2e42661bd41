"""Training speed of RNNLogic+ against a dense torch implementation of the same model, in one run.

    python benchmarks/plus.py RUN [--json] [--rules 200] [--batches 3] [--queries 16]

RUN is a run folder of `rnnlogic fit`; its rules of largest weight are used. Both train with the PNA
aggregator on the same queries, one thread each, from the same parameters; the losses must agree. "Dense" is
the direct implementation: walk counts as [entities, queries] arrays, rule by rule and step by step, then
messages [candidates, rules, dim] by autograd. Ours runs with all candidates, like the dense one, and with a
sample of them, as it trains by default. Times are CPU seconds of grounding, scores, gradients and optimiser.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.predictors.base import RuleValues
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.predictors.plus.kernels import EPSILON
from rnnlogic.predictors.plus.network import PlusNetwork
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.predictors.plus.train import Examples, Optimizer, strongest
from rnnlogic.rules.rule import relations_of
from rnnlogic.runs.folder import Run
from rnnlogic.statistics.statistics import training_queries

USUAL_DEGREE = 2.0
ALL = 10**9


class Work(NamedTuple):
    """What both are trained on."""

    graph: Graph
    learned: RuleScorer
    blocks: list[NDArray[np.int32]]  # queries [q, 3] of one relation each


def new_network(work: Work) -> PlusNetwork:
    """A fixed network in which every part has a gradient."""
    learned = work.learned
    relations = 2 * work.graph.num_relations
    network = PlusNetwork(learned.rules, relations, learned.weights, USUAL_DEGREE, PlusSettings(), seed=0)
    torch.nn.init.normal_(network.output, std=0.1)
    return network


def ours(work: Work, settings: PlusSettings) -> tuple[float, list[float]]:
    """Seconds of a pass over the queries, and the losses."""
    learned = work.learned
    values = RuleValues(learned.rules, learned.feature)
    no_facts = np.empty((0, 3), np.int32)
    examples = Examples(work.graph, learned.weights, values, settings, seed=0, valid=no_facts)
    network = new_network(work)
    optimizer = Optimizer(network, [], settings, threads=1, seed=0)
    grounder = Grounder(work.graph, learned.rules, threads=1)
    losses = []
    started = time.process_time()
    for block in work.blocks:
        batches = examples.batches_of(grounder, block)
        losses.append(optimizer.step(batches))
    return time.process_time() - started, losses


def dense(work: Work, settings: PlusSettings) -> tuple[float, list[float]]:
    """The same with the dense implementation."""
    network = new_network(work)
    optimizer = torch.optim.AdamW(
        [p for p in network.parameters() if p.requires_grad], lr=settings.learning_rate, weight_decay=0.0
    )
    losses = []
    started = time.process_time()
    for block in work.blocks:
        loss, reached = dense_loss(work, network, block)
        optimizer.zero_grad(set_to_none=True)
        (loss / reached).backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return time.process_time() - started, losses


def dense_loss(work: Work, network: PlusNetwork, queries: NDArray[np.int32]) -> tuple[Tensor, int]:
    """Summed loss over the queries of one relation whose answer is reached, and their number."""
    relation = int(queries[0, 1])
    counts = dense_counts(work, queries)  # [k, E, q]
    loss, number = torch.zeros(()), 0
    for q, (head, _, answer) in enumerate(queries.tolist()):
        reached = counts[:, :, q]
        known = torch.zeros(work.graph.num_entities, dtype=torch.bool)
        known[torch.from_numpy(work.graph.neighbours(head, relation).astype(np.int64))] = True
        known[answer] = False
        candidates = torch.nonzero(reached.any(dim=0) & ~known)[:, 0]
        is_answer = candidates == answer
        if is_answer.any():
            scores = dense_scores(network, relation, torch.log1p(reached[:, candidates]).T)
            loss = loss - torch.log_softmax(scores, dim=0)[is_answer].sum()
            number += 1
    return loss, number


def dense_counts(work: Work, queries: NDArray[np.int32]) -> Tensor:
    """Walks [rules, E, q] from the head of each query, its own fact hidden."""
    relation, inverse = int(queries[0, 1]), work.graph.inverse(int(queries[0, 1]))
    head, answer = (torch.from_numpy(queries[:, i].astype(np.int64)) for i in (0, 2))
    column = torch.arange(len(queries))
    rows = []
    for i in work.learned.rules.by_head(relation):
        at = torch.zeros(work.graph.num_entities, len(queries))
        at[head, column] = 1
        for step in relations_of(work.learned.rules[int(i)]):
            source, target = (torch.from_numpy(side.astype(np.int64)) for side in work.graph.edges(step))
            after = torch.zeros_like(at).index_add(0, target, at[source])
            if step == relation:
                after[answer, column] -= at[head, column]
            elif step == inverse:
                after[head, column] -= at[answer, column]
            at = after
        rows.append(at)
    return torch.stack(rows)


def dense_scores(network: PlusNetwork, relation: int, values: Tensor) -> Tensor:
    """Scores [c] of candidates with values [c, rules]."""
    messages = values[:, :, None] * network.rule_vectors(relation)[None]  # [c, k, D]
    absent = (values == 0)[:, :, None]
    degree = (values > 0).sum(dim=1)[:, None].float()
    mean = messages.sum(dim=1) / degree
    squares = ((messages - mean[:, None]) ** 2).masked_fill(absent, 0).sum(dim=1)
    least = messages.masked_fill(absent, torch.inf).amin(dim=1)
    most = messages.masked_fill(absent, -torch.inf).amax(dim=1)
    features = torch.cat([mean, least, most, torch.sqrt(squares / degree + EPSILON)], dim=1)
    amplified = torch.log1p(degree) / USUAL_DEGREE
    inputs = torch.cat([features, features * amplified, features / amplified], dim=1)
    by_relation = network.by_relation(network.relation.weight[relation])
    hidden = torch.relu(inputs @ network.layer.flatten(0, 1) + by_relation)
    return hidden @ network.output


def work_of(folder: str, rules: int, batches: int, queries: int) -> Work:
    """Some queries of the most frequent relations of a run."""
    run = Run.open(folder)
    graph = run.dataset().graph("train")
    whole = run.learned()
    kept = strongest(whole.rules, whole.weights, rules)
    learned = RuleScorer(whole.rules[kept], np.full(len(kept), 0.1), whole.feature)
    asked = training_queries(graph, queries, seed=0)
    frequent = np.argsort([-len(graph.edges(r)[0]) for r in range(2 * graph.num_relations)], kind="stable")
    return Work(graph, learned, [asked[asked[:, 1] == r] for r in frequent[:batches]])


def measure(work: Work) -> dict[str, Any]:
    """Seconds of all three methods."""
    everything = PlusSettings(strongest=ALL, batch_queries=ALL)
    ours(work, everything)  # compiles
    seconds, losses = ours(work, everything)
    theirs, expected = dense(work, everything)
    np.testing.assert_allclose(losses, expected, rtol=1e-3)
    sampled, _ = ours(work, PlusSettings(batch_queries=ALL))
    return {
        "queries": sum(map(len, work.blocks)),
        "rules": len(work.learned.rules),
        "ours_seconds": seconds,
        "sampled_seconds": sampled,
        "dense_seconds": theirs,
        "ratio": theirs / seconds,
        "sampled_ratio": theirs / sampled,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--queries", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(work_of(arguments.run, arguments.rules, arguments.batches, arguments.queries))
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        print("\n".join(f"{name:16} {value:,.3f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
