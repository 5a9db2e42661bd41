"""Probabilities fitted on validation facts: evidence train, a proposed fact is found if it is in valid.

Facts of test are not looked at: they are as unknown as any other, only their number is used (see
`probability`). Questions without a validation fact belong to the sample too, since most questions that are
asked when a graph is completed are of that kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.answering.completion.candidates import (
    FEATURES,
    LIMIT,
    NEW,
    SCORE,
    Candidates,
    candidates,
    features_of,
)
from rnnlogic.answering.completion.probability import (
    ProbabilityModel,
    Reliability,
    Sample,
    cross_validated,
    fit_probability,
    sigmoid,
)
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.ruleset import RuleSet

QUESTIONS = 100_000  # sampled, besides those with validation facts
FACTS = 200_000  # kept of them in all, or a few of each
LIKELY, OTHERS = 3.0, 1.0  # facts kept of a question: about so many by their softmax, and so many at random
SECOND_LOOK = 20_000  # facts for which the inverse question is asked too

Progress = Callable[[str, int, int, str], None]  # stage, pieces done, pieces in all, note


@dataclass(frozen=True, eq=False)
class Calibration:
    """How probable proposed facts are."""

    one_way: ProbabilityModel  # by the question (head, relation, ?) alone: for a first choice
    both_ways: ProbabilityModel  # by (tail, relation^-1, ?) as well
    share: float  # of the facts held back, those that are in valid
    reliability: Reliability  # of both_ways, cross-validated
    facts: int  # validation facts that rules reach
    valid: int  # validation facts

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "validation_facts": self.valid,
            "reached": self.facts,
            "share": self.share,
            "calibration_error": self.reliability.error,
            "reliability": self.reliability.table(),
        }


def calibrate(dataset: Dataset, scorer: AnswerScorer, progress: Progress, seed: int = 0) -> Calibration:
    """Fit probabilities on the validation facts."""
    valid, num_relations = dataset.valid, dataset.vocab.num_relations
    if not len(valid):
        raise RNNLogicError(
            f"dataset {dataset.name!r} has no validation facts, which probabilities are fitted on; "
            "load the data with a valid split"
        )
    share = len(valid) / (len(valid) + len(dataset.test))
    graph, random = dataset.graph("train"), np.random.default_rng(seed)
    rows = _sample(graph, scorer, valid, random, progress)
    reached = int(rows.sample.is_found.sum())
    if not reached:
        raise RNNLogicError(
            f"dataset {dataset.name!r}: rules reach none of its {len(valid):,} validation facts, so there is "
            "nothing to fit probabilities on; learn more or longer rules, or hold more facts back"
        )
    one_way = fit_probability(rows.sample, share, num_relations, [SCORE])
    chosen, sample = _thinned(rows.sample, one_way, random)
    facts = rows.facts[chosen]
    back, is_reached = second_look(graph, scorer, facts, progress, "calibrate 2/2")
    both = Sample(
        two_way_features(sample.features, back, is_reached),
        sample.relation,
        sample.is_found,
        sample.weight,
        sample.group,
    )
    scores = [SCORE, len(FEATURES) + SCORE]
    both_ways = fit_probability(both, share, num_relations, scores)
    checked = cross_validated(both, share, num_relations, scores)
    return Calibration(one_way, both_ways, share, checked, reached, len(valid))


def asked_direction(rules: RuleSet, relation: int, num_relations: int) -> int:
    """The relation id whose rules propose facts of `relation`: itself, or its inverse if it has no rules."""
    return relation if len(rules.by_head(relation)) else relation + num_relations


def turned(relation: int, facts: Candidates, num_relations: int) -> Triples:
    """Candidates for answers of a relation id as facts [n, 3] of relation < R."""
    ends = (facts.head, facts.tail) if relation < num_relations else (facts.tail, facts.head)
    return np.stack([ends[0], np.full_like(facts.head, relation % num_relations), ends[1]], axis=1)


def second_look(
    graph: Graph, scorer: AnswerScorer, facts: Triples, progress: Progress, stage: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Features [n, FEATURES] of facts by the question that proposed them not, and whether it reaches them."""
    features, is_reached = np.zeros((len(facts), len(FEATURES))), np.zeros(len(facts), bool)
    relations = np.unique(facts[:, 1]).tolist()
    for done, relation in enumerate(relations, 1):
        rows = np.flatnonzero(facts[:, 1] == relation)
        head, _, tail = facts[rows].T
        asked = graph.inverse(asked_direction(scorer.rules, relation, graph.num_relations))
        ends = (tail, head) if asked >= graph.num_relations else (head, tail)
        features[rows], is_reached[rows] = features_of(graph, scorer, ends[0], asked, ends[1])
        progress(stage, done, len(relations), "")
    return features, is_reached


