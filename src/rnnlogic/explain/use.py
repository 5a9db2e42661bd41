"""How often a rule decides on validation facts: it adds more than any other to the answer ranked first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Tick, no_tick
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.predictors.base import AnswerScorer

QUERIES = 4000  # asked in all
PER_RELATION = (20, 200)  # asked of one relation and direction: at least, if there are so many, and at most


@dataclass(frozen=True, eq=False)
class RuleUse:
    """Counts per rule over queries (h, r, ?) of validation facts.

    First is the best answer that is not a fact of train or test, so what is left is right or unknown.
    """

    decided: NDArray[np.int64]  # [n] first answers to which the rule adds most
    right: NDArray[np.int64]  # [n] those of them that are validation facts


def rule_use(
    dataset: Dataset,
    scorer: AnswerScorer,
    relations: Iterable[int] | None = None,
    seed: int = 0,
    tick: Tick = no_tick,
) -> RuleUse | None:
    """Count over a bounded sample of the validation queries of some relations; None without any such query.

    If the embedding adds more to an answer than any rule, no rule has decided. Of tied answers, and of rules
    that add the same, the first by id counts.
    """
    wanted = scorer.rules.head_relations().tolist() if relations is None else list(relations)
    truth = Graph.from_triples(dataset.valid, dataset.vocab.num_entities, dataset.vocab.num_relations)
    queries = _sample(truth, wanted, seed)
    if not len(queries):
        return None
    graph, known = dataset.graph("train"), dataset.graph("all")
    decided, right = np.zeros((2, len(scorer.rules)), np.int64)
    done = 0
    for chunk in scorer.scored(graph, queries[:, 0], queries[:, 1]):
        for i, query in enumerate(chunk.queries.tolist()):
            part, (head, relation) = slice(chunk.ptr[i], chunk.ptr[i + 1]), queries[query].tolist()
            true = truth.neighbours(head, relation)
            others = np.setdiff1d(known.neighbours(head, relation), true)
            best = _best(chunk.entity[part], chunk.values[part], others)
            rule = None if best is None else _decider(graph, scorer, head, relation, best)
            if rule is not None:
                decided[rule] += 1
                right[rule] += best in true
            done += 1
            tick(done, len(queries))
    tick(len(queries), len(queries))
    return RuleUse(decided, right)


def _sample(truth: Graph, relations: list[int], seed: int) -> NDArray[np.int32]:
    """Distinct queries (head, relation) [n, 2] of the validation facts, at most so many of each relation."""
    least, most = PER_RELATION
    number = min(max(QUERIES // max(len(relations), 1), least), most)
    blocks = [np.empty((0, 2), np.int32)]
    for relation in relations:
        heads = np.unique(truth.edges(relation)[0])
        picked = np.random.default_rng([seed, relation]).permutation(heads)[:number]
        blocks.append(np.stack([picked, np.full_like(picked, relation)], axis=1))
    return np.concatenate(blocks)


def _best(entities: NDArray[np.int32], scores: NDArray[np.float64], others: NDArray[np.int32]) -> int | None:
    """The answer ranked first, without those among `others`; None if there is none."""
    scores = np.where(np.isin(entities, others), -np.inf, scores)
    order = np.lexsort((entities, -scores))
    return int(entities[order[0]]) if len(order) and np.isfinite(scores[order[0]]) else None


def _decider(graph: Graph, scorer: AnswerScorer, head: int, relation: int, tail: int) -> int | None:
    """The rule that adds most to the score of an answer; None if the embedding adds more, or none adds."""
    parts = scorer.contributions(graph, head, relation, tail)
    if not len(parts.rule):
        return None
    first = int(np.lexsort((parts.rule, -parts.values))[0])
    return int(parts.rule[first]) if parts.values[first] > max(parts.rest or 0.0, 0.0) else None
