"""Mined conditions: planted ones are found, and intervals are the best of all."""

import math
from itertools import pairwise

import numpy as np
import pytest

import rnnlogic as rl
from rnnlogic.mining import conditions
from rnnlogic.mining.conditions import conditions_of, mine_conditions, short_number
from rnnlogic.rules.parse import parse_pattern
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import format_rule, mirrored
from tests.helpers.people import people


def loaded(noise, seed=0, number=300):
    dataset = rl.load_dataset(people(number, noise, seed), ratios=(1, 0, 0))
    return dataset, dataset.graph("train"), [one.kind for one in dataset.vocab.attributes]


def best(relation, dataset, graph, kinds):
    found = conditions_of(graph, kinds, dataset.vocab.relation_id(relation))
    return [format_rule(one.rule, dataset.vocab) for one in found]


def test_planted_conditions_are_found_first():
    whole = loaded(0.0)
    assert set(best("risk", *whole)[:2]) == {"risk(X,high) <- age(X) >= 60", "risk(X,low) <- age(X) < 60"}
    assert best("elder", *whole)[0] == "elder(X,Y) <- born(X) < born(Y)"
    assert best("peer", *whole)[0] == "peer(X,Y) <- |age(X) - age(Y)| <= 3"
    noisy = loaded(0.2)
    assert best("elder", *noisy)[0] == "elder(X,Y) <- born(X) < born(Y)"
    assert best("risk", *noisy)[0].startswith("risk(X,")


def test_nothing_is_found_where_nothing_is():
    rng = np.random.default_rng(0)
    facts = [(f"p{i}", "age", str(rng.integers(99))) for i in range(400)]
    facts += [(f"p{i}", "likes", f"c{rng.integers(5)}") for i in range(400)]
    facts += [(f"p{a}", "knows", f"p{b}") for a, b in rng.integers(0, 400, (800, 2)).tolist()]
    dataset = rl.load_dataset(facts, ratios=(1, 0, 0))
    assert [one.name for one in dataset.vocab.attributes] == ["age"]
    assert not len(mine_conditions(dataset.graph("train"), ["number"], 20))


def test_rules_and_their_mirror_images_are_mined_by_any_number_of_threads():
    dataset, graph, kinds = loaded(0.1)
    found = mine_conditions(graph, kinds, 5, threads=1)
    assert found == mine_conditions(graph, kinds, 5, threads=2)
    assert all(mirrored(rule, graph.num_relations) in found for rule in found)
    ban = Banned([parse_pattern("risk <- ...", dataset.vocab)], dataset.vocab)
    kept = mine_conditions(graph, kinds, 5, ban)
    assert 0 < len(kept) < len(found)
    assert not len(mine_conditions(graph.valued(None), [], 5))
    assert not len(mine_conditions(graph, kinds, 0))


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_an_answer_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 30, 8)
    right = rng.binomial(sizes, np.where((np.arange(8) > 2) & (np.arange(8) < 6), 0.9, 0.1))
    intervals = conditions._Intervals.between(8)
    place, score = conditions._best_interval(right, sizes, intervals)

    def likelihood(hits, cases):
        rate = hits / cases if cases else 0
        return sum(n * math.log(p) for n, p in ((hits, rate), (cases - hits, 1 - rate)) if n)

    scores = {}
    for first in range(8):
        for last in range(first + 1, 9):
            cuts, inside = (first > 0) + (last < 8), slice(first, last)
            hits, cases = right[inside].sum(), sizes[inside].sum()
            if cuts and hits > 2 and hits / cases > right.sum() / sizes.sum():
                gain = likelihood(hits, cases) + likelihood(right.sum() - hits, sizes.sum() - cases)
                scores[first, last] = (
                    gain - likelihood(right.sum(), sizes.sum()) - cuts * math.log(sizes.sum())
                )
    assert score == pytest.approx(max(scores.values()))
    assert (intervals.first[place], intervals.last[place]) == max(scores, key=lambda key: scores[key])


def test_bounds_are_short():
    ends = (59, 60), (61, 62), (-3, 4), (-61, -58), (0.1231, 0.1261)
    assert [short_number(*one) for one in ends] == [60, 62, 0, -60, 0.126]
    rng = np.random.default_rng(0)
    for low, high in pairwise(np.sort(rng.normal(0, 100, 200)).tolist()):
        assert low < short_number(low, high) <= high
        assert len(repr(short_number(low, high))) <= len(repr(high))
