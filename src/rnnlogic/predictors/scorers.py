"""From what was learned to something that answers; free of torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import KnownAnswers, Scorer
from rnnlogic.evaluation.metrics import query_metrics
from rnnlogic.evaluation.ranks import rank_answers
from rnnlogic.learning.result import Learned
from rnnlogic.predictors.loglinear.scorer import AnswerScorer, RuleScorer
from rnnlogic.predictors.paths.scorer import PathRuleScorer
from rnnlogic.predictors.paths.scores import PathModel
from rnnlogic.predictors.paths.settings import PathSettings
from rnnlogic.predictors.plus.scorer import PlusScorer
from rnnlogic.rules.ruleset import RuleSet

SCORES = 1 << 21  # scores of a piece of validation queries (16 MB; with more, memory is not reused)


def path_model(embedding: RotatE, settings: PathSettings) -> PathModel:
    """How an embedding scores paths by these settings."""
    delta = embedding.margin + settings.shift if settings.delta is None else settings.delta
    return PathModel(embedding, delta, settings.temperature, settings.distance)


def path_model_of(embedding: Scorer | None, config: Config) -> PathModel | None:
    """How paths are scored; None if all count alike."""
    if not isinstance(embedding, RotatE) or not config.scores_paths:
        return None
    return path_model(embedding, config.paths)


def make_scorer(
    rules: RuleSet,
    weights: NDArray[np.float64],
    config: Config,
    embedding: Scorer | None = None,
    answer_weight: float = 0.0,
) -> AnswerScorer:
    """Weighted rules as a scorer, with path scores where there is an embedding."""
    feature = config.predictor.feature
    paths = path_model_of(embedding, config)
    if paths is None:
        return RuleScorer(rules, weights, feature, config.threads)
    return PathRuleScorer(rules, weights, feature, paths, answer_weight, config.threads)


def scorer_of(learned: Learned, config: Config, embedding: Scorer | None = None) -> AnswerScorer:
    """The scorer of a finished fit."""
    if learned.plus is not None:
        paths = path_model_of(embedding, config)
        return PlusScorer(learned.rules, learned.plus, learned.feature, paths, embedding, config.threads)
    return make_scorer(learned.rules, learned.weights, config, embedding, learned.answer_weight)


def validation_mrr_by_weight(
    dataset: Dataset, rules: AnswerScorer, embedding: RotatE, weights: Sequence[float], most_facts: int
) -> list[float]:
    """Validation MRR of rules + weight * embedding for each weight >= 0; at most so many facts are asked."""
    graph, known = dataset.graph("train"), KnownAnswers(dataset.graph("all"))
    sums, asked = np.zeros(len(weights)), 0
    for heads, relations, answers in validation_queries(dataset, most_facts):
        is_new = np.append(True, (np.diff(heads) != 0) | (np.diff(relations) != 0))  # not the last question
        question, questions = np.cumsum(is_new) - 1, (heads[is_new], relations[is_new])
        by_rules = rules.score(graph, *questions)[question]  # [B, E]
        by_embedding = embedding.score(graph, *questions)[question]
        reached = np.where(np.isfinite(by_rules), by_rules, 0.0)
        filtered = known.pairs(heads, relations)
        for i, weight in enumerate(weights):
            scores = reached + weight * by_embedding if weight else by_rules
            sums[i] += query_metrics(rank_answers(scores, answers, filtered))["mrr"].sum()
        asked += len(answers)
    return [float(total) / max(asked, 1) for total in sums]


def validation_queries(
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
