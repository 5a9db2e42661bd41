import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.features.chains.reference import bodies_of
from rnnlogic.features.chains.source import build_trie
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet

bodies = st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), unique=True, max_size=20)


def steps_of(given_bodies):
    return RuleSet.from_rules(Chain(0, body) for body in given_bodies).steps(np.arange(len(given_bodies)))


@given(bodies)
def test_bodies_come_back_in_order(given_bodies):
    trie = build_trie(steps_of(given_bodies))
    assert bodies_of(trie) == sorted(given_bodies)
    assert [given_bodies[i] for i in trie.body] == sorted(given_bodies)


@given(bodies)
def test_every_prefix_is_one_node(given_bodies):
    prefixes = {body[:i] for body in given_bodies for i in range(len(body) + 1)} | {()}
    assert len(build_trie(steps_of(given_bodies)).relation) == len(prefixes)


@given(bodies)
def test_subtrees_end_where_depth_returns(given_bodies):
    trie = build_trie(steps_of(given_bodies))
    for node, after in enumerate(trie.after.tolist()):
        assert all(depth > trie.depth[node] for depth in trie.depth[node + 1 : after])
        assert after == len(trie.depth) or trie.depth[after] <= trie.depth[node]


def test_repeated_body_is_refused():
    with pytest.raises(ValueError, match=r"\(1, 2\) is given twice"):
        build_trie(np.array([[1, 2, -1], [0, -1, -1], [1, 2, -1]], np.int32))
