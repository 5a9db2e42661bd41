"""Constraints are found where facts show them, and counted as by brute force."""

import numpy as np
import pytest

from rnnlogic import find_constraints, load_dataset
from rnnlogic.constraints.belief import RARER, SELDOM, is_believed, is_listed
from rnnlogic.constraints.find import Does, find, seldom_together
from rnnlogic.data.graph import Graph
from tests.helpers.impossible import packages, siblings


def found_in(facts):
    """Constraints by their text."""
    found = find_constraints(load_dataset(facts, ratios=(100, 0, 0)))
    return {one.text(found.vocab): one for one in found}


def test_brothers_and_sisters_are_different_people():
    found = found_in(siblings())
    one = found["heads of brother: 160 of 160 are no heads of sister"]
    assert (one.kind, one.cases, one.exceptions, one.is_hard) == ("roles", 160, 0, True)
    assert found["brother: 480 of 480 facts join different entities"].kind == "irreflexive"
    assert "parent: 320 of 320 tails have at most 2 answers" in found


def test_packages_have_one_section_and_do_not_depend_on_themselves():
    found = found_in(packages())
    assert found["section: 120 of 120 heads have one answer"].is_hard
    assert "depends: 354 of 354 facts join different entities" in found
    assert "depends: 354 of 354 facts hold in one direction only" in found
    assert not any(text.startswith("section") and "tails have one" in text for text in found)


def test_exceptions_are_counted_and_make_a_constraint_exclude_nothing():
    found = found_in([*packages(400), ("package1", "section", "section5")])
    one = found["section: 399 of 400 heads have one answer"]
    assert (one.exceptions, one.is_hard) == (1, False)
    found = found_in([*packages(400), *((f"package{i}", "depends", f"package{i}") for i in range(2))])
    assert not found["depends: 1,194 of 1,196 facts join different entities"].is_hard


def test_a_symmetric_relation_and_few_facts_prove_nothing():
    rng = np.random.default_rng(0)
    pairs = [tuple(rng.choice(60, 2, replace=False).tolist()) for _ in range(300)]
    both = [fact for a, b in pairs for fact in ((f"e{a}", "near", f"e{b}"), (f"e{b}", "near", f"e{a}"))]
    kinds = {one.kind for one in found_in(both).values()}
    assert kinds <= {"irreflexive"}
    assert found_in(packages(12)) == {}


def test_a_sparse_relation_at_random_is_not_functional():
    rng = np.random.default_rng(1)
    facts = [(f"e{a}", "knows", f"e{b}") for a, b in rng.integers(0, 2000, (60, 2)).tolist()]
    facts += [(f"e{i}", "lives_in", f"town{i % 50}") for i in range(2000)]
    found = found_in(facts)
    assert not [text for text in found if text.startswith("knows") and "one answer" in text]
    assert "lives_in: 2,000 of 2,000 heads have one answer" in found


def test_belief_is_the_rule_of_three():
    assert is_believed(0, 3.0 * RARER)
    assert not is_believed(0, 2.9 * RARER)
    assert list(is_believed([0, 1, 5], 5 * RARER)) == [True, True, False]  # bounds 3.0, 4.7, 10.5
    assert list(is_listed([0, 1, 5], 4 * SELDOM)) == [False, False, False]
    assert list(is_listed([0, 1, 5], 11 * SELDOM)) == [True, True, True]
    assert list(is_listed([0, 1, 5], 9.9 * SELDOM)) == [False, True, False]


