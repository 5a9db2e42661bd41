"""Completion by brute force: plain loops over all facts, from the dense scores of a scorer."""

import math

import numpy as np

from rnnlogic.answering.completion.calibration import Calibration
from rnnlogic.answering.completion.candidates import FEATURES, LIMIT
from rnnlogic.answering.completion.probability import ProbabilityModel, Reliability
from rnnlogic.data.graph import Graph
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet


def random_case(seed: int, num_entities=7, num_relations=2, facts=14, rules=10):
    """A graph and weighted rules; relation 1 has rules for its inverse only in every second case."""
    rng = np.random.default_rng(seed)
    triples = np.stack([rng.integers(0, n, facts) for n in (num_entities, num_relations, num_entities)], 1)
    graph = Graph.from_triples(triples, num_entities, num_relations)
    heads = [0, 2, 3] if seed % 2 else [0, 1, 2, 3]
    bodies = [tuple(rng.integers(0, 4, rng.integers(1, 4)).tolist()) for _ in range(rules)]
    rule_set = RuleSet.from_rules(Rule(int(rng.choice(heads)), body) for body in bodies)
    return graph, RuleScorer(rule_set, rng.normal(size=len(rule_set)), "log1p", threads=1)


def random_model(seed: int, width: int, num_relations: int) -> ProbabilityModel:
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 2, width)
    ceiling = np.full(width, np.inf)
    ceiling[0] = 0.5
    columns = (ceiling, rng.normal(size=width), scale, rng.normal(size=width), rng.normal(size=num_relations))
    return ProbabilityModel(*columns, constant=float(rng.normal()))


def random_calibration(seed: int, num_relations: int) -> Calibration:
    one, both = len(FEATURES), 2 * len(FEATURES) + 1
    models = random_model(seed, one, num_relations), random_model(seed + 1, both, num_relations)
    return Calibration(*models, 0.5, Reliability(()), 1, 1)


def value(model: ProbabilityModel, features: list[float], relation: int) -> float:
    """The logit by definition."""
    capped = [min(f, c) for f, c in zip(features, model.ceiling, strict=True)]
    standard = [(f - m) / s for f, m, s in zip(capped, model.mean, model.scale, strict=True)]
    total = math.fsum(w * z for w, z in zip(model.weights, standard, strict=True))
    return total + model.offsets[relation] + model.constant


def new_answers(graph, scorer, head: int, relation: int) -> dict[int, list[float]]:
    """Features of each answer of (head, relation, ?) that is no fact."""
    row = scorer.score(graph, np.array([head], np.int32), np.array([relation], np.int32))[0]
    scores = {e: float(s) for e, s in enumerate(row) if s > -math.inf}
    new = {e: s for e, s in scores.items() if not graph.has(head, relation, e)}
    known = sum(graph.has(head, relation, e) for e in range(graph.num_entities))

    def logit(e, among):
        others = math.fsum(math.exp(s - scores[e]) for other, s in among.items() if other != e)
        return LIMIT if others == 0 else min(max(-math.log(others), -LIMIT), LIMIT)

    return {
        e: [s, logit(e, scores), logit(e, new), math.log(1 + known), float(e == head)] for e, s in new.items()
    }


def asked(scorer, relation: int, num_relations: int) -> int:
    """The side whose rules propose."""
    return relation if any(rule.head == relation for rule in scorer.rules) else relation + num_relations


def complete_by_hand(graph, scorer, calibration) -> dict[tuple[int, int, int], tuple[float, float]]:
    """{fact: (first value, probability)} of all facts that are proposed."""
    found = {}
    for relation in range(graph.num_relations):
        question = asked(scorer, relation, graph.num_relations)
        is_forward = question == relation
        back = graph.inverse(question)
        for first in range(graph.num_entities):
            for second, features in new_answers(graph, scorer, first, question).items():
                other = new_answers(graph, scorer, second, back).get(first)
                both = [*features, *(other or [0.0] * len(FEATURES)), float(other is not None)]
                logit = value(calibration.both_ways, both, relation)
                fact = (first, relation, second) if is_forward else (second, relation, first)
                first_value = value(calibration.one_way, features, relation)
                found[fact] = first_value, 1 / (1 + math.exp(-logit))
    return found
