"""Networks: nodes and edges with attributes. An edge is a fact, an attribute of it names the relation.

They come from networkx (known by its attributes), from GraphML and node-link JSON, and from the stores of
tools that have graphs extracted from texts: LightRAG keeps keywords, GraphRAG a description, no relation.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import RELATION_WORDS, extras_of, known_columns, note_unused, table_layout
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.places import BEGINNING, Place, StandardInput, open_bytes, placed, shown
from rnnlogic.data.raw import UNSPLIT, Extra, RawFacts, Rows, checked_rows, row_blocks
from rnnlogic.data.readers import decode, parsed_json, read_chunks
from rnnlogic.data.tables import parquet_rows

NODE_LABELS = ("label", "name")  # node attributes that hold what people see
NODE_TYPE = "entity_type"  # LightRAG's node attribute; facts about it are worth having
TYPE_RELATION = "type"
KEYWORDS = "keywords"  # LightRAG's edge attribute: several words or phrases
KEYWORD_MARKS = ("<SEP>", ",", "，", ";")
UNNAMED = "related to"  # where an edge has a description, but no relation
Attributes = Mapping[str, Any]


class Edge(NamedTuple):
    """An edge; its key tells parallel edges apart."""

    head: Any
    tail: Any
    key: Any
    attributes: Attributes


class Network(NamedTuple):
    """Nodes and edges with attributes."""

    kind: str  # for messages
    directed: bool
    nodes: Sequence[tuple[Any, Attributes]]
    edges: Sequence[Edge]


def is_network(data: Any) -> bool:
    """Whether this is a networkx graph."""
    return all(hasattr(data, name) for name in ("edges", "nodes", "is_directed", "is_multigraph"))


def read_networkx(graph: Any, options: ReadOptions) -> RawFacts:
    """Facts of a networkx graph."""
    if graph.is_multigraph():
        edges = [Edge(*edge) for edge in graph.edges(keys=True, data=True)]
    else:
        edges = [Edge(head, tail, None, data) for head, tail, data in graph.edges(data=True)]
    raw = RawFacts("networkx graph")
    network = Network(raw.source, graph.is_directed(), list(graph.nodes(data=True)), edges)
    raw.add(UNSPLIT, row_blocks(network_rows(network, raw, options), raw.tally, raw.source))
    return raw


def network_rows(network: Network, raw: RawFacts, options: ReadOptions) -> Rows:
    """Facts of a network; node attributes called `label` or `name` become labels, `entity_type` a fact."""
    tally = raw.tally
    tally.read_by("given" if options.columns else "named")
    if not network.directed:
        tally.note("the graph is undirected: every edge is read once, in the direction in which it is kept")
    for node, attributes in network.nodes:
        label = next((attributes[key] for key in NODE_LABELS if attributes.get(key)), None)
        if label is not None and str(label) != str(node):
            raw.entity_labels[str(node)] = " ".join(str(label).split())
    attribute = options.columns[1] if options.columns else _relation_attribute(network)
    header = list(dict.fromkeys(name for edge in network.edges for name in edge.attributes))
    extras = extras_of(header, options)
    note_unused(header, {extra.kind for extra in extras}, tally)
    if attribute == KEYWORDS and options.columns is None:
        tally.note("each of the keywords of an edge is read as a relation (LightRAG)")
    elif attribute is None:
        tally.note(f"edges have a description but no relation: each is read as {UNNAMED!r} (GraphRAG)")
    columns = [header[extra.column] for extra in extras]
    rows = chain(_edge_rows(network, attribute, columns), _type_rows(network, extras, raw))
    return Rows(rows, extras)


def _edge_rows(network: Network, attribute: str | None, columns: Sequence[str]) -> Iterator[list[Any]]:
    for number, (head, tail, key, attributes) in enumerate(network.edges):
        beside = [attributes.get(name) for name in columns]
        if attribute is None:
            yield [head, UNNAMED, tail, *beside]
            continue
        relation = attributes.get(attribute, key if attribute == "key" else None)
        if relation is None:
            raise DataError(
                f"{network.kind}, edge {number} ({head!r}, {tail!r}): no attribute {attribute!r}; "
                f"it has {', '.join(map(repr, attributes)) or 'none'}"
            )
        for one in _keywords(str(relation)) if attribute == KEYWORDS else [relation]:
            yield [head, one, tail, *beside]


def _type_rows(network: Network, extras: Sequence[Extra], raw: RawFacts) -> Iterator[list[Any]]:
    """The types of nodes: as sure as a weight can say, from the same source as the node."""
    types = 0
    for node, attributes in network.nodes:
        kind = attributes.get(NODE_TYPE)
        if kind:
            types += 1
            beside = [e.divisor if e.kind == "weight" else attributes.get(e.name) for e in extras]
            yield [node, TYPE_RELATION, kind, *beside]
    if types:
        raw.tally.note(f"{types:,} types of nodes ({NODE_TYPE}) are read as facts with the relation 'type'")


def _keywords(text: str) -> list[str]:
    for mark in KEYWORD_MARKS[1:]:
        text = text.replace(mark, KEYWORD_MARKS[0])
    return list(
        dict.fromkeys(" ".join(part.split()) for part in text.split(KEYWORD_MARKS[0]) if part.strip())
    )


def _relation_attribute(network: Network) -> str | None:
    """The attribute of the first edge that names its relation; a text key of parallel edges does too."""
    first = network.edges[0] if network.edges else Edge(None, None, None, {"relation": ""})
    words = {str(name).lower(): str(name) for name in first.attributes}
    for word in (*RELATION_WORDS, "relationship_name"):
        if word in words:
            return words[word]
    if isinstance(first.key, str):
        return "key"
    for word in (KEYWORDS, "name"):  # LightRAG's, Graphiti's
        if word in words:
            return words[word]
    if "description" in words:
        return None
    raise DataError(
        f"{network.kind}: no edge attribute names the relation "
        f"(found {', '.join(map(repr, first.attributes)) or 'none'}). "
        'Set one: networkx.set_edge_attributes(graph, "knows", "relation"); or choose one: '
        '--columns source,ATTRIBUTE,target (columns=("source", ATTRIBUTE, "target") in Python)'
    )


GRAPHML = ".graphml"
JSON = ".json"
NODE_KEYS, EDGE_KEYS = ("nodes", "entities"), ("links", "edges", "relationships", "relations")
NAME_KEYS = ("id", "uuid", "title", "entity_name", "name")  # what identifies a node: node-link's first
LIGHTRAG = "graph_chunk_entity_relation.graphml"
RELATIONSHIPS = ("relationships", "create_final_relationships")  # GraphRAG's tables, of today and before 1.0
ENTITIES = ("entities.parquet", "create_final_entities.parquet")


def store_in(folder: Any) -> Place | None:
    """The file of a folder that holds the graph of LightRAG or GraphRAG."""
    for name in (LIGHTRAG, *(f"{stem}.parquet" for stem in RELATIONSHIPS)):
        if (folder / name).is_file():
            found: Place = folder / name
            return found
    return None


def read_graphml(place: Place, raw: RawFacts, options: ReadOptions) -> None:
    """Facts of a GraphML file."""
    _add(raw, network_rows(_graphml(place), raw, options), place)


def read_json(place: Place, raw: RawFacts, options: ReadOptions) -> None:
    """Facts of a JSON file: a network, or a list of facts."""
    text = "".join(decode(chunk, place) for chunk in read_chunks(place, raw.tally, options))
    value = parsed_json(text, place)
    edges = _list_in(value, EDGE_KEYS)
    if edges is not None:
        network = _node_link(value, _list_in(value, NODE_KEYS) or [], edges, place)
        _add(raw, network_rows(network, raw, options), place)
    elif isinstance(value, list) and value and all(isinstance(row, dict | list) for row in value):
        _add(raw, _listed(value, raw, options), place)
    else:
        raise DataError(
            "no graph: expected an object with nodes and links (or edges), or a list of facts; "
            "one fact a line is JSON Lines: call the file .jsonl",
            shown(place),
        )


def read_relationships(place: Place, raw: RawFacts, options: ReadOptions) -> None:
    """Facts of GraphRAG's table of relationships; types of entities from the table beside it."""
    edges = [_edge(row, place) for row in parquet_rows(place)]
    nodes: list[tuple[Any, Mapping[str, Any]]] = []
    table = next((other for name in ENTITIES if (other := _beside(place, name)) is not None), None)
    if table is not None:
        nodes = [
            (row["title"], {NODE_TYPE: row["type"]} if row.get("type") else {})
            for row in parquet_rows(table)
            if row.get("title")
        ]
    _add(raw, network_rows(Network("table of relationships", True, nodes, edges), raw, options), place)


