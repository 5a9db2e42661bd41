"""eta: how much of an embedding's own score is added to that of the rules, chosen on validation facts.

The embedding has seen the training facts, so eta cannot be learned from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import KnownAnswers, Scorer
from rnnlogic.evaluation.metrics import query_metrics
from rnnlogic.evaluation.ranks import rank_answers
from rnnlogic.predictors.pieces import PiecePredictor

SCORES = 1 << 21  # scores of a piece of validation queries (16 MB; with more, memory is not reused)


def best_etas(
    sums: NDArray[np.float64], asked: NDArray[np.int64], tried: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """The best eta of each relation [2R], by summed reciprocal ranks [2R, W] over queries [2R].

    What all queries say counts as `prior` queries of the relation.
    """
    mean = sums.sum(axis=0) / max(1, asked.sum())
    if np.isinf(prior):
        return np.full(len(sums), tried[np.argmax(mean)])
    return np.asarray(tried[np.argmax(sums + prior * mean, axis=1)])


def reciprocal_ranks(
    alone: PiecePredictor, embedding: Scorer, dataset: Dataset, etas: Sequence[float], most_facts: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Summed reciprocal ranks [2R, W] of validation answers by rules + eta * embedding, and queries [2R].

    `alone` scores by rules only.
    """
    graph, known = dataset.graph("train"), KnownAnswers(dataset.graph("all"))
    relations_in_all = 2 * dataset.vocab.num_relations
    sums, asked = np.zeros((relations_in_all, len(etas))), np.zeros(relations_in_all, np.int64)
    for heads, relations, answers in _validation_queries(dataset, most_facts):
        is_new = np.append(True, (np.diff(heads) != 0) | (np.diff(relations) != 0))  # not the last question
        question, questions = np.cumsum(is_new) - 1, (heads[is_new], relations[is_new])
        by_rules, is_reached = (part[question] for part in _rows(alone, graph, *questions))
        by_embedding = embedding.score(graph, *questions)[question]
        filtered = known.pairs(heads, relations)
        for i, eta in enumerate(etas):
            scores = by_rules + eta * by_embedding if eta else np.where(is_reached, by_rules, -np.inf)
            ranks = query_metrics(rank_answers(scores, answers, filtered))["mrr"]
            sums[:, i] += np.bincount(relations, ranks, relations_in_all)
        asked += np.bincount(relations, minlength=relations_in_all)
    return sums, asked


def _rows(
    alone: PiecePredictor, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores [B, E] by rules, and where a rule reaches."""
    scores = alone.score(graph, heads, relations)
    unreached = np.array([alone.unreached(int(relation)) for relation in relations])
    is_reached = np.isfinite(scores)
    return np.where(is_reached, scores, unreached[:, None]), is_reached


def _validation_queries(
    dataset: Dataset, most_facts: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]]:
    """Heads, relations and answers of validation queries in both directions, some at a time.

    Equal questions (head, relation) stand together.
    """
    facts, num_relations = dataset.valid, dataset.vocab.num_relations
    picked = np.sort(np.random.default_rng(0).permutation(len(facts))[:most_facts])
    head, relation, tail = facts[picked].T
    queries = np.stack(
        [np.append(head, tail), np.append(relation, relation + num_relations), np.append(tail, head)]
    )
    queries = queries[:, np.lexsort((queries[0], queries[1]))].astype(np.int32)
    size = max(1, SCORES // dataset.vocab.num_entities)
    for start in range(0, queries.shape[1], size):
        part = np.ascontiguousarray(queries[:, start : start + size])
        yield part[0], part[1], part[2]
