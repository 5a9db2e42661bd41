"""Examples of rules: right ones are facts, wrong ones are not, and each is a walk of the rule."""

import pytest

from rnnlogic.rules.parse import parse_rule
from rnnlogic.statistics.pairs import rule_examples
from tests.helpers.family import RULES, family


@pytest.mark.parametrize("text", RULES)
def test_examples_are_what_they_say(text):
    data = family()
    graph, known, rule = data.graph("train"), data.graph("all"), parse_rule(text, data.vocab)
    found = rule_examples(graph, known, rule, most=4)
    assert 0 < len(found.right) + len(found.wrong) <= 8
    for paths, is_fact in ((found.right, True), (found.wrong, False)):
        ends = [(path.entities[0], path.entities[-1]) for path in paths]
        assert len(set(ends)) == len(ends)
        assert all(known.has(x, rule.head, y) == is_fact for x, y in ends)
        assert all(path.relations == rule.body for path in paths)


def test_a_rule_that_predicts_both_shows_both_from_different_heads():
    data = family()
    rule = parse_rule("parent(X,Y) <- parent(X,Z1) & parent(Z2,Z1) & parent(Z2,Y)", data.vocab)
    graph = data.graph("train")
    found = rule_examples(graph, graph, rule, most=3)
    assert len(found.right) == len(found.wrong) == 3
    assert len({path.entities[0] for path in found.right}) == 3
