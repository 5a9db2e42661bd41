"""A budget for hubs: the kernel equals its twin, counts are right on average, and none is cut in vain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.data.graph import Graph
from rnnlogic.features import base as module
from rnnlogic.features.base import Budget, cuts_in_words, default_budget, may_cut
from rnnlogic.features.chains import kernels, reference
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from tests.features.test_kernels import arguments, many, same
from tests.helpers.graphs import cases


@many
@given(
    cases(),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 99),
    st.sampled_from([4, 1 << 40]),
    st.booleans(),
    st.sampled_from(["simple", "walks"]),
)
def test_ground_within(case, edges, results, seed, limit, all_links, path_kind):
    for relation in range(2 * case.graph.num_relations):
        args = arguments(case, relation, np.float64, limit, path_kind)[:-1]
        if all_links:
            hidden = args[2].hidden
            hidden[:] = np.where(hidden >= 0, -2 - hidden, -1)
        budget = Budget(edges, results, seed)
        found, twin = kernels.ground_within(*args, budget), reference.ground_within(*args, budget)
        if len(found[2]):
            same(found, twin)
        else:  # it gave up early, so not all cuts are counted
            same(found[:3], twin[:3])
        assert not args[3].any()


@many
@given(cases())
def test_a_budget_that_suffices_changes_nothing(case):
    enough = Budget(case.graph.num_entities, case.graph.num_entities)
    for relation in range(2 * case.graph.num_relations):
        args = arguments(case, relation, np.int64)
        exact = kernels.ground_counts(*args)
        *found, cuts = kernels.ground_within(*args[:3], np.zeros(len(args[3])), *args[4:-1], enough)
        same(found, exact)
        assert not cuts[1:].any()
    assert not may_cut(enough, case.graph)
    assert Grounder(case.graph, case.rules, budget=enough).budget is None


@pytest.fixture(scope="module")
def hub():
    """0 -r-> 40 entities, 60 others too; each of the 100 goes on to some of ten."""
    rng = np.random.default_rng(1)
    facts = [(0, 0, e) for e in range(1, 41)]
    facts += [(e, 1, 101 + int(t)) for e in range(1, 101) for t in rng.permutation(10)[:4]]
    return Graph.from_triples(facts, 111, 2)


@pytest.mark.parametrize(("edges", "results"), [(7, 1000), (1000, 9), (7, 5), (3, 2)])
def test_counts_are_right_on_average(hub, edges, results):
    rules = RuleSet.from_rules([Chain(0, (0, 1)), Chain(0, (0, 1, 3))])
    exact = mean_counts(hub, rules, [None])
    seeds = 1500
    found = mean_counts(hub, rules, [Budget(edges, results, seed) for seed in range(seeds)])
    for rule, expected in exact.items():
        mean, error = found[rule].mean(axis=0), found[rule].std(axis=0) / np.sqrt(seeds)
        is_reached = expected[0] > 0
        assert (found[rule] != expected[0]).any()  # it is a sample
        assert (abs(mean - expected[0])[is_reached] <= 4.5 * error[is_reached] + 1e-9).all()
        assert not mean[~is_reached].any()


def mean_counts(graph, rules, budgets):
    """rule -> counts [budgets, E] from entity 0."""
    table = np.zeros((len(rules), len(budgets), graph.num_entities))
    for i, budget in enumerate(budgets):
        for part in Grounder(graph, rules, 1, budget=budget).ground([0], 0):
            columns = part.columns()
            table[columns.rule, i, columns.entity] = columns.count
    return dict(enumerate(table))


def test_samples_do_not_depend_on_other_queries_rules_or_chunks(hub, monkeypatch):
    monkeypatch.setattr(module, "LARGE", 1)
    budget = Budget(7, 5, 3)
    both = RuleSet.from_rules([Chain(0, (0, 1)), Chain(0, (0, 1, 3))])
    one = RuleSet.from_rules([Chain(0, (0, 1, 3))])

    def found(rules, heads, **options):
        rows = set()
        for part in Grounder(hub, rules, budget=budget, **options).ground(heads, 0):
            columns = part.columns()
            names = [rules[int(i)].body for i in columns.rule]
            values = (columns.query.tolist(), columns.entity.tolist(), names, columns.count.tolist())
            rows |= set(zip(*values, strict=True))
        return rows

    whole = found(both, [0, 1, 2, 0], chunk_queries=64)
    assert found(both, [0, 1, 2, 0], chunk_queries=1) == whole
    assert found(one, [0]) == {row for row in whole if row[0] == 0 and len(row[2]) == 3}


def test_large_graphs_have_a_budget(hub, monkeypatch):
    assert default_budget(hub) is None
    monkeypatch.setattr(module, "LARGE", 10)
    assert default_budget(hub) == Budget()
    assert cuts_in_words(np.array([9, 0, 0])) == ""
    assert "edges at 1,200 hubs and results of 3 steps, of 9,000 steps" in cuts_in_words(
        np.array([9000, 1200, 3])
    )
