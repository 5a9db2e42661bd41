"""The programs in examples/ do what they say."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def family_tree():
    spec = importlib.util.spec_from_file_location("family_tree", EXAMPLES / "family_tree.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cousins_are_grandchildren_of_the_same_people(family_tree):
    facts = family_tree.make_family(seed=3)
    pairs = {name: {(h, t) for h, r, t in facts if r == name} for name in family_tree.RULES}
    elders = {child: {h for h, t in pairs["parent"] if t == child} for _, child in pairs["parent"]}
    assert all(len(two) == 2 for two in elders.values())
    assert pairs["sibling"] == {(a, b) for a in elders for b in elders if a != b and elders[a] == elders[b]}
    for first, second in pairs["cousin"]:
        assert elders[first] != elders[second]
        assert any(elders[a] == elders[b] != set() for a in elders[first] for b in elders[second])
    assert not pairs["spouse"] & pairs["sibling"]
    assert all((h, t) in pairs["grandparent"] for t in elders for p in elders[t] for h in elders.get(p, ()))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_known_rules_of_the_family_come_out_on_top(family_tree, seed):
    model = family_tree.learn(seed)
    for relation, known in family_tree.RULES.items():
        assert model.rules(relation, most=1)[0].text in known
    assert model.evaluate("test").metrics()["mrr"] > 0.9


def test_the_family_tree_explains_a_fact_that_was_held_back(family_tree, capsys):
    family_tree.main()
    out = capsys.readouterr().out
    assert "*   " in out
    assert "rule    cousin(X,Y) <- " in out
    assert "it was hidden" not in out, "the fact is not among those that are known"
