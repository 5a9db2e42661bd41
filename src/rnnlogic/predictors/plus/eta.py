"""How much of the embedding's own score is added to that of the network: eta, by validation facts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import KnownAnswers, Scorer
from rnnlogic.evaluation.metrics import query_metrics
from rnnlogic.evaluation.ranks import rank_answers
from rnnlogic.predictors.plus.parameters import PlusParameters
from rnnlogic.predictors.plus.scorer import PlusScorer
from rnnlogic.predictors.plus.settings import PlusSettings
from rnnlogic.predictors.scorers import validation_queries


def choose_eta(
    scorer: PlusScorer, dataset: Dataset, settings: PlusSettings, note: Callable[..., None]
) -> PlusParameters:
    """The scorer's parameters with the best eta, for all relations alike or for each.

    The embedding has seen the training facts, so eta cannot be learned from them.
    """
    started, tried = time.perf_counter(), settings.etas
    assert scorer.embedding is not None
    sums, asked = reciprocal_ranks(scorer, scorer.embedding, dataset, tried, settings.eta_facts)
    mean = sums.sum(axis=0) / max(1, asked.sum())
    note("eta", started, tried=tried, valid_mrr=mean.tolist())
    prior = settings.eta_prior if settings.per_relation_eta else np.inf
    chosen = best_weights(sums, mean, np.array(tried), prior)
    return replace(scorer.parameters, answer_weight=chosen)


def best_weights(
    sums: NDArray[np.float64], mean: NDArray[np.float64], tried: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """The best of the weights tried for each relation, by summed [2R, W] and mean [W] reciprocal ranks.

    What all queries say counts as `prior` queries of the relation.
    """
    if np.isinf(prior):
        return np.full(len(sums), tried[np.argmax(mean)])
    return np.asarray(tried[np.argmax(sums + prior * mean, axis=1)])


def reciprocal_ranks(
    scorer: PlusScorer, embedding: Scorer, dataset: Dataset, weights: Sequence[float], most_facts: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Summed reciprocal ranks [2R, W] of validation answers by network + weight * embedding; queries [2R]."""
    graph, known = dataset.graph("train"), KnownAnswers(dataset.graph("all"))
    relations_in_all = 2 * dataset.vocab.num_relations
    sums, asked = np.zeros((relations_in_all, len(weights))), np.zeros(relations_in_all, np.int64)
    for heads, relations, answers in validation_queries(dataset, most_facts):
        is_new = np.append(True, (np.diff(heads) != 0) | (np.diff(relations) != 0))  # not the last question
        question, questions = np.cumsum(is_new) - 1, (heads[is_new], relations[is_new])
        by_rules, is_reached = (part[question] for part in scorer.rows(graph, *questions))
        by_embedding = embedding.score(graph, *questions)[question]
        filtered = known.pairs(heads, relations)
        for i, weight in enumerate(weights):
            scores = by_rules + weight * by_embedding if weight else np.where(is_reached, by_rules, -np.inf)
            ranks = query_metrics(rank_answers(scores, answers, filtered))["mrr"]
            sums[:, i] += np.bincount(relations, ranks, relations_in_all)
        asked += np.bincount(relations, minlength=relations_in_all)
    return sums, asked
