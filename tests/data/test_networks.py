"""networkx graphs."""

import networkx as nx
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import load_dataset
from tests.helpers.reading import DRUGS, facts_of, read


def directed(attribute="relation", kind=nx.MultiDiGraph):
    graph = kind()
    for head, relation, tail in DRUGS:
        graph.add_edge(head, tail, **{attribute: relation, "weight": 2})
    return graph


@pytest.mark.parametrize("attribute", ["relation", "predicate", "type", "Label"])
@pytest.mark.parametrize("kind", [nx.MultiDiGraph, nx.DiGraph])
def test_an_edge_attribute_names_the_relation(attribute, kind):
    facts, lines = read(directed(attribute, kind))
    assert facts == set(DRUGS)
    assert lines == ["--weight weight (weight= in Python) gives each fact its weight; it is not used"]


def test_the_user_may_choose_the_attribute():
    assert read(directed("how"), columns=("source", "how", "target"))[0] == set(DRUGS)
    with pytest.raises(DataError, match=r"edge 0 .'aspirin', 'headache'.: no attribute 'why'; it has 'how'"):
        load_dataset(directed("how"), columns="source,why,target")


def test_keys_of_parallel_edges_name_relations_too():
    graph = nx.MultiDiGraph()
    graph.add_edges_from((head, tail, relation) for head, relation, tail in DRUGS)
    graph.add_edge("aspirin", "headache", "relieves")
    assert read(graph)[0] == {*DRUGS, ("aspirin", "relieves", "headache")}


def test_edges_without_a_relation_are_an_error_with_the_way_out():
    graph = nx.DiGraph([("a", "b", {"weight": 1}), ("b", "c", {"weight": 1})])
    with pytest.raises(DataError, match=r"found 'weight'.*networkx\.set_edge_attributes"):
        load_dataset(graph)
    nx.set_edge_attributes(graph, "knows", "relation")
    assert read(graph)[0] == {("a", "knows", "b"), ("b", "knows", "c")}
    del graph.edges["b", "c"]["relation"]
    with pytest.raises(DataError, match=r"edge 1 \('b', 'c'\): no attribute 'relation'"):
        load_dataset(graph)
    with pytest.raises(DataError, match="no facts"):
        load_dataset(nx.DiGraph())


def test_undirected_graphs_are_read_once_and_say_so():
    facts, lines = read(nx.Graph([("a", "b", {"type": "near"})]))
    assert facts == {("a", "near", "b")}
    assert lines[0].startswith("the graph is undirected")


def test_node_attributes_give_labels():
    graph = nx.DiGraph()
    graph.add_node(1, name="Ann  Lee")
    graph.add_node(2)
    graph.add_edge(1, 2, relation="knows")
    dataset = load_dataset(graph)
    assert facts_of(dataset) == {("1", "knows", "2")}
    assert dataset.vocab.entity_labels == {"1": "Ann Lee"}
