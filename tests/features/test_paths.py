from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.features.chains.paths import Path, PathList, paths
from rnnlogic.rules.rule import Chain


def count_paths(graph, head, body, tail, hidden=None):
    return paths(graph, head, body, tail, limit=0, hidden=hidden).total


def brute_force_walks(facts, num_entities, num_relations, head, body, tail, hidden=None):
    """Every walk, found by trying all tuples of entities."""
    edges = {(h, r, t) for h, r, t in facts} | {(t, r + num_relations, h) for h, r, t in facts}
    if hidden is not None:
        h, r, t = hidden
        edges -= {(h, r, t), (t, (r + num_relations) % (2 * num_relations), h)}
    if not body:
        return [(head,)] if head == tail else []
    walks = [(head, *middle, tail) for middle in product(range(num_entities), repeat=len(body) - 1)]
    return [walk for walk in walks if all(step in edges for step in zip(walk, body, walk[1:], strict=False))]


def is_simple(walk):
    """Whether it comes back neither to its start nor to one of the last two entities."""
    return all(e != walk[0] and e not in walk[max(i - 1, 0) : i + 1] for i, e in enumerate(walk[1:]))


def walk_graph(*arguments):
    return Graph.from_triples(*arguments).counting("walks")


@st.composite
def questions(draw):
    num_entities, num_relations = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    entities, relations = st.integers(0, num_entities - 1), st.integers(0, 2 * num_relations - 1)
    facts = draw(st.lists(st.tuples(entities, st.integers(0, num_relations - 1), entities), max_size=20))
    body = tuple(draw(st.lists(relations, max_size=4)))
    hidden = draw(st.none() | st.tuples(entities, relations, entities))
    return facts, num_entities, num_relations, draw(entities), body, draw(entities), hidden


@settings(max_examples=100)
@given(questions())
@pytest.mark.parametrize("path_kind", ["walks", "simple"])
def test_paths_equal_brute_force(path_kind, question):
    facts, num_entities, num_relations, head, body, tail, hidden = question
    graph = Graph.from_triples(facts, num_entities, num_relations).counting(path_kind)
    expected = [walk for walk in brute_force_walks(*question) if path_kind == "walks" or is_simple(walk)]
    found = paths(graph, head, body, tail, limit=None, hidden=hidden)
    assert [path.entities for path in found.paths] == sorted(expected)
    assert all(path.relations == body for path in found.paths)
    assert found.total == count_paths(graph, head, body, tail, hidden) == len(expected)


@given(questions(), st.integers(0, 5))
def test_limit_gives_the_first_walks_and_the_full_total(question, limit):
    facts, num_entities, num_relations, head, body, tail, hidden = question
    graph = walk_graph(facts, num_entities, num_relations)
    whole = paths(graph, head, body, tail, limit=None, hidden=hidden)
    part = paths(graph, head, Chain(0, body), tail, limit=limit, hidden=hidden)
    assert part == PathList(whole.total, whole.paths[:limit])


@given(st.integers(0, 1000), st.integers(1, 6))
def test_counts_equal_powers_of_a_networkx_adjacency_matrix(seed, length):
    multigraph = nx.gnp_random_graph(30, 0.15, seed=seed, directed=True)
    multigraph.add_edges_from((node, node) for node in range(0, 30, 7))
    facts = [(h, 0, t) for h, t in multigraph.edges]
    graph = walk_graph(facts, 30, 1)
    power = np.linalg.matrix_power(nx.to_numpy_array(multigraph, dtype=np.int64), length)
    for head, tail in [(0, 1), (7, 7), (3, 29)]:
        assert count_paths(graph, head, (0,) * length, tail) == power[head, tail]
        assert count_paths(graph, tail, (1,) * length, head) == power[head, tail]


def test_every_step_of_a_path_is_a_fact():
    rng = np.random.default_rng(0)
    facts = np.stack([rng.integers(0, 60, 2000), rng.integers(0, 3, 2000), rng.integers(0, 60, 2000)], axis=1)
    graph = walk_graph(facts, 60, 3)
    found = paths(graph, 0, (0, 4, 2, 5, 1), 1, limit=500)
    assert len(found.paths) == 500 < found.total
    assert found.paths[0].entities[0] == 0
    assert found.paths[0].entities[-1] == 1
    for path in found.paths:
        for source, relation, target in zip(path.entities, path.relations, path.entities[1:], strict=False):
            assert graph.has(source, relation, target)


@pytest.mark.parametrize("steps", [6, 40])
def test_astronomical_numbers_of_walks_are_not_walked(steps):  # that would take days
    width = 300
    complete = [(h, 0, width + t) for h in range(width) for t in range(width)]
    graph = walk_graph(complete, 2 * width, 1)
    found = paths(graph, 0, (0, 1) * steps, width - 1, limit=3)
    assert found.total == width ** (2 * steps - 1) > 10**12
    first = (0, *((width, 0) * steps)[:-1], width - 1)
    assert [path.entities for path in found.paths] == [
        first,
        (*first[:-2], width + 1, width - 1),
        (*first[:-2], width + 2, width - 1),
    ]


def test_counts_are_exact_where_64_bits_end():
    chain = [(2 * i, 0, 2 * (i + 1) + side) for i in range(70) for side in (0, 1)]
    chain += [(2 * i + 1, 0, 2 * (i + 1) + side) for i in range(1, 70) for side in (0, 1)]
    graph = walk_graph(chain, 142, 1)
    for length in (62, 63, 64, 65, 70):
        assert count_paths(graph, 0, (0,) * length, 2 * length) == 2 ** (length - 1)


def test_hub_with_a_narrow_way_through():
    spokes = [(0, 0, leaf) for leaf in range(1, 50_000)]
    graph = walk_graph([*spokes, (7, 1, 50_000), (0, 1, 8)], 50_001, 2)
    assert paths(graph, 0, (0, 1), 50_000).paths == (Path((0, 7, 50_000), (0, 1)),)
    assert count_paths(graph, 9, (2, 0), 10) == 1
    assert count_paths(graph, 0, (0, 2), 0) == 49_999
    assert count_paths(graph, 0, (0, 2), 0, hidden=(0, 0, 5)) == 49_998


def test_hidden_fact_is_hidden_in_both_directions():
    graph = walk_graph([(0, 0, 1), (1, 0, 2)], 3, 1)
    assert count_paths(graph, 0, (0, 1, 0), 1) == 1
    for hidden in [(0, 0, 1), (1, 1, 0)]:
        assert paths(graph, 0, (0, 0), 2, hidden=hidden) == PathList(0, ())
        assert count_paths(graph, 2, (1, 1), 0, hidden=hidden) == 0
        assert count_paths(graph, 1, (0,), 2, hidden=hidden) == 1


def test_text_of_paths():
    vocab = Vocab(
        ("e0", "e1", "sing"), ("friend", "hobby"), {"e0": "alice", "e1": "bob"}, {"hobby": "has hobby"}
    )
    path = Path((0, 1, 2, 1), (2, 1, 3))
    assert path.text(vocab) == "alice <-friend- bob -has hobby-> sing <-has hobby- bob"
    assert path.text(vocab, labels=False) == "e0 <-friend- e1 -hobby-> sing <-hobby- e1"
    assert Path((0,), ()).text(vocab) == "alice"
