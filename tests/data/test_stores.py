"""Networks in files: GraphML, node-link JSON, and the stores of tools that extract graphs from texts."""

import json

import networkx as nx
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import load_dataset
from tests.helpers.reading import DRUGS, facts_of, read

LIGHTRAG = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d5" for="edge" attr.name="source_id" attr.type="string"/>
  <key id="d4" for="edge" attr.name="keywords" attr.type="string"/>
  <key id="d3" for="edge" attr.name="description" attr.type="string"/>
  <key id="d2" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d1" for="node" attr.name="entity_type" attr.type="string"/>
  <key id="d0" for="node" attr.name="entity_id" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="Alice"><data key="d0">Alice</data><data key="d1">person</data></node>
    <node id="Acme &amp; Co"><data key="d0">Acme &amp; Co</data><data key="d1">organization</data></node>
    <node id="Bob"><data key="d0">Bob</data></node>
    <edge source="Alice" target="Acme &amp; Co">
      <data key="d2">9.0</data><data key="d3">Alice leads Acme.</data>
      <data key="d4">leadership, employment</data><data key="d5">chunk-1&lt;SEP&gt;chunk-2</data>
    </edge>
    <edge source="Bob" target="Alice">
      <data key="d2">1.0</data><data key="d3">They met.</data><data key="d4">acquaintance</data>
      <data key="d5">chunk-2</data>
    </edge>
  </graph>
