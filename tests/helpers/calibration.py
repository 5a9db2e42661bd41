"""Calibration and completion by brute force: plain loops, from the dense scores of a scorer."""

import math

import numpy as np

from rnnlogic.calibrate.level import Basis, Level
from rnnlogic.calibrate.probability import ProbabilityModel, Reliability
from rnnlogic.calibrate.proposals import FEATURES, LIMIT, WIDTH
from rnnlogic.data.graph import Graph
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet


def random_case(seed: int, num_entities=7, num_relations=2, facts=14, rules=10):
    """A graph and weighted rules; relation 1 has rules for its inverse only in every second case."""
    rng = np.random.default_rng(seed)
    triples = np.stack([rng.integers(0, n, facts) for n in (num_entities, num_relations, num_entities)], 1)
    graph = Graph.from_triples(triples, num_entities, num_relations)
    heads = [0, 2, 3] if seed % 2 else [0, 1, 2, 3]
    bodies = [tuple(rng.integers(0, 4, rng.integers(1, 4)).tolist()) for _ in range(rules)]
    rule_set = RuleSet.from_rules(Chain(int(rng.choice(heads)), body) for body in bodies)
    return graph, RuleScorer(rule_set, rng.normal(size=len(rule_set)), "log1p", threads=1)


def random_model(seed: int, width: int, num_relations: int) -> ProbabilityModel:
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 2, width)
    ceiling = np.full(width, np.inf)
    ceiling[0] = 0.5
    columns = (ceiling, rng.normal(size=width), scale, rng.normal(size=width), rng.normal(size=num_relations))
    return ProbabilityModel(*columns, constant=float(rng.normal()), stretch=rng.uniform(0.5, 1.5, 3))


def random_level(seed: int, num_relations: int) -> Level:
    models = (
        random_model(seed, len(FEATURES), 2 * num_relations),
        random_model(seed + 1, WIDTH, num_relations),
    )
    return Level("train", Basis("validation facts", 9, "counted"), 8, 7, *models, 0.01, Reliability(()))


def value(model: ProbabilityModel, features: list[float], relation: int) -> float:
    """The logit by definition."""
    capped = [min(f, c) for f, c in zip(features, model.ceiling, strict=True)]
    standard = [(f - m) / s for f, m, s in zip(capped, model.mean, model.scale, strict=True)]
    total = math.fsum(w * z for w, z in zip(model.weights, standard, strict=True))
    logit = total + model.offsets[relation] + model.constant
    below, above, shift = model.stretch
    return logit * (below if logit < 0 else above) + shift


def without(graph: Graph, head: int, relation: int, tail: int) -> Graph:
    """The graph without one fact."""
    if relation >= graph.num_relations:
        head, relation, tail = tail, relation - graph.num_relations, head
    facts = [fact for fact in graph.triples().tolist() if fact != [head, relation, tail]]
    return Graph.from_triples(np.array(facts, int).reshape(-1, 3), graph.num_entities, graph.num_relations)


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


def both_ways(graph, scorer, head: int, relation: int, tail: int) -> list[float] | None:
    """Features of a fact by both questions, the fact itself hidden; None if neither reaches it."""
    left = without(graph, head, relation, tail)
    there = new_answers(left, scorer, head, relation).get(tail)
    back = new_answers(left, scorer, tail, left.inverse(relation)).get(head)
    if there is None and back is None:
        return None
    nothing = [0.0] * len(FEATURES)
    together = [0.0] * 3
    if there and back:
        product = (there[2] + LIMIT) * (back[2] + LIMIT) / (4 * LIMIT)
        together = [min(there[2], back[2]), max(there[2], back[2]), product]
    marks = [float(there is not None), float(back is not None)]
    return [*(there or nothing), *(back or nothing), *marks, *together]


def probability(graph, scorer, level: Level, head: int, relation: int, tail: int) -> float:
    """The chance of a fact, relation < R."""
    features = both_ways(graph, scorer, head, relation, tail)
    if features is None:
        return level.unreached
    return min(1 / (1 + math.exp(-value(level.both_ways, features, relation))), level.highest)


def asked(scorer, relation: int, num_relations: int) -> int:
    """The side whose rules propose."""
    return relation if any(rule.head == relation for rule in scorer.rules) else relation + num_relations


def complete_by_hand(graph, scorer, level) -> dict[tuple[int, int, int], tuple[float, float]]:
    """{fact: (first value, probability)} of all facts that are proposed."""
    found = {}
    for relation in range(graph.num_relations):
        question = asked(scorer, relation, graph.num_relations)
        for first in range(graph.num_entities):
            for second, features in new_answers(graph, scorer, first, question).items():
                fact = (first, relation, second) if question == relation else (second, relation, first)
                first_value = value(level.one_way, features, question)
                found[fact] = first_value, probability(graph, scorer, level, *fact)
    return found
