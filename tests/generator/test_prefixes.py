"""Beginnings of rules with what follows them, against the rules themselves."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.generator.network import RuleGenerator
from rnnlogic.generator.train import PrefixTree
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet

BODY = st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple)
RULES = st.sets(st.tuples(st.integers(0, 5), BODY), min_size=1, max_size=30).map(
    lambda pairs: RuleSet.from_rules(Chain(*pair) for pair in pairs).without_trivial()
)


def tree_of(net, rules, shares):
    heads, tokens = net.encode(rules)
    return PrefixTree(heads.numpy(), tokens.numpy(), shares, net.end)


def net_of_six():
    return RuleGenerator(6, 3, input_size=8, hidden_size=8, seed=1)


@given(RULES, st.integers(0, 100))
def test_all_beginnings_together_are_the_weighted_log_likelihood(rules, seed):
    if not len(rules):
        return
    net, shares = net_of_six(), np.random.default_rng(seed).random(len(rules)) + 0.01
    tree = tree_of(net, rules, shares)
    everything = np.arange(len(rules)), shares.astype(np.float32)
    total = net.weighted_log_prob(tree.levels(*everything))
    direct = net.log_prob(rules) @ torch.tensor(shares, dtype=torch.float32)
    assert total.item() == pytest.approx(direct.item(), rel=1e-4)
    gradients = [torch.autograd.grad(one, net.vectors.weight)[0] for one in (total, direct)]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-5)


def some_rules():
    bodies = [(1,), (1, 2), (1, 2, 3), (1, 2, 4), (3, 3, 3), (3, 3, 1)]
    return RuleSet.from_rules(Chain(head, body) for head in (0, 5) for body in bodies)


def test_a_drawn_rule_teaches_what_may_follow_each_of_its_beginnings():
    rules = some_rules()
    shares = np.tile([1.0, 2, 3, 5, 7, 11], 2)
    tree = tree_of(net_of_six(), rules, shares)
    drawn = np.array([rules.index(Chain(5, (1, 2, 4)))])
    levels = tree.levels(drawn, np.array([0.5], np.float32))
    found = [
        dict(zip(level.token.tolist(), (level.share * 2).tolist(), strict=True)) for level in levels
    ]  # 6 is END
    expected = [
        {1: 11 / 29, 3: 18 / 29},
        {2: 10 / 11, 6: 1 / 11},
        {3: 3 / 10, 4: 5 / 10, 6: 2 / 10},
        {6: 1.0},
    ]
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other)


def test_thinned_ends_count_the_same_on_average():
    net, rules = net_of_six(), some_rules()
    tree = tree_of(net, rules, np.ones(len(rules)))
    drawn, weights = np.arange(len(rules)), np.full(len(rules), 0.1, np.float32)
    exact = net.weighted_log_prob(tree.levels(drawn, weights)).item()
    thinned = [net.weighted_log_prob(tree.levels(drawn, weights, 4, start)).item() for start in range(4)]
    assert np.mean(thinned) == pytest.approx(exact, rel=1e-5)
    assert np.std(thinned) > 0
