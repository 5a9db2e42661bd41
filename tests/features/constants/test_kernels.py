"""Summaries of rules with constants: kernels and their plain twins agree; hidden facts are not looked at."""

import numpy as np
import pytest

from rnnlogic.data.graph import Graph
from rnnlogic.features import kernels as ops
from rnnlogic.features import reference as plain_ops
from rnnlogic.features.base import Batch, find_items
from rnnlogic.features.constants import kernels, reference
from rnnlogic.features.constants.source import relation_tables
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.features import of_groups
from rnnlogic.rules.rule import Chain, Feature
from rnnlogic.rules.ruleset import RuleSet

ENTITIES, RELATIONS = 8, 2
WANTED = {"all": [True] * 4, "about X": [True, True, False, False], "one": [False, False, True, False]}


def random_graph(seed: int, facts: int = 45) -> Graph:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, ENTITIES, (2, facts))
    triples = np.stack([ends[0], rng.integers(0, RELATIONS, facts), ends[1]], axis=1)
    return Graph.from_triples(triples, ENTITIES, RELATIONS)


def as_rows(found, queries):
    ptr, entity, value = found
    cell = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    rows = zip(
        (cell // queries).tolist(), (cell % queries).tolist(), entity.tolist(), value.tolist(), strict=True
    )
    return sorted(rows)


@pytest.mark.parametrize("seed", range(4))
def test_supports_of_rules_with_constants_are_those_of_the_twin(seed):
    graph = random_graph(seed)
    items = find_items(graph)
    for relation in range(2 * RELATIONS):
        asked = graph.arrays, items, relation, ENTITIES, kernels.SUPPORT
        found, expected = (
            set(zip(*map(np.ndarray.tolist, module.count_answers(*asked)), strict=True))
            for module in (kernels, reference)
        )
        assert found == expected
        assert found, "the test is about something"


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("hide", ["nothing", "own fact", "all links"])
@pytest.mark.parametrize(("seed", "work"), [(0, kernels.WORK), (1, kernels.WORK), (2, 30)])
def test_values_are_those_of_the_twin(seed, work, hide, wanted):
    graph = random_graph(seed)
    items, compared = find_items(graph), 0
    for relation in range(2 * RELATIONS):
        heads, tails = graph.edges(relation)
        hidden = {"nothing": np.full_like(tails, -1), "own fact": tails, "all links": -2 - tails}[hide]
        tables = relation_tables(graph, items, relation, work)
        batch = Batch(np.arange(len(heads)), relation, heads, hidden.astype(np.int32))
        asked = graph.arrays, items, tables, np.array(WANTED[wanted]), batch, ENTITIES
        found, expected = (as_rows(module.summarise(*asked), len(heads)) for module in (kernels, reference))
        assert [row[:3] for row in found] == [row[:3] for row in expected]
        assert [row[3] for row in found] == pytest.approx([row[3] for row in expected])
        compared += len(found)
    assert compared, "the test is about something"


def test_a_query_counts_no_more_rules_than_it_may():
    graph = random_graph(0)
    items, bounds = find_items(graph), 0
    for relation in range(2 * RELATIONS):
        free, bound = (relation_tables(graph, items, relation, work) for work in (kernels.WORK, 15))
        assert (free.least_of_x, free.least_of_y) == (kernels.LEAST, kernels.LEAST)
        bounds += (bound.least_of_x > kernels.LEAST) + (bound.least_of_y > kernels.LEAST)
        heads = graph.edges(relation)[0]
        sizes = dict(zip(bound.by_item.key.tolist(), np.diff(bound.by_item.ptr).tolist(), strict=True))
        counted = [
            sum(sizes.get(item, 0) for item in items_of(graph, items, head)) for head in heads.tolist()
        ]
        assert sum(counted) <= 15 * len(heads)
    assert bounds, "the test is about something"


def items_of(graph, items, head):
    rows = items.row[items.ptr[head] : items.ptr[head + 1]].tolist()
    return {*rows, *(len(items.relation) + int(items.relation[row]) for row in rows)}


def test_the_small_kernels_are_those_of_the_twin():
    graph = random_graph(0)
    items = find_items(graph)
    for support in range(4):
        for holders in (5, 195, 196, 10_000):
            assert kernels.confidence(support, holders, 0.01) == reference.confidence(support, holders, 0.01)
    for row in range(len(items.relation)):
        for hidden in range(-1, ENTITIES):
            for asked in ((0, False), (1, True), (2, False)):
                asked = items, graph.arrays, row, asked[0], hidden, asked[1]
                assert ops.is_visible(*asked) == plain_ops.is_visible(*asked)


def test_what_is_hidden_changes_nothing():
    """A query with its own fact hidden gets the evidence of a graph that never had the fact."""
    graph = random_graph(1)
    rules = RuleSet.from_rules(
        [
            Chain(0, (1,)),
            Chain(0, (0, 2, 0)),
            *(Feature(0, name) for name in of_groups({"exclusions", "base_rate"})),
        ]
    )
    for head, tail in zip(*graph.edges(0), strict=True):
        if head == tail:  # counts twice among the facts of an entity
            continue
        others = [fact for fact in graph.triples().tolist() if fact != [head, 0, tail]]
        without = Graph.from_triples(others, ENTITIES, RELATIONS)
        found, expected = (
            sorted(map(tuple, np.stack([c.entity, c.rule, c.count]).T.tolist()))
            for c in (
                next(Grounder(graph, rules, 1).ground([head], 0, [tail])).columns(),
                next(Grounder(without, rules, 1).ground([head], 0)).columns(),
            )
        )
        own, same = ([row for row in rows if row[0] == tail] for rows in (found, expected))
        assert np.allclose(own, same)


def test_features_alone_make_candidates_only_where_it_speaks_for_them():
    graph = random_graph(2)
    linked = RuleSet.from_rules([Feature(0, "linked")])
    assert all(len(part) == 0 for part in Grounder(graph, linked, 1).ground(np.arange(ENTITIES), 0))
    often = RuleSet.from_rules([Feature(0, "frequency")])
    assert any(len(part) for part in Grounder(graph, often, 1).ground(np.arange(ENTITIES), 0))
