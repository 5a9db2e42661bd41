"""The sample stands for all questions and for all proposals, whatever is drawn."""

import numpy as np
import pytest

from rnnlogic.calibrate.probability import ProbabilityModel
from rnnlogic.calibrate.proposals import Design, draw_proposals, look_twice, straight, two_way
from tests.helpers import calibration as oracles

DRAWS = 300
ALL = np.arange(4)
NO_CASES = np.empty((0, 3), np.int32)


def close(values, expected):
    error = np.std(values) / np.sqrt(len(values))
    return abs(np.mean(values) - expected) < 4 * error + 1e-9


def test_all_questions_if_there_are_few():
    graph, _ = oracles.random_case(0)
    asked = Design.of(graph, np.array([1, 3]), 14, NO_CASES).draw(np.random.default_rng(0))
    assert sorted(zip(asked.head.tolist(), asked.relation.tolist(), strict=True)) == [
        (h, r) for h in range(7) for r in (1, 3)
    ]
    assert set(asked.weight.tolist()) == {1.0}


@pytest.mark.parametrize("relations", [[0, 1, 2, 3], [2], [0, 3]])
def test_questions_stand_for_all(relations):
    graph, _ = oracles.random_case(3, num_entities=40, facts=30)
    draws = [
        Design.of(graph, np.array(relations), 20, NO_CASES).draw(np.random.default_rng(seed))
        for seed in range(DRAWS)
    ]
    assert all(set(draw.relation.tolist()) <= set(relations) for draw in draws)
    assert close([draw.weight.sum() for draw in draws], 40 * len(relations))
    for relation in relations:  # of every kind of question: with edges at the head, without
        known = np.array([len(graph.neighbours(h, relation)) > 0 for h in range(40)])
        for kind in (known, ~known):
            totals = [draw.weight[(draw.relation == relation) & kind[draw.head]].sum() for draw in draws]
            assert close(totals, kind.sum())


def test_proposals_stand_for_all_once():
    graph, scorer = oracles.random_case(8)  # rules for both directions of both relations
    expected = {}
    for head in range(7):
        for relation in range(4):
            for tail in oracles.new_answers(graph, scorer, head, relation):
                expected[tuple(straight(np.array([[head, relation, tail]]), 2)[0].tolist())] = True
    model = ProbabilityModel(*[np.full(5, v) for v in (np.inf, 0.0, 1.0, 0.3)], np.zeros(4), 0.0)
    cases = np.array([(0, 1, 2), (3, 0, 3)], np.int32)
    design, totals, small = Design.of(graph, ALL, 12, cases), [], []
    for seed in range(DRAWS):
        random = np.random.default_rng(seed)
        drawn = draw_proposals(scorer, design, random)
        found = look_twice(scorer, design, drawn, model, 6, random)
        assert {tuple(fact) for fact in found.facts.tolist()} <= expected.keys()
        assert (found.rows.features == two_way(graph, scorer, found.facts)[0]).all()  # as if asked twice now
        totals.append(found.rows.weight.sum())
        small.append(len(found.facts))
    assert close(totals, len(expected))
    assert np.mean(small) < len(expected) / 2