def _add(raw: RawFacts, rows: Rows, place: Place) -> None:
    def fail(problem: str, row: int) -> DataError:
        return DataError(f"edge {row}: {problem}", shown(place))

    with placed(place):
        raw.add(UNSPLIT, checked_rows(enumerate(rows.rows), raw.tally, fail, rows.extras), place)


def _graphml(place: Place) -> Network:
    with open_bytes(place) as file:
        if b"<!DOCTYPE" in file.read(BEGINNING):
            raise DataError("GraphML with a document type is not read; delete <!DOCTYPE ...>", shown(place))
    names: dict[str, str] = {}
    nodes: list[tuple[Any, Mapping[str, Any]]] = []
    edges: list[Edge] = []
    directed = True
    for tag, element in _elements(place):
        if tag == "key":
            key = element.get("id") or ""
            names[key] = element.get("attr.name") or key
        elif tag == "graph":
            directed = element.get("edgedefault") != "undirected"
        elif tag in ("node", "edge"):
            data = {
                names.get(part.get("key", ""), part.get("key", "")): (part.text or "").strip()
                for part in element
                if part.tag.rpartition("}")[2] == "data"
            }
            if tag == "node":
                nodes.append((element.get("id", ""), data))
            else:
                edges.append(Edge(element.get("source", ""), element.get("target", ""), None, data))
            element.clear()
    return Network("GraphML file", directed, nodes, edges)


