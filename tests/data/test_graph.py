import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.data import graph as graph_module
from rnnlogic.data.graph import Graph
from rnnlogic.explain.question import without

ENTITIES, RELATIONS = 6, 3
fact = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))
facts_lists = st.lists(fact, max_size=40)


def with_inverses(facts: list[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    return set(facts) | {(t, r + RELATIONS, h) for h, r, t in facts}


@given(facts_lists)
def test_every_question_is_answered_as_by_brute_force(facts):
    graph = Graph.from_triples(facts, ENTITIES, RELATIONS)
    expected = with_inverses(facts)
    assert len(graph) == len(set(facts))
    for relation in range(2 * RELATIONS):
        edges = sorted((h, t) for h, r, t in expected if r == relation)
        assert list(zip(*(column.tolist() for column in graph.edges(relation)), strict=True)) == edges
        for head in range(ENTITIES):
            tails = [t for h, t in edges if h == head]
            assert graph.neighbours(head, relation).tolist() == tails
            assert [graph.has(head, relation, t) for t in range(ENTITIES)] == [
                t in tails for t in range(ENTITIES)
            ]
    degrees = [
        max([sum(e[:2] == (h, r) for e in expected) for h in range(ENTITIES)]) for r in range(2 * RELATIONS)
    ]
    assert graph.max_degree.tolist() == degrees
    assert graph.num_edges.tolist() == [sum(e[1] == r for e in expected) for r in range(2 * RELATIONS)]
    assert {tuple(row) for row in graph.triples().tolist()} == set(facts)


@given(facts_lists, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9))
def test_the_tails_of_many_questions_at_once(facts, pairs):
    graph = Graph.from_triples(facts, ENTITIES, RELATIONS)
    heads, relations = np.array(pairs, np.int64).reshape(-1, 2).T
    spans = zip(*(column.tolist() for column in graph.spans(heads, relations)), strict=True)
    found = [graph.arrays.tails[first:last].tolist() for first, last in spans]
    assert found == [graph.neighbours(head, relation).tolist() for head, relation in pairs]


@given(facts_lists)
def test_the_direct_index_gives_the_same_edges_as_rows(facts):
    graph = Graph.from_triples(facts, ENTITIES, RELATIONS)
    direct, tails = graph.arrays.direct, graph.arrays.tails
    assert direct.shape == (2 * RELATIONS, ENTITIES + 1)
    for relation in range(2 * RELATIONS):
        for head in range(ENTITIES):
            found = tails[direct[relation, head] : direct[relation, head + 1]]
            assert found.tolist() == graph.neighbours(head, relation).tolist()


@given(facts_lists)
def test_a_graph_without_direct_index_has_the_same_rows(facts):
    with_index = Graph.from_triples(facts, ENTITIES, RELATIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_module, "DIRECT_ENTRIES_PER_EDGE", 0)
        patch.setattr(graph_module, "DIRECT_ENTRIES_FREE", 0)
        without = Graph.from_triples(facts, ENTITIES, RELATIONS)
    assert without.arrays.direct.size == 0
    for name in ("relation_rows", "row_head", "row_edges", "tails"):
        assert np.array_equal(getattr(with_index.arrays, name), getattr(without.arrays, name))


def test_memory_is_linear_in_facts_for_many_entities_and_relations():
    rng = np.random.default_rng(0)
    entities, relations, count = 1_000_000, 1_000, 2_000
    facts = np.stack([rng.integers(0, n, count) for n in (entities, relations, entities)], axis=1)
    graph = Graph.from_triples(facts, entities, relations)
    assert graph.arrays.direct.size == 0
    assert graph.nbytes < 64 * count + 16 * relations + 1_000
    head, relation, tail = (int(x) for x in facts[7])
    assert graph.has(head, relation, tail)
    assert graph.has(tail, graph.inverse(relation), head)


def test_a_graph_cannot_be_changed():
    graph = Graph.from_triples([(0, 0, 1)], 2, 1)
    for array in graph.arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        graph.num_entities = 3


def test_no_facts_and_no_relations_are_fine():
    empty = Graph.from_triples([], 4, 0)
    assert len(empty) == 0
    assert empty.triples().shape == (0, 3)
    assert Graph.from_triples([], 4, 2).neighbours(0, 3).tolist() == []


@pytest.mark.parametrize("fact", [(2, 0, 0), (0, 0, 2), (-1, 0, 0), (0, 1, 0), (0, -1, 0)])
def test_ids_out_of_range_are_refused(fact):
    with pytest.raises(ValueError, match="must lie in"):
        Graph.from_triples([fact], 2, 1)


@given(facts_lists)
def test_wide_ids_are_sorted_relation_by_relation(facts):
    # 10^8 entities and 256 relations: a relation and two entities take 64 bits.
    stretched = [(h * 19_999_999, r * 100, t * 19_999_999) for h, r, t in facts]
    graph = Graph.from_triples(stretched, 10**8, 256)
    small = Graph.from_triples(facts, ENTITIES, RELATIONS)
    assert {tuple(row) for row in graph.triples().tolist()} == set(stretched)
    for relation in range(RELATIONS):
        for wide, narrow in ((relation * 100, relation), (relation * 100 + 256, relation + RELATIONS)):
            for column, expected in zip(graph.edges(wide), small.edges(narrow), strict=True):
                assert column.tolist() == (expected * 19_999_999).tolist()


@pytest.mark.parametrize("name", ["row_edges", "tails", "relation_rows", "row_head", "direct"])
def test_arrays_that_do_not_belong_together_are_refused(name):
    graph = Graph.from_triples([(0, 0, 1), (1, 1, 2), (2, 2, 0)], ENTITIES, RELATIONS)
    assert Graph.from_arrays(graph.arrays, ENTITIES, RELATIONS).triples().tolist() == graph.triples().tolist()
    wrong = getattr(graph.arrays, name).copy()
    wrong.flat[-1] = 99
    with pytest.raises(ValueError, match=r"graph|entity ids"):
        Graph.from_arrays(graph.arrays._replace(**{name: wrong}), ENTITIES, RELATIONS)


def test_weights_belong_to_facts_both_ways_and_survive_what_is_taken_away():
    facts = np.array([(0, 0, 1), (0, 1, 1), (2, 1, 0), (3, 0, 3)])
    told = {(0, 1, 1): 0.25, (2, 1, 0): 0.5, (3, 0, 3): 1e-9}
    plain = Graph.from_triples(facts, 4, 2)
    assert plain.weights is None
    graph = plain.weighing(lambda all_: np.array([told.get(tuple(f), 1.0) for f in all_.tolist()]))
    for head, relation, tail in facts.tolist():
        expected = max(told.get((head, relation, tail), 1.0), 1 / 256)
        for edge in ((head, relation, tail), (tail, relation + 2, head)):
            assert graph.weights_of(*(np.array([part]) for part in edge)).tolist() == [expected]
    assert graph.weights_of(np.array([1]), np.array([1]), np.array([3])).tolist() == [1]
    assert graph.counting("walks").weights is graph.weights
    fewer = without(graph, [(0, 0, 1)])
    again = Graph.from_triples(facts[1:], 4, 2).weighing(
        lambda all_: np.array([told.get(tuple(f), 1.0) for f in all_.tolist()])
    )
    np.testing.assert_array_equal(fewer.weights, again.weights)
