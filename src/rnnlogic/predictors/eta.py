"""eta: how much of each embedding's own score is added to that of the rules, chosen on validation facts.

The embeddings have seen the training facts, so eta cannot be learned from them. Several embeddings have an
eta each; all combinations are tried, as the best eta of one depends on those of the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.budget import UNLIMITED, Budget, check_time, growing
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.embeddings.base import Embedding, Together
from rnnlogic.evaluation.evaluate import KnownAnswers, Scorer
from rnnlogic.evaluation.ranks import query_metrics, rank_answers
from rnnlogic.predictors.base import PiecePredictor, Task
from rnnlogic.predictors.paths.settings import PathSettings
from rnnlogic.predictors.plus.settings import PlusSettings

FIRST_SAMPLE = 20  # validation facts that are asked first under a budget
SCORES = 1 << 21  # scores of a piece of validation queries (16 MB; with more, memory is not reused)


def voices(embedding: Scorer | None, threads: int | None = None) -> tuple[Scorer, ...]:
    """The embeddings that have a say, on so many threads each."""
    if embedding is None:
        return ()
    parts = embedding.parts if isinstance(embedding, Together) else (embedding,)
    return tuple(part.on_threads(threads) if isinstance(part, Embedding) else part for part in parts)


def spoken(
    embeddings: Sequence[Scorer], etas: ArrayLike, graph: Graph, heads: NDArray[np.int32], relation: int
) -> NDArray[np.float64] | None:
    """The sum of eta * score [B, E] of the embeddings; None if all etas of the relation are 0.

    `etas` are one for all, one for each relation [2R], or for each embedding and relation [M, 2R].
    """
    shape = len(embeddings), 2 * graph.num_relations
    own = np.broadcast_to(np.asarray(etas, np.float64), shape)[:, relation]
    if not own.any():
        return None
    relations = np.full(len(heads), relation, np.int32)
    total = np.zeros((len(heads), graph.num_entities))
    for eta, embedding in zip(own, embeddings, strict=True):
        if eta:
            total += eta * embedding.score(graph, heads, relations)
    return total


def combinations(etas: Sequence[float], embedding: Scorer) -> NDArray[np.float64]:
    """All choices [W, M] of an eta for each embedding."""
    return np.array(list(product(etas, repeat=len(voices(embedding)))))


def best_etas(
    sums: NDArray[np.float64], asked: NDArray[np.int64], tried: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """The best choice for each relation [M, 2R], by summed reciprocal ranks [2R, W] over queries [2R].

    What all queries say counts as `prior` queries of the relation.
    """
    mean = sums.sum(axis=0) / max(1, asked.sum())
    weighed = np.tile(mean, (len(sums), 1)) if np.isinf(prior) else sums + prior * mean
    return np.ascontiguousarray(tried[np.argmax(weighed, axis=1)].T)


def chosen_etas(
    alone: PiecePredictor, task: Task, settings: PathSettings | PlusSettings
) -> NDArray[np.float64]:
    """eta [M, 2R] by validation facts, for all relations alike or for each; `alone` scores by rules only."""
    started = time.perf_counter()
    assert task.embedding is not None
    tried = combinations(settings.etas, task.embedding)
    asking = alone, task.embedding, task.dataset, tried, settings.eta_facts
    sums, asked = reciprocal_ranks(*asking, task.budget)
    mrr = sums.sum(axis=0) / max(1, asked.sum())
    task.note("eta", started, tried=tried.tolist(), valid_mrr=mrr.tolist())
    return best_etas(sums, asked, tried, settings.eta_prior if settings.per_relation_eta else np.inf)


def reciprocal_ranks(
    alone: PiecePredictor,
    embedding: Scorer,
    dataset: Dataset,
    tried: NDArray[np.float64],
    most_facts: int,
    budget: Budget = UNLIMITED,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Summed reciprocal ranks [2R, W] of validation answers by rules + eta * embedding, and queries [2R].

    `alone` scores by rules only; `tried` [W, M] has an eta for each embedding. With a budget as many facts
    are asked as there is time for.
    """
    if budget.is_limited:
        total = min(most_facts, len(dataset.valid))
        ask = partial(reciprocal_ranks, alone, embedding, dataset, tried)
        found, size = growing(ask, FIRST_SAMPLE, total, budget)
        if size < total:
            budget.cut("eta", f"chosen by {size:,} of {total:,} validation facts")
        return found
    graph, known = dataset.graph("train"), KnownAnswers(dataset.graph("all"))
    relations_in_all, parts = 2 * dataset.vocab.num_relations, voices(embedding)
    sums, asked = np.zeros((relations_in_all, len(tried))), np.zeros(relations_in_all, np.int64)
    for heads, relations, answers in _validation_queries(dataset, most_facts):
        check_time()
        is_new = np.append(True, (np.diff(heads) != 0) | (np.diff(relations) != 0))  # not the last question
        question, questions = np.cumsum(is_new) - 1, (heads[is_new], relations[is_new])
        by_rules, is_reached = (part[question] for part in _rows(alone, graph, *questions))
        by_embedding = [part.score(graph, *questions)[question] for part in parts]
        filtered = known.pairs(heads, relations)
        for i, etas in enumerate(tried):
            scores = by_rules.copy() if etas.any() else np.where(is_reached, by_rules, -np.inf)
            for eta, says in zip(etas, by_embedding, strict=True):
                if eta:
                    scores += eta * says
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