</graphml>
"""
LIGHTRAG_FACTS = {
    ("Alice", "leadership", "Acme & Co"),
    ("Alice", "employment", "Acme & Co"),
    ("Bob", "acquaintance", "Alice"),
    ("Alice", "type", "person"),
    ("Acme & Co", "type", "organization"),
}


def require_refused(path, text, said):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        load_dataset(path)


def graph():
    network = nx.MultiDiGraph()
    for head, relation, tail in DRUGS:
        network.add_edge(head, tail, key=relation)
    return network


@pytest.fixture
def lightrag(tmp_path):
    (tmp_path / "graph_chunk_entity_relation.graphml").write_text(LIGHTRAG, encoding="utf-8")
    (tmp_path / "kv_store_text_chunks.json").write_text("{}", encoding="utf-8")
    return tmp_path


def test_lightrag(lightrag):
    facts, lines = read(lightrag)
    assert facts == LIGHTRAG_FACTS
    assert facts == read(lightrag / "graph_chunk_entity_relation.graphml")[0]
    assert "each of the keywords of an edge is read as a relation (LightRAG)" in lines
    assert any("the graph is undirected" in line for line in lines)
    assert "2 types of nodes (entity_type) are read as facts with the relation 'type'" in lines


def test_weights_and_sources_of_lightrag(lightrag):
    with pytest.raises(DataError, match=r"weight '9\.0' .* divide it: --weight weight/10"):
        load_dataset(lightrag, weight="weight")
    dataset = load_dataset(lightrag, weight="weight/10", source="source_id")
    vocab = dataset.vocab
    fact = (vocab.entity_id("Alice"), vocab.relation_id("employment"), vocab.entity_id("Acme & Co"))
    assert dataset.weight_of(fact) == 0.9
    assert dataset.sources_of(fact) == ("chunk-1", "chunk-2")
    typed = (vocab.entity_id("Alice"), vocab.relation_id("type"), vocab.entity_id("person"))
    assert dataset.weight_of(typed) == 1.0
    assert dataset.sources_of(typed) == ()


def test_graphml_as_networkx_writes_it(tmp_path):
    path = tmp_path / "g.graphml"
    network = nx.DiGraph()
    network.add_node("q1", name="Ann  Lee")
    network.add_edge("q1", "q2", relation="knows", weight=0.5)
    network.add_edge("q2", "q3", relation="likes", weight=0.25)
    nx.write_graphml(network, path)
    dataset = load_dataset(path, weight="weight")
    assert facts_of(dataset) == {("q1", "knows", "q2"), ("q2", "likes", "q3")}
    assert dataset.vocab.entity_labels == {"q1": "Ann Lee"}
    assert sorted(w for split in ("train", "valid", "test") for w in dataset.weights(split)) == [0.25, 0.5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LIGHTRAG[:400], r"g\.graphml:\d+: not valid GraphML"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>", "GraphML with a document type is not read"),
        ("<graphml><graph/></graphml>", "no facts"),
        (
            "<graphml><graph><edge source='a' target='b'/></graph></graphml>",
            "no edge attribute names the relation",
        ),
        ("", "not valid GraphML"),
    ],
)
def test_wrong_graphml_is_an_error(tmp_path, text, said):
    require_refused(tmp_path / "g.graphml", text, said)


def test_node_link_data_of_networkx_and_cognee(tmp_path):
    for name, kind in (("g.json", "edges"), ("cognee_graph.pkl", "links")):
        path = tmp_path / name
        path.write_text(json.dumps(nx.node_link_data(graph(), edges=kind)), encoding="utf-8")
        assert read(path)[0] == set(DRUGS)


def test_cognee_shows_names_instead_of_ids(tmp_path):
    nodes = [{"id": "1f", "name": "Ann", "type": "Entity"}, {"id": "2e", "name": "Bob", "type": "Entity"}]
    edge = {
        "source": "1f",
        "target": "2e",
        "source_node_id": "1f",
        "relationship_name": "knows",
        "updated_at": "x",
    }
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"directed": True, "nodes": nodes, "links": [edge]}), encoding="utf-8")
    dataset = load_dataset(path)
    assert facts_of(dataset) == {("1f", "knows", "2e")}
    assert dataset.vocab.entity_labels == {"1f": "Ann", "2e": "Bob"}


EDGE = {
    "uuid": "e1",
    "source_node_uuid": "n1",
    "target_node_uuid": "n2",
    "name": "WORKS_AT",
    "fact": "Ann works at Acme",
    "episodes": ["ep1", "ep2"],
    "valid_at": None,
}


def test_graphiti(tmp_path):
    nodes = [
        {"uuid": "n1", "name": "Ann", "labels": ["Entity"]},
        {"uuid": "n2", "name": "Acme", "labels": []},
    ]
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": [EDGE]}), encoding="utf-8")
    dataset = load_dataset(path, source="episodes")
    assert facts_of(dataset) == {("n1", "WORKS_AT", "n2")}
    assert dataset.vocab.entity_labels == {"n1": "Ann", "n2": "Acme"}
    assert dataset.sources_of((0, 0, 1)) == ("ep1", "ep2")
    path.write_text(json.dumps([EDGE]), encoding="utf-8")
    assert facts_of(load_dataset(path)) == {("n1", "WORKS_AT", "n2")}
    lines = tmp_path / "g.jsonl"
    lines.write_text(json.dumps(EDGE) + "\n", encoding="utf-8")
    assert facts_of(load_dataset(lines)) == {("n1", "WORKS_AT", "n2")}


def test_a_list_of_facts_as_json(tmp_path):
    path = tmp_path / "g.json"
    path.write_text(json.dumps([list(fact) for fact in DRUGS]), encoding="utf-8")
    assert read(path)[0] == set(DRUGS)
    path.write_text(json.dumps([{"s": h, "p": r, "o": t, "x": None} for h, r, t in DRUGS]), encoding="utf-8")
    assert read(path)[0] == set(DRUGS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("7", "no graph: expected an object with nodes and links"),
        ("[]", "no graph"),
        ('{"nodes": [], "links": [3]}', "edge 0 is not a JSON object"),
        ('{"nodes": [], "links": [{"a": 1}]}', "edge 0 has no ends"),
        ('{"nodes": [], "links": []}', "no facts"),
        ('[{"head": "a", "relation": "r", "tail": null}]', "the tail is empty"),
    ],
)
def test_wrong_json_is_an_error(tmp_path, text, said):
    require_refused(tmp_path / "g.json", text, said)


@pytest.mark.parametrize("stem", ["relationships", "create_final_relationships"])
def test_graphrag(tmp_path, stem):
    import duckdb

    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE r (id TEXT, human_readable_id INT, source TEXT, target TEXT, description TEXT, "
            "weight DOUBLE, combined_degree INT, text_unit_ids TEXT[])"
        )
        database.execute(
            "INSERT INTO r VALUES ('1', 0, 'ACME', 'ALICE', 'Alice leads Acme', 9.0, 3, ['t1', 't2']), "
            "('2', 1, 'ALICE', 'BOB', 'They met', 1.0, 3, ['t2'])"
        )
        database.execute("CREATE TABLE e (id TEXT, title TEXT, type TEXT)")
        database.execute(
            "INSERT INTO e VALUES ('1', 'ACME', 'ORGANIZATION'), ('2', 'ALICE', 'PERSON'), ('3', 'BOB', '')"
        )
        entities = stem.replace("relationships", "entities")
        database.execute(f"COPY r TO '{tmp_path}/{stem}.parquet'")
        database.execute(f"COPY e TO '{tmp_path}/{entities}.parquet'")
    expected = {
        ("ACME", "related to", "ALICE"),
        ("ALICE", "related to", "BOB"),
        ("ACME", "type", "ORGANIZATION"),
        ("ALICE", "type", "PERSON"),
    }
    facts, lines = read(tmp_path)
    assert facts == expected == read(tmp_path / f"{stem}.parquet")[0]
    assert "edges have a description but no relation: each is read as 'related to' (GraphRAG)" in lines
    dataset = load_dataset(tmp_path, weight="weight/10", source="text_unit_ids")
    vocab = dataset.vocab
    fact = tuple(map(vocab.entity_id, ("ACME", "ALICE")))
    found = (fact[0], vocab.relation_id("related to"), fact[1])
    assert (dataset.weight_of(found), dataset.sources_of(found)) == (0.9, ("t1", "t2"))


def test_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Target", "score", "Subject", "note", "Relation"])
    for head, relation, tail in DRUGS:
        sheet.append([tail, 0.5, head, None, relation])
    sheet.append([None, None, None])
    sheet.append(["x", 0.5, 7.0, None, "r"])
    book.create_sheet("other")
    book.save(tmp_path / "f.xlsx")
    dataset = load_dataset(tmp_path / "f.xlsx", weight="score")
    assert facts_of(dataset) == {*DRUGS, ("7", "r", "x")}
    assert dataset.report.blank_lines == 1
    assert any("only the first of 2 sheets is read" in line for line in dataset.report.lines())
    (tmp_path / "g.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(DataError, match="not an Excel workbook"):
        load_dataset(tmp_path / "g.xlsx")


def test_excel_without_its_library(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "g.xlsx").write_bytes(b"")
    with pytest.raises(DataError, match="pip install openpyxl; or save the sheet as CSV"):
        load_dataset(tmp_path / "g.xlsx")