@pytest.mark.parametrize("seed", range(6))
def test_figures_are_those_of_brute_force(seed, monkeypatch):
    """With everything believed, each number is counted again from sets of facts."""
    for name in ("is_believed", "is_listed"):
        monkeypatch.setattr(f"rnnlogic.constraints.find.{name}", lambda v, e: np.asarray(e) > 0)
    rng = np.random.default_rng(seed)
    entities, relations = 12, 3
    facts = np.stack([rng.integers(0, n, 40) for n in (entities, relations, entities)], axis=1)
    graph = Graph.from_triples(facts, entities, relations)
    known = {(h, r, t) for h, r, t in facts.tolist()}
    known |= {(t, r + relations, h) for h, r, t in known}
    pairs = {(h, t) for h, _, t in known if h != t}
    checked = set()
    for one in find(graph):
        own = {(h, t) for h, r, t in known if r == one.relation}
        heads, tails = {h for h, _ in own}, {t for _, t in own}
        near = {(h, t) for h, t in pairs if h in heads and t in tails}
        size = len(near) + len(heads & tails)
        checked.add(one.kind)
        if one.kind == "functional":
            degrees = [sum(h == head for h, _ in own) for head in heads]
            assert (one.cases, one.exceptions) == (len(heads), sum(d > one.most for d in degrees))
        elif one.kind == "irreflexive":
            assert (one.cases, one.exceptions) == (len(own), sum(h == t for h, t in own))
            assert one.expected == pytest.approx(len(own) * len(heads & tails) / size)
        elif one.kind == "roles":
            others = {h for h, r, _ in known if r == one.other}
            assert (one.cases, one.exceptions) == (len(heads), len(heads & others))
            assert one.expected == pytest.approx(len(heads) * len(others) / Does.of(graph).entities)
        else:
            other = graph.inverse(one.relation) if one.kind == "asymmetric" else one.other
            rival = {(h, t) for h, r, t in known if r == other and h != t}
            mine = {(h, t) for h, t in own if h != t}
            assert one.exceptions == len(mine & rival)
            if one.kind == "asymmetric":
                assert one.cases == len(mine)
                assert one.expected == pytest.approx(len(mine) * len(rival & near) / size)
            else:
                assert one.cases == len(mine | rival)
                assert one.expected <= len(mine) * len(rival & near) / size + 1e-9
    assert checked == {"functional", "irreflexive", "asymmetric", "exclusive", "roles"}


def test_relations_that_seldom_hold_together_are_those_of_brute_force(monkeypatch):
    monkeypatch.setattr("rnnlogic.constraints.find.is_believed", lambda v, e, rarer: np.asarray(e) > v)
    rng, checked = np.random.default_rng(3), 0
    facts = np.stack([rng.integers(0, n, 40) for n in (12, 3, 12)], axis=1)
    graph = Graph.from_triples(facts, 12, 3)
    known = {(h, r, t) for h, r, t in facts.tolist() if h != t}
    known |= {(t, r + 3, h) for h, r, t in known}
    ends = {(h, r, t) for h, r, t in facts.tolist()}
    found = seldom_together(graph)
    for (relation, other), share in found.items():
        if relation >= 3:
            assert share == found[relation - 3, (other + 3) % 6]
            continue
        own = {(h, t) for h, r, t in known if r == relation}
        rival = {(h, t) for h, r, t in known if r == other}
        heads, tails = ({fact[i] for fact in ends if fact[1] == relation} for i in (0, 2))
        near = {(h, t) for h, _, t in known if h in heads and t in tails}
        chance = len(own) * len(rival & near) / (len(near) + len(heads & tails))
        assert share == pytest.approx((len(own & rival) + 1) / (chance + 1))
        checked += 1
    assert checked > 3


def test_types_that_heads_never_have():
    kinds = {"drug": 60, "illness": 60, "virus": 60}
    types = [(f"{kind}{i}", "type", kind) for kind, number in kinds.items() for i in range(number)]
    treats = [(f"drug{i}", "treats", f"illness{(7 * i) % 60}") for i in range(60)]
    found = find_constraints(load_dataset([*types, *treats], ratios=(100, 0, 0)))
    ids, treats_id = found.vocab.entity_id, found.vocab.relation_id("treats")
    asked = np.array([ids(name) for name in ("illness1", "virus1", "drug50", "virus")])
    assert found.allowed(ids("drug3"), treats_id, asked).tolist() == [True, False, False, True]
    assert found.reason(ids("drug3"), treats_id, ids("virus1")) == (
        "virus1 is of type virus, and tails of treats never are"
    )
    off = find_constraints(load_dataset([*types, *treats], ratios=(100, 0, 0)), types="off")
    assert not {"types"} & {one.kind for one in off}