def two_way_features(
    one_way: NDArray[np.float64], back: NDArray[np.float64], is_reached: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """[n, 2 * FEATURES + 1]: zeros and a mark for what is not reached the other way."""
    return np.concatenate([one_way, back, is_reached[:, None]], axis=1)


class _Rows(NamedTuple):
    sample: Sample
    facts: Triples


def _sample(
    graph: Graph, scorer: AnswerScorer, valid: Triples, random: np.random.Generator, progress: Progress
) -> _Rows:
    """Facts proposed for a sample of questions, with all that have validation facts."""
    samples, facts = [], []
    likely = max(LIKELY, FACTS / (graph.num_relations * graph.num_entities))
    for relation in range(graph.num_relations):
        asked = asked_direction(scorer.rules, relation, graph.num_relations)
        answers = _answers(valid[valid[:, 1] == relation], asked != relation)
        wanted = _keys(answers[:, 0], answers[:, 1], graph)
        heads, weights = _questions(answers, graph, random)
        for block in candidates(graph, scorer, asked, heads):
            is_found = np.isin(_keys(block.head, block.tail, graph), wanted)
            kept, weight = _thin(block, is_found, weights, likely, random)
            samples.append(
                Sample(
                    block.features[kept],
                    np.full(len(kept), relation),
                    is_found[kept],
                    weight,
                    block.head[kept].astype(np.int64),
                )
            )
            facts.append(turned(asked, block, graph.num_relations)[kept])
        progress("calibrate 1/2", relation + 1, graph.num_relations, "")
    empty = np.empty(0)
    none = Sample(
        np.empty((0, len(FEATURES))), empty.astype(int), empty.astype(bool), empty, empty.astype(int)
    )
    return _Rows(_joined([none, *samples]), np.concatenate([valid[:0], *facts]))


def _answers(facts: Triples, is_inverse: bool) -> NDArray[np.int32]:
    """(head, answer) pairs [n, 2] of the questions that facts of one relation ask."""
    return facts[:, [2, 0]] if is_inverse else facts[:, [0, 2]]


def _questions(
    answers: NDArray[np.int32], graph: Graph, random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Heads to ask about, and for each entity how many questions it stands for [E]."""
    weights = np.zeros(graph.num_entities)
    sure = np.unique(answers[:, 0])
    others = np.setdiff1d(np.arange(graph.num_entities, dtype=np.int32), sure)
    number = min(len(others), max(QUESTIONS // graph.num_relations, 1))
    drawn = random.choice(others, number, replace=False) if number else others
    weights[sure] = 1.0
    weights[drawn] = len(others) / max(number, 1)
    return np.sort(np.concatenate([sure, drawn])).astype(np.int32), weights


def _thin(
    block: Candidates,
    is_found: NDArray[np.bool_],
    weights: NDArray[np.float64],
    number: float,
    random: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Which candidates to keep, all that are found among them, and how many each of them stands for."""
    likely = sigmoid(block.features[:, NEW]) - 1 / (1 + np.exp(LIMIT))
    chance = np.minimum(number * likely + OTHERS / block.answers, 1.0)
    chance[is_found] = 1.0
    kept = np.flatnonzero(random.random(len(chance)) < chance)
    return kept, weights[block.head[kept]] / chance[kept]


def _thinned(
    sample: Sample, model: ProbabilityModel, random: np.random.Generator
) -> tuple[NDArray[np.intp], Sample]:
    """The most telling facts: all that are found, others by their number and probability."""
    mass = sample.weight * np.maximum(model.probabilities(sample.features, sample.relation), 1e-6)
    chance = np.minimum(SECOND_LOOK * mass / mass.sum(), 1.0)
    chance[sample.is_found] = 1.0
    kept = np.flatnonzero(random.random(len(chance)) < chance)
    left = sample.select(kept)
    return kept, Sample(left.features, left.relation, left.is_found, left.weight / chance[kept], left.group)


def _joined(samples: list[Sample]) -> Sample:
    names = ("features", "relation", "is_found", "weight", "group")
    return Sample(*(np.concatenate([getattr(sample, name) for sample in samples]) for name in names))


def _keys(heads: NDArray[np.int32], tails: NDArray[np.int32], graph: Graph) -> NDArray[np.int64]:
    return np.asarray(heads.astype(np.int64) * graph.num_entities + tails)
