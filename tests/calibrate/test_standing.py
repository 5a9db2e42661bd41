"""What speaks for facts, against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.calibrate.proposals import WIDTH, new_answers, straight, turned, two_way
from tests.helpers import calibration as oracles

seeds = st.integers(0, 10**6)


@settings(max_examples=30)
@given(seeds)
def test_new_answers_and_their_standing(seed):
    graph, scorer = oracles.random_case(seed)
    for relation in range(4):
        heads = np.array([6, 0, 3, 2], np.int32)
        expected = {
            (h, t): f for h in heads for t, f in oracles.new_answers(graph, scorer, h, relation).items()
        }
        found, sizes = {}, {}
        for block in new_answers(graph, scorer, heads, relation):
            asked = heads[block.question].tolist()
            rows = zip(asked, block.entity.tolist(), block.features().tolist(), strict=True)
            found |= {(h, t): f for h, t, f in rows}
            sizes |= dict(zip(asked, block.answers.tolist(), strict=True))
        assert found.keys() == expected.keys()
        for key, features in expected.items():
            assert found[key] == pytest.approx(features, abs=1e-9)
            assert sizes[key[0]] == sum(h == key[0] for h, _ in expected)


@settings(max_examples=8)
@given(seeds)
def test_both_ways_with_facts_of_the_graph_hidden_each_in_turn(seed):
    graph, scorer = oracles.random_case(seed)
    facts = np.array([(h, r, t) for h in range(7) for r in range(2) for t in range(7)], np.int32)
    facts = np.concatenate([facts, facts[:9]])  # a fact may be asked for twice
    features, ways = two_way(graph, scorer, facts)
    for fact, row, number in zip(facts.tolist(), features.tolist(), ways.tolist(), strict=True):
        by_hand = oracles.both_ways(graph, scorer, *fact)
        assert row == pytest.approx(by_hand or [0.0] * WIDTH, abs=1e-9)
        assert number == (sum(by_hand[10:12]) if by_hand else 0)
    assert any(graph.has(*fact) for fact in facts.tolist())


@given(seeds)
def test_turning_facts_round(seed):
    facts = np.random.default_rng(seed).integers(0, 4, (5, 3)).astype(np.int32)
    back = turned(facts, 2)
    assert turned(back, 2).tolist() == facts.tolist()
    assert straight(facts, 2).tolist() == straight(back, 2).tolist()
    assert (straight(facts, 2)[:, 1] < 2).all()
