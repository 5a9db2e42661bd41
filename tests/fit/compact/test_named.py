"""The rules that people would name, against a plain loop."""

import numpy as np
import pytest

from rnnlogic.fit.compact.compact import LEAST_SHARE, named_rules
from rnnlogic.fit.compact.types import Columns
from rnnlogic.rules.rule import CLOSE, NONE, Chain, Constant, Feature, reading_order


def by_hand(reached, target, confidence, order):
    worth = dict.fromkeys(order, 0.0)
    for candidate, share in enumerate(target):
        rules = [rule for rule in order if candidate in reached[rule] and confidence[rule] > 0]
        best = max((confidence[rule] for rule in rules), default=0)
        close = [rule for rule in rules if confidence[rule] >= CLOSE * best]
        if close:
            worth[close[0]] += share
    frequent = [rule for rule in sorted(worth) if worth[rule] >= LEAST_SHARE * sum(target)]
    return sorted(frequent, key=lambda rule: -worth[rule])


@pytest.mark.parametrize("seed", range(20))
def test_named_rules_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    rules, candidates = 8, 30
    reached = [set(np.flatnonzero(rng.random(candidates) < 0.3).tolist()) for _ in range(rules)]
    ptr = np.cumsum([0, *map(len, reached)])
    candidate = np.array([c for one in reached for c in sorted(one)], np.int32)
    target, confidence = rng.random(candidates) ** 4, rng.random(rules) * (rng.random(rules) < 0.8)
    order = rng.permutation(rules)
    columns = Columns(ptr, candidate, np.ones(len(candidate), np.float32))
    found = named_rules(columns, target, confidence, order)
    assert found.tolist() == by_hand(reached, target.tolist(), confidence.tolist(), order.tolist())


def test_the_order_for_a_reader():
    """Of relations 0 to 3: short, without the relation itself, from X on; constants cost what they name."""
    definition, recursive = Chain(0, (1, 2)), Chain(0, (4, 1))
    rules = [
        Feature(0, "linked"),
        Chain(0, (5,)),
        Chain(0, (4,)),
        definition,
        Chain(0, (5, 2)),
        Constant(0, 1, 2, NONE),
        recursive,
        Constant(0, 1, 2, 3),
        Chain(0, (1, 1, 1)),
    ]
    assert sorted(rules, key=lambda rule: (reading_order(rule, 4), rules.index(rule)))[:3] == rules[:3]
    orders = [reading_order(rule, 4) for rule in rules]
    assert orders[3] < orders[4] < orders[6] < orders[8]
    assert orders[3] == orders[5]
    assert orders[7] == orders[8]
    assert reading_order(Chain(0, ()), 4) == (0, False, False)