def _elements(place: Place) -> Iterator[tuple[str, ET.Element]]:
    """Keys and graphs when they begin, nodes and edges when they end."""
    with open_bytes(place) as file:
        try:
            for event, element in ET.iterparse(file, ("start", "end")):
                tag = element.tag.rpartition("}")[2]
                if (event == "start") == (tag in ("key", "graph")):
                    yield tag, element
        except ET.ParseError as problem:
            raise DataError(f"not valid GraphML ({problem})", shown(place), problem.position[0]) from None
        except (OSError, EOFError, LookupError, ValueError) as problem:
            raise DataError(f"cannot be read ({problem})", shown(place)) from None


def _list_in(value: Any, keys: tuple[str, ...]) -> list[Any] | None:
    """The first list of a JSON object under one of some keys."""
    if not isinstance(value, dict):
        return None
    return next((value[key] for key in keys if isinstance(value.get(key), list)), None)


def _node_link(value: dict[str, Any], nodes: list[Any], edges: list[Any], place: Place) -> Network:
    """A network as networkx, Cognee, Graphiti and others write it."""
    for number, one in enumerate([*nodes, *edges]):
        if not isinstance(one, dict):
            what = "node" if number < len(nodes) else "edge"
            raise DataError(f"{what} {number % max(len(nodes), 1)} is not a JSON object", shown(place))
    name = next((key for key in NAME_KEYS if nodes and key in nodes[0]), None)
    named = [(_plain(node.get(name)), node) for node in nodes if name is not None]
    read = [_edge(edge, place, number) for number, edge in enumerate(edges)]
    return Network("JSON file", bool(value.get("directed", True)), named, read)


def _edge(row: Mapping[str, Any], place: Place, number: int = 0) -> Edge:
    """An edge whose ends have one of the known pairs of keys."""
    names = list(row)
    known = known_columns([*names, "relation"])
    if known is None or max(known.places[0], known.places[2]) >= len(names):
        raise DataError(
            f"edge {number} has no ends; looked for source and target, from and to, and the like",
            shown(place),
        )
    head, tail = names[known.places[0]], names[known.places[2]]
    attributes = {key: value for key, value in row.items() if key not in (head, tail, "key")}
    return Edge(_plain(row[head]), _plain(row[tail]), row.get("key"), attributes)


def _plain(value: Any) -> Any:
    """A node of a network that is no name, such as a list, as text."""
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value, default=str)


def _listed(rows: list[Any], raw: RawFacts, options: ReadOptions) -> Rows:
    """Rows of a list of objects or arrays."""
    named = isinstance(rows[0], dict)
    header = [str(key) for key in rows[0]] if named else [str(i + 1) for i in range(len(rows[0]))]
    layout = table_layout(header, options, raw.tally, "JSON file", named=named)
    keys = [header[i] for i in layout.used]
    picked = (
        [(row if isinstance(row, dict) else dict(zip(header, row, strict=False))).get(key) for key in keys]
        for row in rows
    )
    return Rows(picked, layout.extras)


def _beside(place: Place, name: str) -> Place | None:
    """Another file of the same folder."""
    if isinstance(place, StandardInput):
        return None
    other = cast(Path, place.parent) / name  # of a zip archive, too
    return other if other.is_file() else None
