"""Operations on answers: kernels and their plain twins agree."""

import numpy as np
import pytest

from rnnlogic.data.graph import Graph
from rnnlogic.features import kernels, reference
from rnnlogic.features.base import Answers, Batch, find_items
from rnnlogic.features.named import answers_of

ENTITIES, RELATIONS = 8, 2
WANTED = {"all": [True, True, True, True], "some": [True, False, True, False], "last": [False] * 3 + [True]}


def random_graph(seed):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, ENTITIES, (2, 45))
    triples = np.stack([ends[0], rng.integers(0, RELATIONS, 45), ends[1]], axis=1)
    return Graph.from_triples(triples, ENTITIES, RELATIONS)


def cells(rng, number, entities=ENTITIES):
    """ptr, and different entities of each cell."""
    found = [rng.permutation(entities)[: rng.integers(entities)] for _ in range(number)]
    return np.append(0, np.cumsum([len(own) for own in found])), np.concatenate(found).astype(np.int32)


def require_same(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def as_rows(found):
    ptr, entity, value = found
    return sorted(zip(np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), entity, value, strict=True))


@pytest.mark.parametrize("bodies", [0, 1, 5])
@pytest.mark.parametrize("entities", [6, 300])
def test_answers_are_collected_and_numbered(entities, bodies):
    rng, queries = np.random.default_rng(bodies), 7
    ptr, entity = cells(rng, bodies * queries, entities) if bodies else (np.zeros(1, int), np.empty(0, "i4"))
    known = cells(rng, queries, entities)
    memory = np.zeros(entities, bool)
    require_same(*(m.collect_answers(*known, ptr, entity, memory) for m in (kernels, reference)))
    assert not memory.any()
    some, numbers = np.arange(0, bodies, 2), np.zeros(entities, np.int64)
    require_same(*(m.number_answers(ptr, entity, some, queries, numbers) for m in (kernels, reference)))
    assert not numbers.any()


def test_the_largest_strength():
    rng = np.random.default_rng(0)
    rows = rng.integers(9, size=40).astype(np.int32), rng.integers(5, size=40), rng.random(5).astype("f4"), 10
    require_same(*([m.largest(*rows)] for m in (kernels, reference)))


@pytest.mark.parametrize("wanted", WANTED)
def test_rows_are_ordered_by_feature(wanted):
    rng = np.random.default_rng(1)
    ends = np.append(0, np.cumsum(rng.integers(4, size=12)))
    spans = np.stack([ends[4 * q : 4 * q + 5] for q in range(3)])
    rows = (
        np.arange(ends[-1], dtype=np.int32),
        rng.random(ends[-1]).astype("f4"),
        spans,
        np.array(WANTED[wanted]),
    )
    require_same(*(m.rule_by_rule(*rows) for m in (kernels, reference)))


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("hide", ["nothing", "own fact", "all links"])
@pytest.mark.parametrize("seed", range(2))
def test_links_and_rates_are_those_of_the_twin(seed, hide, wanted):
    graph, rng = random_graph(seed), np.random.default_rng(seed)
    items, compared = find_items(graph), 0
    for relation in range(2 * RELATIONS):
        heads, tails = graph.edges(relation)
        hidden = {"nothing": np.full_like(tails, -1), "own fact": tails, "all links": -2 - tails}[hide]
        answers, wish = Answers(*cells(rng, len(heads))), np.array(WANTED[wanted])
        batch = Batch(np.arange(len(heads)), relation, heads, hidden.astype(np.int32))
        query = wish, batch, answers, np.zeros(ENTITIES, np.int8)
        found, expected = (
            as_rows(m.describe_links(graph.arrays, items, *query)) for m in (kernels, reference)
        )
        assert found == expected
        compared += len(found)
        ids, number = answers_of(graph, relation)
        times = np.zeros(ENTITIES, np.int64)
        times[ids] = number
        counted = kernels.Counted(ids[:3], times)
        rates = counted, wish[:3], batch, answers, np.zeros(ENTITIES, bool)
        found, expected = (
            as_rows(m.describe_rates(graph.arrays, items, *rates)) for m in (kernels, reference)
        )
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        assert [row[2] for row in found] == pytest.approx([row[2] for row in expected])
        compared += len(found)
    assert compared, "the test is about something"
