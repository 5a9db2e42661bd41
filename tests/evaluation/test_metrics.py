from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.ranks import HITS_AT, METRICS, TIE_RULES, Ranks, metrics, rank_answers


def make_ranks(*better_and_tied: tuple[int, int]) -> Ranks:
    better, tied = np.array(better_and_tied, dtype=np.int64).T
    return Ranks(better, tied, better + tied)


def of_rank(rank: Fraction | int) -> dict[str, Fraction]:
    hits = {f"hits@{k}": Fraction(int(rank <= k)) for k in HITS_AT}
    return {"mrr": 1 / Fraction(rank), "mr": Fraction(rank), **hits}


def mean(rows: list[dict[str, Fraction]]) -> dict[str, float]:
    return {name: float(sum(row[name] for row in rows) / len(rows)) for name in METRICS}


def ranks_over_all_shuffles(scores: list[float], answer: int) -> list[int]:
    """The answer's rank for each order in which a stable sort by score may meet the entities."""
    return [
        1 + sorted(order, key=lambda entity: -scores[entity]).index(answer)
        for order in permutations(range(len(scores)))
    ]


small_scores = st.lists(st.sampled_from([-np.inf, 0.0, 1.0]), min_size=1, max_size=6)


@given(small_scores, st.data())
def test_ties_as_brute_force_shuffles_say(scores, data):
    answer = data.draw(st.integers(0, len(scores) - 1))
    shuffled = ranks_over_all_shuffles(scores, answer)
    empty = np.array([], dtype=np.int64)
    ranks = rank_answers(np.array([scores]), np.array([answer]), (empty, empty))
    assert metrics(ranks, "expected") == pytest.approx(mean([of_rank(r) for r in shuffled]), rel=1e-15)
    assert metrics(ranks, "realistic") == mean([of_rank(Fraction(sum(shuffled), len(shuffled)))])
    assert metrics(ranks, "pessimistic") == mean([of_rank(max(shuffled))])


@pytest.mark.parametrize("better", [0, 1, 2, 5, 8, 9, 10, 11])
@pytest.mark.parametrize("tied", [1, 2, 3, 9, 10, 40])
def test_expectation_around_the_hit_limits(better, tied):
    expected = mean([of_rank(rank) for rank in range(better + 1, better + tied + 1)])
    found = metrics(make_ranks((better, tied)))
    assert found.pop("mrr") == pytest.approx(expected.pop("mrr"), rel=1e-14)
    assert found == expected


@given(st.integers(0, 10**6), st.integers(1, 3000))
def test_mean_reciprocal_rank_stays_accurate_far_down(better, tied):
    expected = math.fsum(1 / rank for rank in range(better + 1, better + tied + 1)) / tied
    assert metrics(make_ranks((better, tied)))["mrr"] == pytest.approx(expected, rel=0, abs=1e-14)


def test_untied_answers_are_the_same_under_every_rule():
    ranks = make_ranks((0, 1), (2, 1), (9, 1), (10, 1), (99_999, 1))
    expected = mean([of_rank(rank) for rank in (1, 3, 10, 11, 100_000)])
    for rule in TIE_RULES:
        assert metrics(ranks, rule) == expected


ranks_lists = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=30)


@given(ranks_lists, st.randoms(use_true_random=False))
def test_order_of_queries_does_not_matter(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    for rule in TIE_RULES:
        assert metrics(make_ranks(*pairs), rule) == metrics(make_ranks(*shuffled), rule)


@given(ranks_lists)
def test_expected_is_at_least_realistic_is_at_least_pessimistic(pairs):
    expected, realistic, pessimistic = (metrics(make_ranks(*pairs), rule)["mrr"] for rule in TIE_RULES)
    assert expected + 1e-12 >= realistic >= pessimistic


def test_metrics_are_plain_floats():
    for rule in TIE_RULES:
        found = metrics(make_ranks((0, 2), (3, 1)), rule)
        assert tuple(found) == METRICS
        assert {type(value) for value in found.values()} == {float}


def test_unknown_tie_rule_names_the_known_ones():
    with pytest.raises(RNNLogicError, match=r"'optimistic'.*expected, realistic, pessimistic"):
        metrics(make_ranks((0, 1)), "optimistic")
