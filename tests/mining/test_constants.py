"""Mined rules with constants against counting by hand."""

from collections import Counter

import pytest

from rnnlogic.mining.constants import mine_constants
from rnnlogic.rules.parse import parse_pattern
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import NONE, Constant, mirrored
from tests.helpers.family import family
from tests.helpers.walks import facts_of

DATASET = family()
GRAPH = DATASET.graph("train")


def counted(relation):
    """{rule that names the answer: confidence} with one supporter left out, by hand."""
    facts = facts_of(GRAPH)
    bodies = {(h, r, t) for h, r, t in facts} | {(h, r, NONE) for h, r, _ in facts if r != relation}
    holders = Counter((step, other) for _, step, other in bodies)
    support = Counter(
        Constant(relation, step, answer, other)
        for x, step, other in bodies
        for h, r, answer in facts
        if (h, r) == (x, relation) and other != answer
    )
    return {
        told: (n - 1) / (holders[told.step, told.other] - 1 + 5)
        for told, n in support.items()
        if n >= 3 and holders[told.step, told.other] >= 4
    }


@pytest.mark.parametrize("number", [3, 1000])
def test_the_most_confident_rules_and_their_mirror_images(number):
    mined = mine_constants(GRAPH, number, threads=2)
    assert mined == mine_constants(GRAPH, number, threads=1)
    named = {r: [] for r in range(2 * GRAPH.num_relations)}
    for rule in mined:
        assert mirrored(rule, GRAPH.num_relations) in mined
        if not rule.at_head:
            named[rule.head].append(rule)
    for relation, found in named.items():
        expected = counted(relation)
        assert set(found) <= set(expected)
        best = sorted(expected.values(), reverse=True)[:number]
        assert [expected[told] for told in found] == pytest.approx(best)
    assert any(len(found) >= 3 for found in named.values())


def test_banned_rules_are_left_out():
    pattern = parse_pattern("grandparent(X,*) <- *(X,*)", DATASET.vocab)
    kept = mine_constants(GRAPH, 10, Banned([pattern], DATASET.vocab))
    everything = mine_constants(GRAPH, 10)
    lost = {rule for rule in everything if rule not in kept}
    assert lost == {
        rule
        for rule in everything
        if rule.head % GRAPH.num_relations == pattern.head
        and (rule.head == pattern.head) != rule.at_head
        and rule.other != NONE
    }
    assert lost
