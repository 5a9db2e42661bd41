"""PathRank: paths as features of a (head, tail) pair, and one logistic regression per relation.

Path ranking (Lao and Cohen, 2010): the feature of a path type is the probability that a walk of this type
from the head ends in the tail. Here all walks of a type are equally likely, so the probability is the tail's
share of the rule's grounding paths. The path types are mined rules. The regression learns from the entities
that these reach for training queries, each with its own fact hidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from scipy.optimize import minimize
from scipy.sparse import csr_array, vstack
from scipy.special import expit

from rnnlogic.base.budget import Work
from rnnlogic.base.types import Queries
from rnnlogic.config import changed, preset_for
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import KnownAnswers
from rnnlogic.features.ground import Grounder, Grounding
from rnnlogic.mining.mine import mine_rules
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries


class PathRankSettings(BaseModel):
    """Settings of the paths and their weights."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(0, ge=0)
    rules: int = Field(200, ge=1, description="Path types per relation: the best by the miner's quality")
    queries_per_relation: int = Field(1000, ge=1, description="Training queries per relation, at most")
    negatives: int = Field(50, ge=1, description="Wrong pairs per training query, on average, at most")
    weight_decay: float = Field(0.1, ge=0, description="L2 penalty on the weights (the loss is a sum)")
    steps: int = Field(60, ge=1, description="Passes over the pairs, at most (L-BFGS)")
    threads: int = Field(1, ge=1)


class Pairs(NamedTuple):
    """(query, entity) pairs to learn from."""

    features: csr_array  # [pairs, rules of the relation]
    is_fact: NDArray[np.bool_]  # [pairs]


class PathRankScorer:
    """Score of an answer: weights times path features; -inf if no path reaches it."""

    def __init__(self, rules: RuleSet, weights: NDArray[np.float64], threads: int = 1) -> None:
        self.rules, self.weights, self._threads = rules, weights, threads

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E]."""
        scores = np.full((len(heads), graph.num_entities), -np.inf)
        for part in Grounder(graph, self.rules, self._threads).ground(heads, relations):
            size = len(part.queries) * graph.num_entities
            rule, query = _cells(part)
            place = query * graph.num_entities + part.entity
            values = np.bincount(place, self.weights[part.rules[rule]] * shares(part), minlength=size)
            reached = np.bincount(place, minlength=size) > 0
            scores[part.queries] = np.where(reached, values, -np.inf).reshape(len(part.queries), -1)
        return scores


def fit_pathrank(dataset: Dataset, settings: PathRankSettings | None = None) -> PathRankScorer:
    """Mine paths and fit a logistic regression for every relation and its inverse."""
    settings = settings or PathRankSettings()
    config, graph = changed(preset_for(dataset), {"mine": {"keep": settings.rules}}), dataset.graph("train")
    work = Work(settings.threads)
    rules = mine_rules(graph, config.mine, config.max_length, seed=settings.seed, work=work).rules
    queries = training_queries(graph, settings.queries_per_relation, settings.seed)
    grounder, weights = Grounder(graph, rules, settings.threads), np.zeros(len(rules))
    for relation in rules.head_relations():
        rng = np.random.default_rng([settings.seed, int(relation)])
        pairs = build_pairs(grounder, queries[queries[:, 1] == relation], settings.negatives, rng)
        weights[rules.by_head(int(relation))] = logistic_regression(
            pairs, settings.weight_decay, settings.steps
        )
    return PathRankScorer(rules, weights, settings.threads)


def shares(grounding: Grounding) -> NDArray[np.float64]:
    """The share of each result [n] in the walks of its rule from its head."""
    cell = np.repeat(np.arange(len(grounding.ptr) - 1), np.diff(grounding.ptr))
    total = np.bincount(cell, grounding.count, minlength=len(grounding.ptr) - 1)
    found: NDArray[np.float64] = grounding.count / total[cell]
    return found


def build_pairs(grounder: Grounder, queries: Queries, negatives: int, rng: np.random.Generator) -> Pairs:
    """Pairs from training queries of one relation: answers that rules reach, and a sample of wrong entities.

    Other known answers are left out.
    """
    relation = int(queries[0, 1])
    place = np.full(len(grounder.rules), -1)
    ids = grounder.rules.by_head(relation)
    place[ids] = np.arange(len(ids))
    known = KnownAnswers(grounder.graph)
    blocks = [
        _pairs_of(part, queries[part.queries], known, place, negatives, rng)
        for part in grounder.ground(queries[:, 0], relation, queries[:, 2])
    ]
    features = vstack([csr_array((0, len(ids))), *(block.features for block in blocks)], format="csr")
    return Pairs(features, np.concatenate([np.empty(0, bool), *(block.is_fact for block in blocks)]))


def logistic_regression(pairs: Pairs, weight_decay: float, steps: int) -> NDArray[np.float64]:
    """Weights [rules] of the most likely logistic model with an intercept, by L-BFGS."""
    features, sign = pairs.features, np.where(pairs.is_fact, 1.0, -1.0)
    transposed = features.T.tocsr()

    def objective(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, intercept = parameters[:-1], parameters[-1]
        margin = sign * (features @ weights + intercept)
        slope = -sign * expit(-margin)
        loss = np.logaddexp(0, -margin).sum() + weight_decay / 2 * weights @ weights
        return loss, np.append(transposed @ slope + weight_decay * weights, slope.sum())

    start = np.zeros(features.shape[1] + 1)
    limits = {"maxiter": steps, "maxfun": steps}
    weights: NDArray[np.float64] = minimize(objective, start, jac=True, method="L-BFGS-B", options=limits).x
    return weights[:-1]


def _pairs_of(
    part: Grounding,
    queries: Queries,
    known: KnownAnswers,
    place: NDArray[np.int64],
    negatives: int,
    rng: np.random.Generator,
) -> Pairs:
    num_entities = part.num_entities
    rule, query = _cells(part)
    keys, row = np.unique(query * num_entities + part.entity, return_inverse=True)
    known_query, known_entity = known.pairs(
        np.ascontiguousarray(queries[:, 0]), np.ascontiguousarray(queries[:, 1])
    )
    is_fact = np.isin(keys, np.arange(len(queries)) * num_entities + queries[:, 2])
    is_wrong = ~np.isin(keys, known_query * num_entities + known_entity)
    wrong = rng.permutation(np.flatnonzero(is_wrong))[: negatives * len(queries)]
    kept = np.sort(np.concatenate([np.flatnonzero(is_fact), wrong]))
    shape = (len(keys), int(place.max()) + 1)
    features = csr_array((shares(part), (row, place[part.rules[rule]])), shape)
    return Pairs(features[kept], is_fact[kept])


def _cells(part: Grounding) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rule and the query of each result [n], as positions within the part."""
    cell = np.repeat(np.arange(len(part.ptr) - 1), np.diff(part.ptr))
    rule, query = np.divmod(cell, len(part.queries))
    return rule, query
